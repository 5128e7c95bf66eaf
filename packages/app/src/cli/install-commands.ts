import type { Command } from 'commander'
import type { InstallOptions } from '../commands/install.ts'
import type { RegistryCommandOptions } from '../commands/registry.ts'
import { type ExitCode, isRejection, usageError } from './exit.ts'
import type { Invocation } from './invocation.ts'
import { envOption, jsonOption, storeOption, wholeNumber } from './options.ts'

const registryHelp = 'registry URL; default JACKFIELD_REGISTRY, or the official registry'

/** Adds `registry`, `install` and `uninstall`. */
export function addInstallCommands(program: Command, invocation: Invocation): void {
  const run: Invocation['run'] = (options, work) =>
    invocation.run(options, (io, output) => withUsageErrors(() => work(io, output)))
  const registry = program.command('registry').description('Find published servers')
  registry
    .command('search')
    .description('Search servers by name')
    .argument('[words...]')
    .option('--registry <url>', registryHelp)
    .option('--limit <count>', 'maximum number of results', wholeNumber(100), 30)
    .option('--cursor <cursor>', 'continue after a page')
    .addOption(jsonOption())
    .action((words: string[], options: RegistryCommandOptions) =>
      run(options, async (io, output) =>
        (await import('../commands/registry.ts')).searchRegistry(words, options, io, output),
      ),
    )
  registry
    .command('show')
    .description('Show a server and what installing it would run')
    .argument('[name[@version]]')
    .option('--registry <url>', registryHelp)
    .addOption(jsonOption())
    .action((name: string | undefined, options: RegistryCommandOptions) =>
      run(options, async (io, output) =>
        (await import('../commands/registry.ts')).showRegistry(name, options, io, output),
      ),
    )
  program
    .command('install')
    .usage('[options] <name[@version] | server.json | file.mcpb | url | -- command...>')
    .description('Install a server: show what it runs, add it to your configuration and start it once')
    .argument('[words...]')
    .option('--name <name>', 'name in your configuration')
    .option('--set <id=value...>', 'values it needs; secrets are prompted for, or set with jackfield secret')
    .addOption(envOption())
    .option('--yes', 'install it without asking')
    .option('--no-start', 'do not start it')
    .option('--registry <url>', registryHelp)
    .addOption(storeOption())
    .addOption(jsonOption())
    .action((words: string[], options: InstallOptions) =>
      run(options, async (io, output) =>
        (await import('../commands/install.ts')).install(words, invocation.command, options, io, output),
      ),
    )
  program
    .command('uninstall')
    .description('Remove a server from your configuration, with its bundle and secrets')
    .argument('[name]')
    .addOption(jsonOption())
    .action((name: string | undefined, options: { json?: boolean }) =>
      run(options, async (io, output) =>
        (await import('../commands/install.ts')).uninstall(name, io, output),
      ),
    )
}

/** A server that cannot be installed as requested is a usage error. */
async function withUsageErrors(work: () => Promise<ExitCode>): Promise<ExitCode> {
  try {
    return await work()
  } catch (error) {
    const { McpError } = await import('@jackfield/sdk')
    if (error instanceof McpError && (isRejection(error) || error.code === 'LIMIT'))
      throw usageError(error.message)
    throw error
  }
}
