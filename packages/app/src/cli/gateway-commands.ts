import type { Command } from 'commander'
import type { GatewayCommandOptions } from '../commands/gateway.ts'
import type { Invocation } from './invocation.ts'
import { noStoreOption, storeOption, withConfigOptions } from './options.ts'

/** Adds `gateway`. */
export function addGatewayCommands(program: Command, invocation: Invocation): void {
  withConfigOptions(
    program.command('gateway').description('Serve all configured servers as one server, under your policy'),
  )
    .option('--stdio', 'use stdin and stdout (default)')
    .option('--http <address>', 'listen on an address such as 127.0.0.1:8080; port 0 picks a free one')
    .option('--only <name...>', 'expose only these tools and prompts, as server__tool; * and ? are wildcards')
    .option(
      '--users <file>',
      'with --http: JSON file with a token per user; each user has separate connections',
    )
    .option('--allow-host <name...>', 'with --http: also accept these Host headers')
    .option(
      '--backplane <url>',
      'with --http: URL of the Redis or PostgreSQL that the nodes of one gateway share (or JACKFIELD_BACKPLANE); every node then serves every session',
    )
    .option('--keys <file>', 'with --backplane: file with a secret of 32 bytes or more per line')
    .option('--health <path>', 'with --http: path of the health checks, such as /healthz')
    .addOption(storeOption())
    .addOption(noStoreOption())
    .action((options: GatewayCommandOptions) =>
      invocation.run({}, async (io, output) =>
        (await import('../commands/gateway.ts')).gateway(options, io, output),
      ),
    )
}
