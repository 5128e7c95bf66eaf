import type { Command } from 'commander'
import type { RootsOptions, rootsVerbs } from '../commands/roots.ts'
import type { Invocation } from './invocation.ts'
import { withStoreOptions } from './options.ts'

const verbs: readonly [name: keyof typeof rootsVerbs, usage: string, does: string][] = [
  ['add', '<folder>', 'Open a folder to servers you allow'],
  ['remove', '<folder>', 'Close a folder'],
  ['exclude', '<pattern>', 'Hide folders from all servers: a path, a pattern with * and **, or a name'],
  ['include', '<pattern>', 'Remove such a pattern'],
  ['preview', '<server>', 'Show what a server would see if you allowed everything'],
  ['allow', '<server> [folder...]', 'Allow a server to see these folders, or all open ones'],
  ['deny', '<server>', 'Deny a server all folders'],
  ['forget', '<server>', 'Forget the decision about a server, so that you are asked again'],
]

/** Adds `roots` with its subcommands. */
export function addRootsCommands(program: Command, invocation: Invocation): void {
  const command = program.command('roots').description('Show and manage folders that servers may see (roots)')
  const run = (verb: keyof typeof rootsVerbs, subcommand: Command): void => {
    withStoreOptions(subcommand)
      .argument('[words...]')
      .action((words: string[], options: RootsOptions) =>
        invocation.run(options, async (io, output) =>
          (await import('../commands/roots.ts')).roots(verb, words, options, io, output),
        ),
      )
  }
  run(
    'show',
    command
      .command('show', { isDefault: true })
      .usage('[options]')
      .description('List open folders and decisions about servers; starts nothing'),
  )
  for (const [name, usage, does] of verbs) {
    const subcommand = command.command(name).usage(`[options] ${usage}`).description(does)
    run(name, name === 'add' ? subcommand.option('--name <name>', 'name shown to servers') : subcommand)
  }
}
