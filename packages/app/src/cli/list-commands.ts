import type { Command } from 'commander'
import type { ServersOptions } from '../commands/servers.ts'
import type { Invocation } from './invocation.ts'
import {
  jsonOption,
  noStoreOption,
  serverNamesOption,
  storeOption,
  wholeNumber,
  withConfigOptions,
  withServerOptions,
} from './options.ts'

/** Adds `servers`, `doctor`, `tools`, `resources`, `prompts`, `search` and `find`. */
export function addListCommands(program: Command, invocation: Invocation): void {
  const load = () => import('../commands/list.ts')
  withConfigOptions(
    program.command('servers').description('Connect all configured servers and show their state'),
  )
    .option('--watch', 'keep running and apply changes of the configuration files until Ctrl+C')
    .addOption(storeOption())
    .addOption(noStoreOption())
    .addOption(jsonOption())
    .action((options: ServersOptions) =>
      invocation.run(options, async (io, output) =>
        (await import('../commands/servers.ts')).servers(options, io, output),
      ),
    )
  withServerOptions(
    program
      .command('doctor')
      .usage('[options] [target]')
      .description('Diagnose one server or all configured servers step by step and suggest fixes'),
  ).action(invocation.serverAction(async () => (await import('../commands/doctor.ts')).doctor))
  withServerOptions(
    program
      .command('tools')
      .usage('[options] [target] [tool]')
      .description('List tools of one server or all configured servers, or show one tool in full')
      .option('--meter', 'show how many tokens the definitions take, by server'),
  ).action(invocation.serverAction(async () => (await load()).tools))
  withServerOptions(
    program
      .command('resources')
      .usage('[options] [target]')
      .description('List resources and resource templates of one server or all configured servers')
      .option('--tree', 'show a tree by server and URI path'),
  ).action(invocation.serverAction(async () => (await load()).resources))
  withServerOptions(
    program
      .command('prompts')
      .usage('[options] [target]')
      .description('List prompts of one server or all configured servers'),
  ).action(invocation.serverAction(async () => (await load()).prompts))
  withServerOptions(
    program
      .command('search')
      .usage('[options] <words...>')
      .description('Search tools of all configured servers by what they do')
      .addOption(serverNamesOption())
      .option('--limit <count>', 'maximum number of results', wholeNumber(), 10),
  ).action(invocation.serverAction(async () => (await import('../commands/search.ts')).search))
  withServerOptions(
    program
      .command('find')
      .usage('[options] <words...>')
      .description(
        'Search resources, resource templates and prompts of all configured servers, and texts that were read',
      )
      .addOption(serverNamesOption())
      .option('--limit <count>', 'maximum number of results', wholeNumber(), 20),
  ).action(invocation.serverAction(async () => (await import('../commands/find.ts')).find))
}
