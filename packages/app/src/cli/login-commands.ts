import type { Command } from 'commander'
import type { LoginOptions } from '../commands/login.ts'
import type { BeginCommand, Io } from './io.ts'
import { jsonOption, storeOption, withConfigOptions } from './options.ts'

/** Adds `login` and `logout`. `begin` receives whether the result is JSON, and returns the output. */
export function addLoginCommands(program: Command, io: Io, begin: BeginCommand): void {
  const load = () => import('../commands/login.ts')
  const createCommand = (name: string, description: string): Command =>
    withConfigOptions(program.command(name).usage('[options] <server>'))
      .description(description)
      .addOption(storeOption())
      .addOption(jsonOption())
      .argument('[words...]')
  createCommand('login', 'Sign in to a server in your browser; tokens are stored encrypted')
    .option('--no-browser', 'print the address instead of opening a browser')
    .action(async (words: string[], options: LoginOptions) => {
      const { output, end } = begin(options.json === true)
      end(await (await load()).login(words, options, io, output))
    })
  createCommand('logout', 'Sign out of a server: revoke and delete its tokens').action(
    async (words: string[], options: LoginOptions) => {
      const { output, end } = begin(options.json === true)
      end(await (await load()).logout(words, options, io, output))
    },
  )
}
