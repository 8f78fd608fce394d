{
  'targets': [
    {
      'target_name': 'os_sandbox',
      'sources': [
        '<!@(node scripts/list-sources.js csrc/binding csrc/base csrc/policy csrc/plan csrc/command csrc/explain csrc/violations csrc/protocol csrc/network csrc/platform)',
      ],
      # Our warnings are about our code, not about Node's headers.
      'cflags': ['-isystem <(node_root_dir)/include/node', '<!@(node scripts/cflags.js)'],
      'include_dirs': ['csrc'],
      'conditions': [
        ['OS=="linux"', {
          'sources': [
            '<!@(node scripts/list-sources.js csrc/platform/linux)',
            # What the helper's side of the socket and of the payload is made of, too.
            'csrc/exec/payload.c',
            'csrc/exec/passfd.c',
            # And of the memory that it shares with the helper's processes.
            'csrc/exec/port_table.c',
            # And the rules by name, which csrc/explain asks.
            'csrc/exec/git_check.c', 'csrc/exec/git_check_config.c', 'csrc/exec/git_check_file.c',
            'csrc/exec/hooks_path.c', 'csrc/exec/index_walk.c', 'csrc/exec/path_set.c',
            'csrc/exec/rules.c', 'csrc/exec/rules_case.c', 'csrc/exec/rules_git.c',
            'csrc/exec/rules_look.c', 'csrc/exec/rules_made.c', 'csrc/exec/rules_move.c',
            'csrc/exec/rules_pending.c', 'csrc/exec/session_index.c',
          ],
          'libraries': ['<!@(node scripts/jansson.js)'],
          # A name that node exports too must never bind to node's copy, and a missing symbol must fail at load. It stays
          # loaded when the worker that loaded it ends: a look-up that nobody waits for may still be in its code.
          'ldflags': ['-Wl,--exclude-libs,ALL', '-Wl,-z,now', '-Wl,-z,relro', '-Wl,-z,nodelete'],
        }],
      ],
    },
    {
      'target_name': 'exec_helper',
      'type': 'none',
      'conditions': [
        ['OS=="linux"', {
          'actions': [
            {
              'action_name': 'build_exec_helper',
              'inputs': [
                'scripts/build-helper.sh',
                'scripts/cflags.js',
                '<!@(sh scripts/build-helper.sh --inputs)',
              ],
              'outputs': ['<(PRODUCT_DIR)/os-sandbox-exec'],
              'action': ['sh', 'scripts/build-helper.sh', '<(PRODUCT_DIR)/os-sandbox-exec'],
              'message': 'Compiling the exec helper',
            },
          ],
        }],
      ],
    },
  ],
}
