import type { Fix } from '@jackfield/host'
import { fixesOf, fixText } from '@jackfield/host/config'
import { CliError } from '../cli/exit.ts'
import type { Output } from '../cli/io.ts'
import { serverSelection } from '../cli/options.ts'
import { oneLine, plain, shellWord } from './sanitize.ts'

/** The fixes for a terminal, one line each: the action and its command. */
export function fixLines(fixes: readonly Fix[]): string[] {
  return fixes.map((fix) => {
    const text = plain(fixText(fix))
    const command = fixCommand(fix)
    if (command === undefined) return text
    return fix.action === 'pass-variable'
      ? `${text.replace(/\.$/, '')}; ${command}`
      : `${text.replace(/\.$/, '')}: ${command}`
  })
}

/** The fixes for an error of a command or of the host; empty if none is known. */
export function fixesIn(error: unknown): readonly Fix[] {
  return error instanceof CliError ? error.fixes : fixesOf(error)
}

/** The message of an error, followed by its fixes. */
export function errorText(error: unknown): string {
  return withFixLines(plain(error instanceof Error ? error.message : String(error)), fixesIn(error))
}

/** A text, followed by an indented line for each fix. */
export function withFixLines(text: string, fixes: readonly Fix[]): string {
  return [text, ...fixLines(fixes).map((line) => `  ${line}`)].join('\n')
}

/** Prints a message with its fixes: as lines below it, or as data with `--json`. */
export function noteWithFixes(
  { json, note }: Pick<Output, 'json' | 'note'>,
  text: string,
  fixes: readonly Fix[],
): void {
  if (json) note(text, fixes)
  else note(withFixLines(text, fixes))
}

/** A command about a server, with the options of the running one that select its servers. */
function serverCommand(command: string, server: string): string {
  return [command, ...[oneLine(server), ...(serverSelection.getStore() ?? [])].map(shellWord)].join(' ')
}

/** The command, or the option, that applies the fix; undefined if this program has none. */
function fixCommand(fix: Fix): string | undefined {
  switch (fix.action) {
    case 'sign-in':
      return serverCommand('jackfield login', fix.server)
    case 'approve':
      return `${serverCommand('jackfield config allow', fix.server)}, or for everything that this folder names: --start-what-this-folder-names`
    case 'diagnose':
      return serverCommand('jackfield doctor', fix.server)
    case 'review':
      return serverCommand('jackfield trust', fix.server)
    case 'uninstall':
      return `jackfield uninstall ${shellWord(oneLine(fix.server))}, or --name for another name`
    case 'pass-variable':
      return `for a command after --: --env ${shellWord(oneLine(fix.name))}`
    case 'set-secret':
      return `jackfield secret set ${shellWord(oneLine(fix.name))}`
    case 'open-folder':
      return `jackfield roots add ${shellWord(oneLine(fix.folder))}`
    case 'include-folders':
      return 'jackfield roots include <pattern>'
    case 'search-log':
      return `jackfield log ${shellWord(oneLine(fix.filter))}`
    case 'record':
      return 'jackfield record <file>'
    case 'search-registry':
      return 'jackfield registry search <words>'
    case 'choose-model':
      return '--model <provider/model>, or JACKFIELD_MODEL=<provider/model>'
    case 'configure':
    case 'update':
      return undefined
  }
}
