'use strict';
// `os-sandbox completion SHELL`: completions from the table of options.

const { UsageError } = require('./errors');
const { FLAGS, RUN, SUBCOMMANDS, flagsOf, namesOf } = require('./flags');

const COMMANDS = [RUN, ...SUBCOMMANDS.map(({ name }) => name)];

/** @param {import('./flags').Flag} flag */
function spellings(flag) {
  return [...(flag.short ? [`-${flag.short}`] : []), ...namesOf(flag).map((name) => `--${name}`)];
}

/** Within single quotes. @param {string} text */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
/** The options that take a value. */
const valued = () => FLAGS.filter(({ kind }) => kind !== 'switch');

/** How bash completes the value of a flag. @param {import('./flags').Flag} flag */
function bashValue({ choices, completes }) {
  if (choices) return `COMPREPLY=($(compgen -W ${quoted(choices.join(' '))} -- "$cur"))`;
  if (completes === 'folder') return 'COMPREPLY=($(compgen -d -- "$cur"))';
  return completes === 'file' ? 'COMPREPLY=($(compgen -f -- "$cur"))' : 'COMPREPLY=()';
}

/** How bash completes the words of a command. @param {string} name */
function bashWords(name) {
  const completes = SUBCOMMANDS.find((each) => each.name === name)?.completes;
  if (Array.isArray(completes)) return `COMPREPLY=($(compgen -W ${quoted(completes.join(' '))} -- "$cur"))`;
  if (completes === 'file') return 'COMPREPLY=($(compgen -f -- "$cur"))';
  return 'COMPREPLY=()';
}

function bash() {
  const values = valued().map((flag) => `    ${spellings(flag).join('|')}) ${bashValue(flag)}; return ;;`);
  const takesValue = valued().flatMap(spellings).join('|');
  const commands = COMMANDS.map((name) => `    ${quoted(name)}) options=${quoted(flagsOf(name).flatMap(spellings).join(' '))} ;;`);
  const words = SUBCOMMANDS.filter(({ mixed }) => mixed).map(({ name }) => `    ${quoted(name)}) ${bashWords(name)} ;;`);
  return `# bash completion for os-sandbox
_os_sandbox() {
  local cur=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} subcommand='' options='' i=1
  if [[ $cur == '=' ]]; then cur=''; elif [[ $previous == '=' ]]; then previous=\${COMP_WORDS[COMP_CWORD-2]}; fi
  compopt -o filenames 2>/dev/null
  if ((COMP_CWORD > 1)); then
    case \${COMP_WORDS[1]} in ${SUBCOMMANDS.map(({ name }) => name).join('|')}) subcommand=\${COMP_WORDS[1]} i=2 ;; esac
  fi
  # The first word that is no option begins a command of its own.
  for (( ; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
      --) ((i++)); break ;;
      ${takesValue}) ((i++)); [[ \${COMP_WORDS[i]} == '=' ]] && ((i++)) ;;
      -*) ;;
      *) [[ $subcommand == '' || $subcommand == learn ]] && break ;;
    esac
  done
  if ((i < COMP_CWORD)) || { ((i == COMP_CWORD)) && [[ $previous == -- ]]; }; then
    if declare -F _command_offset >/dev/null; then _command_offset "$i"; else COMPREPLY=($(compgen -f -- "$cur")); fi
    return
  fi
  case $previous in
${values.join('\n')}
  esac
  case $subcommand in
${commands.join('\n')}
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
    return
  fi
  case $subcommand in
${words.join('\n')}
    *) COMPREPLY=($(compgen -c -- "$cur")); ((COMP_CWORD > 1)) || COMPREPLY+=($(compgen -W ${quoted(SUBCOMMANDS.map(({ name }) => name).join(' '))} -- "$cur")) ;;
  esac
}
complete -F _os_sandbox os-sandbox
`;
}

/** What zsh puts into brackets and behind colons. @param {string} text */
const zshText = (text) => text.replace(/[\[\]\\:]/g, '\\$&');

/** @param {import('./flags').Flag} flag */
function zshAction({ choices, completes }) {
  if (choices) return `(${choices.join(' ')})`;
  if (completes === 'folder') return '_files -/';
  return completes === 'file' ? '_files' : ' ';
}

/** @param {import('./flags').Flag} flag */
function zshSpecs(flag) {
  return spellings(flag).map((spelling) => {
    const repeat = flag.kind === 'list' ? '*' : '';
    const value = flag.kind === 'switch' ? '' : `:${zshText(flag.argument ?? '')}:${zshAction(flag)}`;
    const long = flag.kind !== 'switch' && spelling.startsWith('--') ? '=' : '';
    return quoted(`${repeat}${spelling}${long}[${zshText(flag.help)}]${value}`);
  });
}

/** @param {import('./flags').Subcommand | undefined} subcommand */
function zshWords(subcommand) {
  const completes = subcommand?.completes;
  if (Array.isArray(completes)) return [quoted(`*:shell:(${completes.join(' ')})`)];
  if (completes === 'file') return [quoted('*:file:_files')];
  return subcommand && completes !== 'command' ? [] : [quoted("*::command:_normal")];
}

function zsh() {
  const cases = COMMANDS.map((name) => {
    const subcommand = SUBCOMMANDS.find((each) => each.name === name);
    const specs = [...flagsOf(name).flatMap(zshSpecs), ...zshWords(subcommand)];
    return `    ${name === RUN ? '*' : name})\n      ${name === RUN ? '' : 'shift words; ((CURRENT--)); '}_arguments -S ${specs.join(' \\\n        ')} ;;`;
  });
  const described = SUBCOMMANDS.map(({ name, help }) => quoted(`${name}:${help}`)).join(' ');
  return `#compdef os-sandbox
# zsh completion for os-sandbox
_os_sandbox() {
  local -a subcommands=(${described})
  if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then
    _describe subcommand subcommands
    _command_names -e
    return
  fi
  case $words[2] in
${[...cases.slice(1), cases[0]].join('\n')}
  esac
}
if [[ $funcstack[1] == _os_sandbox ]]; then _os_sandbox "$@"; else compdef _os_sandbox os-sandbox; fi
`;
}

/** @param {import('./flags').Flag} flag */
function fishLine(flag) {
  const names = [...(flag.short ? ['-s', flag.short] : []), ...namesOf(flag).flatMap((name) => ['-l', name])].join(' ');
  const value = flag.kind === 'switch' ? '' : ` -r${flag.choices ? ` -f -a ${quoted(flag.choices.join(' '))}` : flag.completes ? ' -F' : ' -f'}`;
  const known = flag.commands.map((name) => name || 'run').join(' ');
  return `complete -c os-sandbox -n ${quoted(`__os_sandbox_knows ${known}`)} ${names}${value} -d ${quoted(flag.help)}`;
}

function fish() {
  const names = SUBCOMMANDS.map(({ name }) => name).join(' ');
  const first = SUBCOMMANDS.map(({ name, help }) => `complete -c os-sandbox -n '__os_sandbox_at_first' -a ${name} -d ${quoted(help)}`);
  const words = SUBCOMMANDS.filter(({ completes }) => Array.isArray(completes)).map(
    ({ name, completes }) => `complete -c os-sandbox -n '__os_sandbox_knows ${name}' -f -a ${quoted(/** @type {string[]} */ (completes).join(' '))}`,
  );
  return `# fish completion for os-sandbox
function __os_sandbox_words
  commandline -opc
end
function __os_sandbox_at_first
  test (count (__os_sandbox_words)) -eq 1
end
# Whether an option may stand here: one of these commands has it, and its own command has not begun.
function __os_sandbox_knows
  set -l words (__os_sandbox_words)
  set -e words[1]
  set -l command run
  if set -q words[1]; and contains -- $words[1] ${names}
    set command $words[1]
    set -e words[1]
  end
  contains -- $command $argv; or return 1
  contains -- $command run learn; or return 0
  set -l skip no
  for word in $words
    if test $skip = yes
      set skip no
    else if test $word = --
      return 1
    else if contains -- $word ${valued().flatMap(spellings).join(' ')}
      set skip yes
    else if not string match -q -- '-*' $word
      return 1
    end
  end
end
${[...first, ...words, "complete -c os-sandbox -n '__os_sandbox_at_first' -a '(__fish_complete_command)'", ...FLAGS.map(fishLine)].join('\n')}
`;
}

const SHELLS = { bash, zsh, fish };

/** @param {{ words: string[], stdout: any }} invocation */
async function main({ words, stdout }) {
  const [shell, ...more] = words;
  if (more.length > 0 || !Object.hasOwn(SHELLS, shell)) {
    throw new UsageError(`completion: expected ${Object.keys(SHELLS).join(', ')}, found ${JSON.stringify(words.join(' '))}`);
  }
  stdout.write(SHELLS[shell]());
  return 0;
}

module.exports = { main };
