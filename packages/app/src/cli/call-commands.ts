import type { Command } from 'commander'
import { answersHelp, programHelp } from './help.ts'
import type { Invocation } from './invocation.ts'
import { serverNamesOption, wholeNumber, withContentOptions, withServerOptions } from './options.ts'

/** Adds `call`, `read`, `prompt`, `complete`, `watch`, `run` and `generate`. */
export function addCallCommands(program: Command, invocation: Invocation): void {
  withServerOptions(
    withContentOptions(
      program
        .command('call')
        .usage('[options] <target> <tool> [key=value...]')
        .description('Call a tool')
        .addHelpText('after', answersHelp),
    )
      .option('--args <json>', 'arguments as a JSON object, @file or - for stdin; sent without validation')
      .option(
        '--park',
        'leave questions in the inbox and wait until they are answered with jackfield respond',
      ),
  ).action(invocation.serverAction(async () => (await import('../commands/call.ts')).call))
  withServerOptions(
    withContentOptions(
      program.command('read').usage('[options] <target> <uri>').description('Read a resource'),
    ).option('-o, --output-file <file>', 'write the contents to a file'),
  ).action(invocation.serverAction(async () => (await import('../commands/read.ts')).read))
  withServerOptions(
    withContentOptions(
      program.command('prompt').usage('[options] <target> <name> [key=value...]').description('Get a prompt'),
    ).option('--preview', 'show what a model would get, with an estimate of tokens'),
  ).action(invocation.serverAction(async () => (await import('../commands/prompt.ts')).prompt))
  withServerOptions(
    program
      .command('complete')
      .usage('[options] <target> <prompt|template> <argument> <value> [key=value...]')
      .description(
        'Complete an argument of a prompt or resource template; key=value are arguments already chosen',
      ),
  ).action(invocation.serverAction(async () => (await import('../commands/complete.ts')).complete))
  withServerOptions(
    program
      .command('watch')
      .usage('[options] <target> [uri...]')
      .description('Watch for changes until Ctrl+C'),
  ).action(invocation.serverAction(async () => (await import('../commands/watch.ts')).watch))
  withServerOptions(
    program
      .command('run')
      .usage('[options] <file>')
      .description('Run a JavaScript or TypeScript program that calls tools of the configured servers')
      .addOption(serverNamesOption())
      .option('--types', 'print the type declarations of the API it can use')
      .option('--max-calls <count>', 'maximum number of tool calls', wholeNumber(), 200)
      .addHelpText('after', programHelp),
  ).action(invocation.serverAction(async () => (await import('../commands/run.ts')).run))
  withServerOptions(
    program
      .command('generate')
      .usage('[options] <client|cli> <target>')
      .description('Generate a typed client (TypeScript) or a command line from the tools of a server')
      .option('-o, --output-file <file>', 'write the code to a file instead of stdout')
      .option('--check', 'write nothing; exit with 1 if the file is out of date'),
  ).action(invocation.serverAction(async () => (await import('../commands/generate.ts')).generate))
}
