import type { Command } from 'commander'
import { usageError } from './exit.ts'

/** Makes a command group reject unknown subcommands, if its default action takes no words. */
export function refuseUnknownWords(group: Command, byDefault: Command = group): void {
  byDefault.allowExcessArguments(true).hook('preAction', async (_, command) => {
    const [word] = command.args
    if (command !== byDefault || word === undefined) return
    // What these groups show by default is a list, whatever its subcommand is called.
    if (word === 'list' && command.args.length === 1) return
    const names = group.commands.map((one) => one.name()).filter((name) => name !== byDefault.name())
    const { oneLine } = await import('../output/sanitize.ts')
    const counterpart =
      group.name() === 'config' && Object.hasOwn(counterparts, word) ? counterparts[word] : undefined
    throw usageError(
      `"${oneLine(word)}" is unknown${counterpart === undefined ? '' : `: ${counterpart}`}. Usage: jackfield ${group.name()} [${names.join('|')}]`,
    )
  })
}

/** Commands of other programs, and what does the same here. */
const counterparts: Readonly<Record<string, string>> = {
  list: 'jackfield servers lists servers, jackfield tools their tools',
  ls: 'jackfield servers lists servers, jackfield tools their tools',
  status: 'jackfield servers shows the state of all servers',
  inspect:
    'jackfield tools shows the definitions of a server, jackfield log its messages, jackfield doctor its connection',
  add: 'jackfield install adds a server',
  remove: 'jackfield uninstall removes a server',
  rm: 'jackfield uninstall removes a server',
  exec: 'jackfield call calls a tool, jackfield run runs a program that calls tools',
  invoke: 'jackfield call calls a tool',
  ping: 'jackfield doctor checks a connection',
  version: 'jackfield --version prints the version',
  auth: 'jackfield login signs in to a server',
  init: 'npm create jackfield creates a server',
  create: 'npm create jackfield creates a server',
}

/** @throws a usage error for a command that does not exist here, but has a counterpart */
export function refuseForeignCommand(name: string): void {
  const counterpart = Object.hasOwn(counterparts, name) ? counterparts[name] : undefined
  if (counterpart !== undefined) throw usageError(`There is no command "${name}": ${counterpart}.`)
}
