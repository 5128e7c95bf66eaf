import type { Command } from 'commander'
import type { ChatOptions } from '../chat/command.ts'
import type { StartOptions } from '../start/command.ts'
import { modelHelp } from './help.ts'
import type { Invocation } from './invocation.ts'
import { noStoreOption, storeOption, wholeNumber, withConfigOptions } from './options.ts'

/** Adds `chat` and `start`. */
export function addChatCommands(program: Command, invocation: Invocation): void {
  withConfigOptions(
    program
      .command('chat')
      .description('Chat in the terminal with all configured servers, or answer one message'),
  )
    .argument(
      '[message...]',
      'answer this message and exit: the answer goes to stdout, everything else to stderr',
    )
    .addHelpText('after', modelHelp)
    .option(
      '-p, --print',
      'answer one message and exit; stdin, if it is not a terminal, is appended to the message',
    )
    .option('--model <name>', 'provider/model, offline, or script:file.json; see below')
    .option('--root <folder...>', 'folders that servers may see after you agree')
    .option('--code', 'let the model write programs that call the tools')
    .option(
      '--max-calls <count>',
      'maximum number of tool calls per message; the model then waits for you to continue (default: 200)',
      wholeNumber(),
    )
    .option('--no-context', 'do not include resources that servers mark as important for a model')
    .option('--resume [id]', 'resume a saved conversation; without an id, the last one')
    .option('--json', 'read lines from stdin and write events as JSON lines to stdout')
    .option('--answers <file>', 'file with answers to questions, for unattended runs')
    .addOption(storeOption())
    .addOption(noStoreOption())
    .action((words: string[], options: ChatOptions) =>
      invocation.run(options, async (io, output) =>
        (await import('../chat/command.ts')).chat(words, options, io, output),
      ),
    )
  program
    .command('start')
    .description('Try Jackfield with bundled servers: a chat, or a scripted trip without a terminal')
    .option('--script', 'run the scripted planning conversation')
    .option('--model <name>', 'provider/model, or offline; see jackfield chat --help')
    .option('--record <file>', 'write the scripted conversation as an SVG picture')
    .option('--web', 'run the planning conversation in the browser; default: ask on a terminal')
    .option('--no-web', 'run it in this terminal, without asking')
    .option('--no-open', 'with --web: print the login link only')
    .option('--json', 'with --web: print the login link as one line of JSON: {"url":"…"}')
    .action((options: StartOptions) =>
      invocation.run(options, async (io, output) =>
        (await import('../start/command.ts')).start(options, io, output),
      ),
    )
}
