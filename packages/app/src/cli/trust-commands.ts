import type { Command } from 'commander'
import type { TrustOptions } from '../commands/trust.ts'
import type { ExitCode } from './exit.ts'
import type { Io, Output } from './io.ts'
import { jsonOption, storeOption, withConfigOptions } from './options.ts'

const verbs = [
  ['accept', 'use things as they are now, or everything that changed'],
  ['block', 'keep things, or everything that changed, out of use until they change'],
  ['reset', 'forget what was agreed to; what the server says next is pinned anew'],
] as const

/** Adds `trust` and what stands below it. `begin` says whether the result is JSON, and gives where it goes. */
export function addTrustCommands(
  program: Command,
  io: Io,
  begin: (json: boolean) => { output: Output; end: (code: ExitCode) => void },
): void {
  const load = () => import('../commands/trust.ts')
  const trust = program
    .command('trust')
    .description('see what servers changed about themselves, and decide about it')
  const withOptions = (made: Command): Command =>
    withConfigOptions(made).addOption(storeOption()).addOption(jsonOption()).argument('[words...]')
  withOptions(trust.command('show', { isDefault: true }).usage('[options] [server]'))
    .description('how every server stands, or what changed about one; starts nothing')
    .option('--check', 'connect the servers first, and exit with 1 where something waits for you')
    .action(async (words: string[], options: TrustOptions) => {
      const { output, end } = begin(options.json === true)
      end(await (await load()).trust(words, options, io, output))
    })
  for (const [verb, does] of verbs) {
    withOptions(trust.command(verb).usage('[options] <server> [item...]'))
      .description(does)
      .action(async (words: string[], options: TrustOptions) => {
        const { output, end } = begin(options.json === true)
        end(await (await load()).decide(verb, words, options, io, output))
      })
  }
}
