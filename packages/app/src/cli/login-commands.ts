import type { Command } from 'commander'
import type { LoginOptions } from '../commands/login.ts'
import type { Invocation } from './invocation.ts'
import { withStoreOptions } from './options.ts'

/** Adds `login` and `logout`. */
export function addLoginCommands(program: Command, invocation: Invocation): void {
  const load = () => import('../commands/login.ts')
  const createCommand = (name: string, description: string): Command =>
    withStoreOptions(program.command(name).usage('[options] <server>'))
      .description(description)
      .argument('[words...]')
  createCommand('login', 'Sign in to a server in your browser; tokens are stored encrypted')
    .option('--no-browser', 'print the address instead of opening a browser')
    .action((words: string[], options: LoginOptions) =>
      invocation.run(options, async (io, output) => (await load()).login(words, options, io, output)),
    )
  createCommand('logout', 'Sign out of a server: revoke and delete its tokens').action(
    (words: string[], options: LoginOptions) =>
      invocation.run(options, async (io, output) => (await load()).logout(words, options, io, output)),
  )
}
