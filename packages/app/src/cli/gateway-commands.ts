import type { Command } from 'commander'
import type { GatewayCommandOptions } from '../commands/gateway.ts'
import type { ExitCode } from './exit.ts'
import type { Io, Output } from './io.ts'
import { noStoreOption, storeOption, withConfigOptions } from './options.ts'

/** Adds `gateway`. `begin` gives where the result goes. */
export function addGatewayCommands(
  program: Command,
  io: Io,
  begin: (json: boolean) => { output: Output; end: (code: ExitCode) => void },
): void {
  withConfigOptions(
    program
      .command('gateway')
      .description('show every configured server to other clients as one server, under your policy'),
  )
    .option('--stdio', 'on stdin and stdout (default)')
    .option('--http <address>', 'on an address: 127.0.0.1:8080, or port 0 for a free one')
    .option('--only <name...>', 'only these tools and prompts, as server__tool; * and ? stand for others')
    .option('--users <file>', 'with --http: tokens by user, as JSON; each has connections of their own')
    .option('--allow-host <name...>', 'with --http: answer to these names too')
    .addOption(storeOption())
    .addOption(noStoreOption())
    .action(async (options: GatewayCommandOptions) => {
      const { output, end } = begin(false)
      const { gateway } = await import('../commands/gateway.ts')
      end(await gateway(options, io, output))
    })
}
