import type { Command } from 'commander'
import type { LoginOptions } from '../commands/login.ts'
import type { ExitCode } from './exit.ts'
import type { Io, Output } from './io.ts'
import { jsonOption, storeOption, withConfigOptions } from './options.ts'

/** Adds `login` and `logout`. `begin` says whether the result is JSON, and gives where it goes. */
export function addLoginCommands(
  program: Command,
  io: Io,
  begin: (json: boolean) => { output: Output; end: (code: ExitCode) => void },
): void {
  const load = () => import('../commands/login.ts')
  const made = (name: string, description: string): Command =>
    withConfigOptions(program.command(name).usage('[options] <server>'))
      .description(description)
      .addOption(storeOption())
      .addOption(jsonOption())
      .argument('[words...]')
  made('login', 'sign in at a server in your browser; the tokens are kept, sealed')
    .option('--no-browser', 'only tell the page, and wait until you come back from it')
    .action(async (words: string[], options: LoginOptions) => {
      const { output, end } = begin(options.json === true)
      end(await (await load()).login(words, options, io, output))
    })
  made('logout', 'forget the tokens for a server, and have them revoked').action(
    async (words: string[], options: LoginOptions) => {
      const { output, end } = begin(options.json === true)
      end(await (await load()).logout(words, options, io, output))
    },
  )
}
