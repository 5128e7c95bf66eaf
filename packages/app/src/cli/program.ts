import { Command, CommanderError, InvalidArgumentError } from 'commander'
import type { ChatOptions } from '../chat/command.ts'
import type { CommandContext, ServerOptions } from '../commands/context.ts'
import type { InboxOptions } from '../commands/inbox.ts'
import type { ServersOptions } from '../commands/servers.ts'
import { exactJson } from '../output/exact.ts'
import type { ContentOptions } from '../output/formats.ts'
import type { StartOptions } from '../start/command.ts'
import { addCompletionCommands } from './completion-commands.ts'
import { addConfigCommands } from './config-commands.ts'
import { addDaemonCommands } from './daemon-commands.ts'
import { ExitCode, interruptionCode, usageError } from './exit.ts'
import { addGatewayCommands } from './gateway-commands.ts'
import { answersHelp, completeHelp, groupCommands, modelHelp, programHelp } from './help.ts'
import { addInstallCommands } from './install-commands.ts'
import { createOutput, type Io } from './io.ts'
import { addLogCommands } from './log-commands.ts'
import { addLoginCommands } from './login-commands.ts'
import {
  envOption,
  jsonOption,
  noStoreOption,
  selectionOptionsIn,
  serverSelection,
  storeOption,
  wholeNumber,
  withConfigOptions,
  withContentOptions,
} from './options.ts'
import { addPolicyCommands } from './policy-commands.ts'
import { addRootsCommands } from './roots-commands.ts'
import { addSamplingCommands } from './sampling-commands.ts'
import { addTaskCommands } from './task-commands.ts'
import { addTrustCommands } from './trust-commands.ts'
import { refuseForeignCommand } from './unknown-word.ts'
import { version } from './version.ts'
import { addWebCommands } from './web-commands.ts'

const programDescription = 'Command line for MCP servers: list, call, read, watch and chat.'

const programHelpText = `
The help of a command has examples: jackfield help call. Options that most commands share: jackfield help options.

A <target> is a server named in the config, a URL, or left out when a command follows --:
  jackfield tools everything
  jackfield call everything.echo message=hi
  jackfield call https://example.org/mcp search query=flights
  jackfield call echo message=hi -- npx -y @modelcontextprotocol/server-everything

A started server receives PATH, HOME and similar variables, and the proxy, certificate and package registry settings of
your environment; other variables only if --env or the config names them. jackfield doctor lists what it receives.

A call you type needs no approval: only a deny rule of the config stops it. Every call, read and prompt is recorded in
the activity log (jackfield activity), in ~/.local/share/jackfield or the file given with --store. If the store cannot
be opened, a command fails before it starts anything; --no-store runs it without a store.

Arguments are values in the order of the required ones, or key=value, read by the tool's schema; key:=json is JSON,
key=@file the contents of a file, key=@- those of stdin.
Exit codes: 0 done; 1 the tool failed, was refused, or needed an answer and no user could be asked, or a conversation
was cut short; 2 wrong usage, no usable store, a server that is not configured, or an error in the configuration
(config, servers, doctor); 3 cannot connect; 4 protocol error, or a tool, prompt or resource that the server does not
have; 5 a definition of the server changed and is disabled until you accept it (jackfield trust); 124 the server did
not answer in time (--timeout); 129, 130 and 143 ended by SIGHUP, Ctrl+C and SIGTERM, also where the command runs until
then, as watch does. With --json, every line on stderr is one JSON object: {"note":"…"}, {"warning":"…"}, and last, if
the command fails, {"error":{"message":"…"}}.`

/** Whether a command line requests JSON failures, also when it cannot be parsed. */
export function wantsJson(argv: readonly string[]): boolean {
  const dashes = argv.indexOf('--')
  const own = dashes === -1 ? argv : argv.slice(0, dashes)
  // In other commands, --output is a file name.
  const hasFormat = ['call', 'read', 'prompt'].includes(own[0] ?? '')
  return own.some(
    (word, n) =>
      word === '--json' ||
      (hasFormat && (word === '--output=json' || (word === '--output' && own[n + 1] === 'json'))),
  )
}

/** Runs one command line and returns its exit code, after all output is written. */
export function run(argv: readonly string[], io: Io): Promise<ExitCode> {
  const dashes = argv.indexOf('--')
  const own = dashes === -1 ? argv : argv.slice(0, dashes)
  const command = dashes === -1 ? undefined : argv.slice(dashes + 1)
  return serverSelection.run(selectionOptionsIn(own), () => runCommand(own, command, io))
}

/** `command`: the words after `--`. */
async function runCommand(
  own: readonly string[],
  command: string[] | undefined,
  commandIo: Io,
): Promise<ExitCode> {
  let code: ExitCode = ExitCode.done
  let json = false
  let hasTimeout = false
  const isJson = wantsJson(own)
  const io: Io = { ...commandIo, json: isJson }
  const program = new Command('jackfield')
    .description(programDescription)
    .version(version)
    .helpCommand(true)
    .addHelpText('after', programHelpText)
    .showHelpAfterError('All commands: jackfield --help')
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => {
        if (!isJson) io.stderr.write(text)
      },
      outputError: (text, write) => write(`error: ${parseErrorText(text)}\n`),
    })
    .exitOverride()

  /** Commands that can start the server of a command after `--`. */
  const startingCommands = new Set(['install', 'policy', 'completion'])
  program.hook('preAction', async (_, action) => {
    const { name, words } = topLevelCommand(action)
    if (command === undefined || startingCommands.has(name)) return
    const { oneLine, shellWord } = await import('../output/sanitize.ts')
    throw usageError(
      `jackfield ${words} takes no command after --. To configure that server: jackfield install -- ${oneLine(command.map(shellWord).join(' ')) || '<command>'}`,
    )
  })

  /** Adds a command for one server. Its module is imported on use, so that help and usage errors stay fast. */
  function addServerCommand<O extends ServerOptions>(
    usage: string,
    description: string,
    load: () => Promise<(context: CommandContext<O>) => Promise<ExitCode>>,
    extend: (command: Command) => Command = (same) => same,
  ): void {
    const [name = '', ...rest] = usage.split(' ')
    startingCommands.add(name)
    const root = program
      .command(name)
      .usage(`[options] ${rest.join(' ')}`)
      .description(description)
      .argument('[words...]')
      .action(async (words: string[], given: O & ContentOptions) => {
        if (given.json === true && given.output !== undefined && given.output !== 'json')
          throw usageError(`--json is the same as --output json. Give only --output ${given.output}.`)
        json = given.json === true || given.output === 'json'
        hasTimeout = true
        const options = { ...given, ...(json && { json }) }
        const run = await load()
        code = await run({ words, command, options, io, output: createOutput(io, json) })
      })
    withServerOptions(extend(root))
  }

  const lists = () => import('../commands/list.ts')
  addServerCommand(
    'tools [target] [tool]',
    'List tools of one server or all configured servers, or show one tool in full',
    async () => (await lists()).tools,
    (subcommand) => subcommand.option('--meter', 'show how many tokens the definitions take, by server'),
  )
  addServerCommand(
    'search <words...>',
    'Search tools of all configured servers by what they do',
    async () => (await import('../commands/search.ts')).search,
    (subcommand) =>
      serverNames(subcommand).option('--limit <count>', 'maximum number of results', wholeNumber(), 10),
  )
  addServerCommand(
    'find <words...>',
    'Search resources, resource templates and prompts of all configured servers, and texts that were read',
    async () => (await import('../commands/find.ts')).find,
    (subcommand) =>
      serverNames(subcommand).option('--limit <count>', 'maximum number of results', wholeNumber(), 20),
  )
  addServerCommand(
    'run <file>',
    'Run a JavaScript or TypeScript program that calls tools of the configured servers',
    async () => (await import('../commands/run.ts')).run,
    (subcommand) =>
      serverNames(subcommand)
        .option('--types', 'print the type declarations of the API it can use')
        .option('--max-calls <count>', 'maximum number of tool calls', wholeNumber(), 200)
        .addHelpText('after', programHelp),
  )
  addServerCommand(
    'generate <client|cli> <target>',
    'Generate a typed client (TypeScript) or a command line from the tools of a server',
    async () => (await import('../commands/generate.ts')).generate,
    (subcommand) =>
      subcommand
        .option('-o, --output-file <file>', 'write the code to a file instead of stdout')
        .option('--check', 'write nothing; exit with 1 if the file is out of date'),
  )
  addServerCommand(
    'resources [target]',
    'List resources and resource templates of one server or all configured servers',
    async () => (await lists()).resources,
    (subcommand) => subcommand.option('--tree', 'show a tree by server and URI path'),
  )
  addServerCommand(
    'prompts [target]',
    'List prompts of one server or all configured servers',
    async () => (await lists()).prompts,
  )
  addServerCommand(
    'call <target> <tool> [key=value...]',
    'Call a tool',
    async () => (await import('../commands/call.ts')).call,
    (subcommand) =>
      withContentOptions(subcommand)
        .option('--args <json>', 'arguments as a JSON object, @file or - for stdin; sent without validation')
        .option(
          '--park',
          'leave questions in the inbox and wait until they are answered with jackfield respond',
        )
        .addHelpText('after', answersHelp),
  )
  addServerCommand(
    'read <target> <uri>',
    'Read a resource',
    async () => (await import('../commands/read.ts')).read,
    (subcommand) =>
      withContentOptions(subcommand).option('-o, --output-file <file>', 'write the contents to a file'),
  )
  addServerCommand(
    'prompt <target> <name> [key=value...]',
    'Get a prompt',
    async () => (await import('../commands/prompt.ts')).prompt,
    (subcommand) =>
      withContentOptions(subcommand).option(
        '--preview',
        'show what a model would get, with an estimate of tokens',
      ),
  )
  addServerCommand(
    'complete <target> <prompt|template> <argument> <value> [key=value...]',
    'Complete an argument of a prompt or resource template; key=value are arguments already chosen',
    async () => (await import('../commands/complete.ts')).complete,
  )
  addServerCommand(
    'watch <target> [uri...]',
    'Watch for changes until Ctrl+C',
    async () => (await import('../commands/watch.ts')).watch,
  )

  withConfigOptions(
    program.command('servers').description('Connect all configured servers and show their state'),
  )
    .option('--watch', 'keep running and apply changes of the configuration files until Ctrl+C')
    .addOption(storeOption())
    .addOption(noStoreOption())
    .addOption(jsonOption())
    .action(async (options: ServersOptions) => {
      json = options.json === true
      const { servers } = await import('../commands/servers.ts')
      code = await servers(options, io, createOutput(io, json))
    })

  addServerCommand(
    'doctor [target]',
    'Diagnose one server or all configured servers step by step and suggest fixes',
    async () => (await import('../commands/doctor.ts')).doctor,
  )

  for (const add of [
    addConfigCommands,
    addSamplingCommands,
    addTrustCommands,
    addLoginCommands,
    addRootsCommands,
    addGatewayCommands,
    addDaemonCommands,
    addTaskCommands,
    addWebCommands,
    (...given: Parameters<typeof addGatewayCommands>) => addInstallCommands(...given, command),
    (...given: Parameters<typeof addGatewayCommands>) => addCompletionCommands(...given, command),
    addLogCommands,
  ])
    add(program, io, (wanted) => {
      json = wanted
      return { output: createOutput(io, json), end: (given) => (code = given) }
    })

  addServerCommand(
    'replay <id|file> [key=value...]',
    'Repeat a request of the log and compare the results',
    async () => (await import('../commands/replay.ts')).replay,
    (subcommand) =>
      subcommand
        .option('--edit', 'edit its arguments first')
        .option('--save <file>', 'save it with its result, to run it as a test'),
  )
  addServerCommand(
    'respond <id>',
    'Answer a question in the inbox; if its program has exited, the call continues here',
    async () => (await import('../commands/respond.ts')).respond,
    (subcommand) =>
      subcommand
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
  )

  program
    .command('inbox')
    .description('List open questions of every program that uses the store, or show one in full')
    .argument('[id]', 'id or a prefix of it')
    .option('--all', 'include answered, withdrawn and lost questions')
    .option('--server <name>', 'only this server')
    .addOption(storeOption())
    .addOption(jsonOption())
    .action(async (id: string | undefined, options: InboxOptions) => {
      json = options.json === true
      const { inbox } = await import('../commands/inbox.ts')
      code = await inbox(id, options, io, createOutput(io, json))
    })

  addPolicyCommands(program, {
    io,
    command,
    begin: (wanted) => {
      json = wanted
      return { output: createOutput(io, json), end: (given) => (code = given) }
    },
    withServerOptions,
  })

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
    .action(async (words: string[], options: ChatOptions) => {
      const { chat } = await import('../chat/command.ts')
      json = options.json === true
      code = await chat(words, options, io, createOutput(io, false))
    })

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
    .action(async (options: StartOptions) => {
      const { start } = await import('../start/command.ts')
      code = await start(options, io, createOutput(io, options.json === true))
    })

  const shared = withSharedOptions(
    program.command('options').usage(' ').description('Show options shared by most commands'),
  )
    .addHelpText('after', answersHelp)
    .action(() => shared.outputHelp())

  groupCommands(program)
  completeHelp(program, shared)
  try {
    await checkFirstWords(program, own)
    await program.parseAsync([...own], { from: 'user' })
    // Also for a command that runs until it is interrupted, such as watch: scripts see which signal ended it.
    return interruptionCode(io.signal) ?? code
  } catch (error) {
    // Commander has already printed its error or the help.
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return ExitCode.done
      if (isJson) {
        io.stderr.write(`${exactJson({ error: { message: parseErrorText(error.message) } })}\n`)
      }
      return ExitCode.usage
    }
    const { failureOf, failureText } = await import('./failure.ts')
    const failure = failureOf(error, interruptionCode(io.signal), hasTimeout)
    const { exitCode, ...printed } = failure
    io.stderr.write(json || isJson ? `${exactJson({ error: printed })}\n` : `${failureText(failure)}\n`)
    return exitCode
  }
}

/** An error of commander, without the name of a subcommand that was not typed. */
function parseErrorText(message: string): string {
  return message
    .trim()
    .replace(/^error: /, '')
    .replace(
      /^too many arguments for '.*'\. Expected \d+ arguments? but got \d+: (.*)\.$/s,
      'too many arguments: $1',
    )
}

/** The name of the first command of a command line, and the names of it and its subcommands. */
function topLevelCommand(command: Command): { name: string; words: string } {
  const names: string[] = []
  for (let at: Command | null = command; at?.parent != null; at = at.parent) names.unshift(at.name())
  return { name: names[0] ?? '', words: names.join(' ') }
}

/** @throws a usage error for options before the command, and for commands that do not exist but have a counterpart */
async function checkFirstWords(
  program: Command,
  [first = '', second = '-']: readonly string[],
): Promise<void> {
  const isOption = first.startsWith('-') && !['-h', '--help', '-V', '--version'].includes(first)
  const isHelp = first === 'help' && !second.startsWith('-')
  refuseForeignCommand(first)
  if (!isOption && !isHelp) return
  const { oneLine } = await import('../output/sanitize.ts')
  if (isOption)
    throw usageError(
      first === '-v'
        ? 'There is no option -v before a command. jackfield --version prints the version.'
        : `There is no option ${oneLine(first)} before a command. Options follow the command, as in: jackfield tools --json`,
    )
  const commands = [...program.commands.map((command) => command.name()), 'help']
  if (!commands.includes(second))
    throw usageError(`There is no command "${oneLine(second)}". jackfield --help lists all commands.`)
}

function withServerOptions(command: Command): Command {
  return withSharedOptions(command).addOption(jsonOption())
}

/** Options of most commands, described by `jackfield help options`. */
function withSharedOptions(command: Command): Command {
  return withConfigOptions(command)
    .option('--answers <file>', 'file with answers to questions, for unattended runs')
    .addOption(storeOption())
    .addOption(envOption())
    .addOption(noStoreOption())
    .option('--header <header...>', "header for a URL target, as 'Name: value'")
    .option('--era <era>', 'auto, modern (2026-07-28) or legacy (earlier revisions)')
    .option('--revision <date>', 'use only this protocol revision')
    .option('--timeout <seconds>', 'timeout without a response or progress, in seconds', positiveSeconds)
    .option('-v, --verbose', 'show protocol messages and the stderr of the server')
}

function serverNames(command: Command): Command {
  return command.option('--server <name...>', 'only these servers')
}

function positiveSeconds(text: string): number {
  const value = Number(text)
  if (Number.isFinite(value) && value > 0) return value
  throw new InvalidArgumentError('It must be a number of seconds.')
}
