import type { Command } from 'commander'
import type { RankOptions, SamplingOptions } from '../commands/sampling.ts'
import type { Invocation } from './invocation.ts'
import { numberOf, withStoreOptions } from './options.ts'
import { refuseUnknownWords } from './unknown-word.ts'

const share = numberOf('a number from 0 to 1', (value) => value >= 0 && value <= 1)

/** Adds `sampling` with its subcommands. */
export function addSamplingCommands(program: Command, invocation: Invocation): void {
  const load = () => import('../commands/sampling.ts')
  const sampling = withStoreOptions(
    program
      .command('sampling')
      .description('Show model usage by servers (sampling), and what passes without review'),
  ).action((options: SamplingOptions) =>
    invocation.run(options, async (io, output) => (await load()).sampling(options, io, output)),
  )
  refuseUnknownWords(sampling)
  sampling
    .command('revoke')
    .usage('[options] <id>')
    .argument('[id]', 'id or a prefix of it')
    .description('Revoke a permission to pass without review')
    .action((id: string | undefined, _options: unknown, subcommand: Command) => {
      const options = subcommand.optsWithGlobals<SamplingOptions>()
      return invocation.run(options, async (io, output) =>
        (await load()).revokeSampling(id, options, io, output),
      )
    })
  sampling
    .command('rank')
    .description('Show which model preferences of a server would choose, and why')
    .option('--hint <text...>', "part of a model's name, in order of preference")
    .option('--cost <share>', 'how much a low price matters, 0 to 1', share)
    .option('--speed <share>', 'how much speed matters, 0 to 1', share)
    .option('--intelligence <share>', 'how much ability matters, 0 to 1', share)
    .action((_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<RankOptions>()
      return invocation.run(options, async (io, output) => (await load()).rankModels(options, io, output))
    })
}
