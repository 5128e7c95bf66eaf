import type { Command } from 'commander'
import { usageError } from './exit.ts'
import type { Invocation } from './invocation.ts'

/*
 * Candidates contain text of servers, so no script passes them, or the words typed so far, through an evaluation by the shell:
 * no `eval`, and in bash no `compgen -W`, which expands `$(…)`.
 */

const bash = `# bash completion for jackfield
_jackfield() {
  local kind='' line
  COMPREPLY=()
  {
    IFS= read -r kind
    while IFS= read -r line; do COMPREPLY+=("$line"); done
  } < <(jackfield completion words bash -- "\${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
  case $kind in
    open) compopt -o nospace 2>/dev/null ;;
    files) compopt -o default 2>/dev/null ;;
  esac
}
complete -F _jackfield jackfield
`

const zsh = `#compdef jackfield
_jackfield() {
  local -a lines values shown suffix
  local kind line
  lines=("\${(@f)$(jackfield completion words zsh -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null)}")
  kind=$lines[1]
  if [[ $kind == files ]]; then
    _files
    return
  fi
  for line in "\${(@)lines[2,-1]}"; do
    values+=("\${line%%$'\\t'*}")
    shown+=("\${line/$'\\t'/  }")
  done
  [[ $kind == open ]] && suffix=(-S '')
  compadd -l "\${(@)suffix}" -d shown -a values
}
if [[ $funcstack[1] == _jackfield ]]; then _jackfield "$@"; else compdef _jackfield jackfield; fi
`

const fish = `# fish completion for jackfield
function __jackfield_complete
    set -l current (commandline -ct)
    set -l lines (jackfield completion words fish -- (commandline -opc)[2..-1] "$current" 2>/dev/null)
    if test "$lines[1]" = files
        __fish_complete_path "$current"
    else if test (count $lines) -gt 1
        printf '%s\\n' $lines[2..-1]
    end
end
complete -c jackfield -f -a '(__jackfield_complete)'
`

const scripts: Readonly<Record<string, string>> = { bash, zsh, fish }

const setup = `
Add one of these lines to the start-up file of your shell:
  source <(jackfield completion bash)     in ~/.bashrc
  source <(jackfield completion zsh)      in ~/.zshrc, after compinit
  jackfield completion fish | source      in ~/.config/fish/config.fish

Tab then completes commands, options and configured servers. While the host process of the folder runs, it also completes
tools, resources, prompts and their arguments. Completion starts no server.`

/** Adds `completion`. */
export function addCompletionCommands(program: Command, invocation: Invocation): void {
  const completion = program
    .command('completion')
    .usage('<bash|zsh|fish>')
    .description('Print the completion script of a shell')
    .argument('[shell]')
    .addHelpText('after', setup)
    .action((shell: string | undefined) => {
      const script = shell === undefined ? undefined : scripts[shell]
      if (script === undefined)
        throw usageError(`Which shell? Usage: jackfield completion <${Object.keys(scripts).join('|')}>`)
      invocation.io.stdout.write(script)
    })
  // Called by the scripts.
  completion
    .command('words', { hidden: true })
    .argument('<shell>')
    .action((shell: string) =>
      invocation.run({}, async (io) => {
        const { completionWords } = await import('../commands/completion.ts')
        return completionWords(program, shell, invocation.command ?? [], io)
      }),
    )
}
