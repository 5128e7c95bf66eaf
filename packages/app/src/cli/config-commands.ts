import type { Command } from 'commander'
import type { ConfigCommandOptions } from '../commands/config.ts'
import type { ExitCode } from './exit.ts'
import type { Invocation } from './invocation.ts'
import type { Io, Output } from './io.ts'
import { jsonOption, noStoreOption, storeOption, withConfigOptions } from './options.ts'
import { refuseUnknownWords } from './unknown-word.ts'

type Work = (words: string[], options: ConfigCommandOptions, io: Io, output: Output) => Promise<ExitCode>

/** Adds `config` and `secret` with their subcommands. */
export function addConfigCommands(program: Command, invocation: Invocation): void {
  const load = () => import('../commands/config.ts')
  const addCommand = (command: Command, description: string, work: () => Promise<Work>): void => {
    command
      .description(description)
      .addOption(jsonOption())
      .argument('[words...]')
      .action((words: string[], options: ConfigCommandOptions) =>
        invocation.run(options, async (io, output) => (await work())(words, options, io, output)),
      )
  }
  const addConfigCommand: typeof addCommand = (command, description, work) =>
    addCommand(
      withConfigOptions(command).addOption(storeOption()).addOption(noStoreOption()),
      description,
      work,
    )
  const config = program.command('config').description('Show and manage configured servers')
  const listed = config.command('list', { isDefault: true }).usage('[options]')
  refuseUnknownWords(config, listed)
  addConfigCommand(
    listed,
    'List servers with the file that configures them',
    async () => (await load()).listConfig,
  )
  addConfigCommand(
    config.command('explain').usage('[options] [server...]'),
    'Show the file and line of every field, and what it overrides',
    async () => (await load()).explainConfig,
  )
  addConfigCommand(
    config.command('allow').usage('[options] <server...>').option('--all', 'all configured servers'),
    'Allow servers configured by files of this folder to start',
    async () => (await load()).allowServer,
  )
  addConfigCommand(
    config.command('forbid').usage('[options] <server...>').option('--all', 'all configured servers'),
    'Revoke that permission',
    async () => (await load()).forbidServer,
  )
  addConfigCommand(
    config.command('import').usage('[options] [server...]'),
    'List servers of other applications, or copy them into your own config',
    async () => (await import('../commands/import.ts')).importServers,
  )

  const secrets = () => import('../commands/secret.ts')
  const secret = program.command('secret').description('Manage secrets that configurations refer to by name')
  const list = secret.command('list', { isDefault: true }).usage('[options]')
  refuseUnknownWords(secret, list)
  addCommand(list, 'List names of secrets, never their values', async () => (await secrets()).listSecrets)
  addCommand(
    secret.command('set').usage('[options] <name>'),
    'Store a secret; the value is typed at a hidden prompt or read from stdin',
    async () => (await secrets()).setSecret,
  )
  addCommand(
    secret.command('remove').usage('[options] <name>'),
    'Remove a secret, or the remembered answer to an input',
    async () => (await secrets()).removeSecret,
  )
}
