import { type Command, InvalidArgumentError } from 'commander'
import type { InstallOptions } from '../commands/install.ts'
import type { RegistryCommandOptions } from '../commands/registry.ts'
import { type ExitCode, usageError } from './exit.ts'
import type { Io, Output } from './io.ts'
import { envOption, jsonOption, storeOption } from './options.ts'

const registryWords = 'address of the registry; default JACKFIELD_REGISTRY, or the official one'

/** Adds `registry`, `install` and `uninstall`. `command` is what follows `--`. */
export function addInstallCommands(
  program: Command,
  io: Io,
  begin: (json: boolean) => { output: Output; end: (code: ExitCode) => void },
  command: string[] | undefined,
): void {
  const registry = program.command('registry').description('find servers that others published')
  registry
    .command('search')
    .description('servers whose name fits')
    .argument('[words...]')
    .option('--registry <url>', registryWords)
    .option('--limit <count>', 'so many', limit, 30)
    .option('--cursor <cursor>', 'go on where a page ended')
    .addOption(jsonOption())
    .action(async (words: string[], options: RegistryCommandOptions) => {
      const { output, end } = begin(options.json === true)
      end(
        await usable(async () =>
          (await import('../commands/registry.ts')).searchRegistry(words, options, io, output),
        ),
      )
    })
  registry
    .command('show')
    .description('one server: what it is, and what installing it would run')
    .argument('[name[@version]]')
    .option('--registry <url>', registryWords)
    .addOption(jsonOption())
    .action(async (name: string | undefined, options: RegistryCommandOptions) => {
      const { output, end } = begin(options.json === true)
      const words = name === undefined ? [] : [name]
      end(
        await usable(async () =>
          (await import('../commands/registry.ts')).showRegistry(words, options, io, output),
        ),
      )
    })
  program
    .command('install')
    .usage('[options] <name[@version] | server.json | file.mcpb | url | -- command...>')
    .description('put a server into your own configuration, after showing what it runs, and start it once')
    .argument('[words...]')
    .option('--name <name>', 'what to call it here')
    .option('--set <id=value...>', 'values it asks for; secrets are asked for, or set with jackfield secret')
    .addOption(envOption())
    .option('--yes', 'install it without asking')
    .option('--no-start', 'do not start it')
    .option('--registry <url>', registryWords)
    .addOption(storeOption())
    .addOption(jsonOption())
    .action(async (words: string[], options: InstallOptions) => {
      const { output, end } = begin(options.json === true)
      end(
        await usable(async () =>
          (await import('../commands/install.ts')).install(words, command, options, io, output),
        ),
      )
    })
  program
    .command('uninstall')
    .description('take a server out of your own configuration, with its bundle and its secrets')
    .argument('[name]')
    .addOption(jsonOption())
    .action(async (name: string | undefined, options: { json?: boolean }) => {
      const { output, end } = begin(options.json === true)
      const words = name === undefined ? [] : [name]
      end(
        await usable(async () =>
          (await import('../commands/install.ts')).uninstall(words, options, io, output),
        ),
      )
    })
}

function limit(text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value > 0 && value <= 100) return value
  throw new InvalidArgumentError('It must be a whole number from 1 to 100.')
}

/** What cannot be installed as it was asked for is a matter of what was written on the command line. */
async function usable(work: () => Promise<ExitCode>): Promise<ExitCode> {
  try {
    return await work()
  } catch (error) {
    const { McpError } = await import('@jackfield/sdk')
    if (error instanceof McpError && (error.code === 'INVALID' || error.code === 'LIMIT')) {
      throw usageError(error.message)
    }
    throw error
  }
}
