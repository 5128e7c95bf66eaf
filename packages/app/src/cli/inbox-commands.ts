import type { Command } from 'commander'
import type { InboxOptions } from '../commands/inbox.ts'
import type { Invocation } from './invocation.ts'
import { jsonOption, storeOption, withServerOptions } from './options.ts'

/** Adds `inbox` and `respond`. */
export function addInboxCommands(program: Command, invocation: Invocation): void {
  program
    .command('inbox')
    .description('List open questions of every program that uses the store, or show one in full')
    .argument('[id]', 'id or a prefix of it')
    .option('--all', 'include answered, withdrawn and lost questions')
    .option('--server <name>', 'only this server')
    .addOption(storeOption())
    .addOption(jsonOption())
    .action((id: string | undefined, options: InboxOptions) =>
      invocation.run(options, async (io, output) =>
        (await import('../commands/inbox.ts')).inbox(id, options, io, output),
      ),
    )
  withServerOptions(
    program
      .command('respond')
      .usage('[options] <id>')
      .description('Answer a question in the inbox; if its program has exited, the call continues here')
      .option(
        '--accept [key=value...]',
        'accept a form with these values, a URL, or an input with value=…; a secret is typed or read from stdin',
      )
      .option(
        '--send-secrets-as-plain-text',
        'with --accept: send values of fields that seem to ask for a password or the like',
      )
      .option('--decline', 'decline the request of the server')
      .option('--cancel', 'cancel without a decision')
      .option('--allow', 'allow the request')
      .option('--deny', 'deny the request')
      .option('--args <json>', 'with --allow: call with these arguments instead')
      .option('--reason <text>', 'reason; recorded locally, and sent to the caller if a call is denied')
      .option('--url <address>', 'address of the server, if no config names it'),
  ).action(invocation.serverAction(async () => (await import('../commands/respond.ts')).respond))
}
