import { type Command, Option } from 'commander'
import type { DaemonOptions } from '../commands/daemon.ts'
import type { Invocation } from './invocation.ts'
import { storeOption, withConfigOptions, withStoreOptions } from './options.ts'
import { refuseUnknownWords } from './unknown-word.ts'

/** Adds `daemon` with its subcommands. */
export function addDaemonCommands(program: Command, invocation: Invocation): void {
  const daemon = program
    .command('daemon')
    .description('Show or stop the host process that runs servers for the commands of a folder')
  const status = daemon
    .command('status', { isDefault: true })
    .description(
      'Show the host processes of this folder; with options such as --config, the one with these options',
    )
    .option('--all', 'the host processes of all folders')
  refuseUnknownWords(daemon, status)
  const stop = daemon
    .command('stop')
    .description(
      'Stop the host processes of this folder; with options such as --config, the one with these options',
    )
    .option('--all', 'the host processes of all folders')
    .option('--now', 'without waiting for running calls')
  for (const [command, work] of [
    [status, async () => (await import('../commands/daemon.ts')).daemonStatus],
    [stop, async () => (await import('../commands/daemon.ts')).daemonStop],
  ] as const) {
    withStoreOptions(command).action((options: DaemonOptions) =>
      invocation.run(options, async (io, output) => (await work())(options, io, output)),
    )
  }
  // Started by commands; when started by hand, it prints its messages.
  withConfigOptions(daemon.command('serve', { hidden: true }))
    .addOption(storeOption())
    .addOption(
      new Option('--idle <seconds>', 'seconds without clients after which it ends').argParser(Number),
    )
    .action((options: DaemonOptions & { idle?: number }) =>
      invocation.run({}, async (io) => (await import('../daemon/serve.ts')).serveDaemon(options, io)),
    )
}
