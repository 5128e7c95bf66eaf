import type { Command } from 'commander'
import { usageError } from './exit.ts'

/** Makes a command group reject unknown subcommands, if its default action takes no words. */
export function refuseUnknownWords(group: Command, byDefault: Command = group): void {
  byDefault.allowExcessArguments(true).hook('preAction', async (_, command) => {
    const [word] = command.args
    if (command !== byDefault || word === undefined) return
    const names = group.commands.map((one) => one.name()).filter((name) => name !== byDefault.name())
    const { oneLine } = await import('../output/sanitize.ts')
    throw usageError(`"${oneLine(word)}" is unknown. Usage: jackfield ${group.name()} [${names.join('|')}]`)
  })
}
