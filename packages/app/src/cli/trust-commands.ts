import type { Command } from 'commander'
import type { TrustOptions } from '../commands/trust.ts'
import type { Invocation } from './invocation.ts'
import { withStoreOptions } from './options.ts'

const verbs = [
  ['accept', 'Accept items as they are now, or everything that changed'],
  ['block', 'Block items, or everything that changed, until they change again'],
  ['reset', 'Forget earlier decisions; the next definitions are pinned'],
] as const

/** Adds `trust` with its subcommands. */
export function addTrustCommands(program: Command, invocation: Invocation): void {
  const load = () => import('../commands/trust.ts')
  const trust = program.command('trust').description('Review changed definitions of servers')
  const withOptions = (command: Command): Command => withStoreOptions(command).argument('[words...]')
  withOptions(trust.command('show', { isDefault: true }).usage('[options] [server]'))
    .description('Show the state of all servers, or the changes of one; starts nothing')
    .option('--check', 'connect the servers first, and exit with 1 if something needs a decision')
    .action((words: string[], options: TrustOptions) =>
      invocation.run(options, async (io, output) => (await load()).trust(words, options, io, output)),
    )
  for (const [verb, does] of verbs) {
    withOptions(trust.command(verb).usage('[options] <server> [item...]'))
      .description(does)
      .action((words: string[], options: TrustOptions) =>
        invocation.run(options, async (io, output) =>
          (await load()).decide(verb, words, options, io, output),
        ),
      )
  }
}
