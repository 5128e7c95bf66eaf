import type { Command } from 'commander'
import type { RootsOptions, rootsVerbs } from '../commands/roots.ts'
import type { ExitCode } from './exit.ts'
import type { Io, Output } from './io.ts'
import { jsonOption, storeOption, withConfigOptions } from './options.ts'

const verbs: readonly [name: keyof typeof rootsVerbs, usage: string, does: string][] = [
  ['add', '<folder>', 'open a folder to the servers that you allow it to'],
  ['remove', '<folder>', 'close a folder'],
  [
    'exclude',
    '<pattern>',
    'tell no server of folders like this: a path, or a pattern with * and **, or a name',
  ],
  ['include', '<pattern>', 'take such a pattern back'],
  ['preview', '<server>', 'what a server would see if you allowed everything'],
  ['allow', '<server> [folder...]', 'let a server know of these folders, or of all that are open'],
  ['deny', '<server>', 'tell a server of none'],
  ['forget', '<server>', 'be asked again when a server wants to know'],
]

/** Adds `roots` and what stands below it. `begin` says whether the result is JSON, and gives where it goes. */
export function addRootsCommands(
  program: Command,
  io: Io,
  begin: (json: boolean) => { output: Output; end: (code: ExitCode) => void },
): void {
  const command = program
    .command('roots')
    .description('the folders that servers may be told of, and which server knows which')
  const run = (verb: keyof typeof rootsVerbs, made: Command): void => {
    withConfigOptions(made)
      .addOption(storeOption())
      .addOption(jsonOption())
      .argument('[words...]')
      .action(async (words: string[], options: RootsOptions) => {
        const { output, end } = begin(options.json === true)
        const { roots } = await import('../commands/roots.ts')
        end(await roots(verb, words, options, io, output))
      })
  }
  run(
    'show',
    command
      .command('show', { isDefault: true })
      .usage('[options]')
      .description('every open folder and every server; starts nothing'),
  )
  for (const [name, usage, does] of verbs) {
    const made = command.command(name).usage(`[options] ${usage}`).description(does)
    run(name, name === 'add' ? made.option('--name <name>', 'what servers are told that it is called') : made)
  }
}
