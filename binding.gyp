{
  'targets': [
    {
      'target_name': 'os_sandbox',
      'sources': [
        '<!@(node scripts/list-sources.js --addon <(OS))',
      ],
      # Our warnings are about our code, not about Node's headers.
      'cflags': ['-isystem <(node_root_dir)/include/node', '<!@(node scripts/cflags.js)'],
      'include_dirs': ['csrc'],
      'conditions': [
        ['OS=="linux"', {
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
