import { type Command, InvalidArgumentError, Option } from 'commander'
import type { WebOptions } from '../commands/web.ts'
import type { ExitCode } from './exit.ts'
import type { Io, Output } from './io.ts'
import { storeOption, withConfigOptions } from './options.ts'

/** Adds `web`. `begin` returns the output. */
export function addWebCommands(
  program: Command,
  io: Io,
  begin: (json: boolean) => { output: Output; end: (code: ExitCode) => void },
): void {
  withConfigOptions(
    program
      .command('web')
      .description('Serve the web app of this folder on 127.0.0.1 and open it in a browser'),
  )
    .option('--no-open', 'print the login link only')
    .addOption(
      new Option(
        '--port <port>',
        'port to listen on; default the last one, else the first free of 7411 to 7419',
      ).argParser(port),
    )
    .addOption(storeOption())
    .option('--json', 'print the login link as one line of JSON: {"url":"…"}')
    .action(async (options: WebOptions) => {
      const { output, end } = begin(options.json === true)
      end(await (await import('../commands/web.ts')).web(options, io, output))
    })
}

function port(text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value > 0 && value <= 65_535) return value
  throw new InvalidArgumentError('It must be a port from 1 to 65535.')
}
