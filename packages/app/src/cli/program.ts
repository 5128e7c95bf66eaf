import { Command, CommanderError } from 'commander'
import { exactJson } from '../output/exact.ts'
import { addCallCommands } from './call-commands.ts'
import { addChatCommands } from './chat-commands.ts'
import { addCompletionCommands } from './completion-commands.ts'
import { addConfigCommands } from './config-commands.ts'
import { addDaemonCommands } from './daemon-commands.ts'
import { ExitCode, interruptionCode, usageError } from './exit.ts'
import { addGatewayCommands } from './gateway-commands.ts'
import { answersHelp, completeHelp, groupCommands } from './help.ts'
import { addInboxCommands } from './inbox-commands.ts'
import { addInstallCommands } from './install-commands.ts'
import { Invocation } from './invocation.ts'
import type { Io } from './io.ts'
import { addListCommands } from './list-commands.ts'
import { addLogCommands } from './log-commands.ts'
import { addLoginCommands } from './login-commands.ts'
import { selectionOptionsIn, serverSelection, withSharedOptions } from './options.ts'
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
  const invocation = new Invocation({ ...io, json: wantsJson(own) }, command)
  return serverSelection.run(selectionOptionsIn(own), () => runCommand(own, invocation))
}

/** Each adds the commands of one topic. */
const commandGroups = [
  addChatCommands,
  addWebCommands,
  addListCommands,
  addCallCommands,
  addTaskCommands,
  addInboxCommands,
  addPolicyCommands,
  addTrustCommands,
  addRootsCommands,
  addSamplingCommands,
  addLogCommands,
  addConfigCommands,
  addLoginCommands,
  addInstallCommands,
  addGatewayCommands,
  addDaemonCommands,
  addCompletionCommands,
]

async function runCommand(words: readonly string[], invocation: Invocation): Promise<ExitCode> {
  const program = createProgram(invocation)
  try {
    await checkFirstWords(program, words)
    await program.parseAsync([...words], { from: 'user' })
    // Also for a command that runs until it is interrupted, such as watch: scripts see which signal ended it.
    return interruptionCode(invocation.io.signal) ?? invocation.exitCode
  } catch (error) {
    return await reportFailure(error, invocation)
  }
}

function createProgram(invocation: Invocation): Command {
  const { io, command } = invocation
  const program = new Command('jackfield')
    .description(programDescription)
    .version(version)
    .helpCommand(true)
    .addHelpText('after', programHelpText)
    .showHelpAfterError('All commands: jackfield --help')
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => {
        if (io.json !== true) io.stderr.write(text)
      },
      outputError: (text, write) => write(`error: ${parseErrorText(text)}\n`),
    })
    .exitOverride()
    .hook('preAction', async (_, action) => {
      if (command !== undefined) await checkTakesCommand(action, command)
    })
  for (const addCommands of commandGroups) addCommands(program, invocation)
  const shared = withSharedOptions(
    program.command('options').usage(' ').description('Show options shared by most commands'),
  )
    .addHelpText('after', answersHelp)
    .action(() => shared.outputHelp())
  groupCommands(program)
  completeHelp(program, shared)
  return program
}

/** Prints the error that ended a command. */
async function reportFailure(error: unknown, { io, hasTimeout }: Invocation): Promise<ExitCode> {
  // Commander has already printed its error or the help.
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return ExitCode.done
    if (io.json === true)
      io.stderr.write(`${exactJson({ error: { message: parseErrorText(error.message) } })}\n`)
    return ExitCode.usage
  }
  const { failureOf, failureText } = await import('./failure.ts')
  const failure = failureOf(error, interruptionCode(io.signal), hasTimeout)
  const { exitCode, ...printed } = failure
  io.stderr.write(io.json === true ? `${exactJson({ error: printed })}\n` : `${failureText(failure)}\n`)
  return exitCode
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

/** @throws a usage error if the action takes no command after `--` */
async function checkTakesCommand(action: Command, command: readonly string[]): Promise<void> {
  const names: string[] = []
  for (let at: Command | null = action; at?.parent != null; at = at.parent) names.unshift(at.name())
  const name = names.join(' ')
  // What starts the server of a command after `--` also has variables for it.
  if (action.options.some(({ long }) => long === '--env') || name === 'completion words') return
  const { oneLine, shellWord } = await import('../output/sanitize.ts')
  throw usageError(
    `jackfield ${name} takes no command after --. To configure that server: jackfield install -- ${oneLine(command.map(shellWord).join(' ')) || '<command>'}`,
  )
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
