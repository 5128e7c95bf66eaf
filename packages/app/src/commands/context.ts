import type { HostConnectOptions } from '@jackfield/host'
import type { HostClient } from '@jackfield/host/client'
import { splitCall } from '../cli/call-words.ts'
import { CliError, ExitCode, inSeconds, usageError } from '../cli/exit.ts'
import { openHost } from '../cli/host.ts'
import type { Io, Output } from '../cli/io.ts'
import {
  modelsFor,
  observerSurfaceFor,
  openSession,
  type Session,
  type SessionOptions,
  startServers,
} from '../cli/session.ts'
import {
  type CommandWords,
  type ConfigChoice,
  noServersMessage,
  readConfig,
  readTarget,
  type Target,
} from '../cli/target.ts'
import { askRunningHost } from '../daemon/attach.ts'
import { noteWithFixes } from '../output/fixes.ts'
import { oneLine, shellWord } from '../output/sanitize.ts'
import { answerQuestions } from '../surface/answer-questions.ts'
import type { TerminalSurface } from '../surface/terminal.ts'

/** Options of every command that uses one server. */
export interface ServerOptions extends ConfigChoice {
  header?: string[]
  env?: string[]
  json?: boolean
  answers?: string
  store?: string
  era?: string
  revision?: string
  verbose?: boolean
  timeout?: number
}

/** The environment of a command. */
export interface CommandContext<O = ServerOptions> extends CommandWords {
  options: O
  io: Io
  output: Output
}

/** What the words after the server name, in the messages of a command. */
interface ItemWord {
  readonly kind: 'tool' | 'prompt'
  /** As typed: `call`. */
  readonly command: string
}

/** How to name the server of an item. The servers that have it are known if the host process of this folder runs. */
async function hintFor(
  { kind, command }: ItemWord,
  word: string,
  options: ServerOptions,
  io: Io,
): Promise<string> {
  const name = splitCall(word)?.name ?? word
  const servers = await askRunningHost(options, io, 'jackfield', async (call) =>
    kind === 'tool'
      ? (await call('catalog.tools', {})).filter(({ tool }) => tool.name === name)
      : (await call('catalog.prompts', {})).filter(({ prompt }) => prompt.name === name),
  ).catch(() => undefined)
  const [first, ...others] = (servers ?? []).map(({ server }) => shellWord(oneLine(server)))
  const usage = (server: string): string => `jackfield ${command} ${server} ${shellWord(oneLine(word))}`
  if (first === undefined)
    return `If ${oneLine(name)} is a ${kind}, name its server first: ${usage('<server>')}. The ${kind}s of all servers: jackfield ${kind}s`
  const owners = [first, ...others].join(', ')
  return `${oneLine(name)} is a ${kind} of ${owners}. Name the server first: ${usage(first)}`
}

/** Connects to the server named by the first words and fetches `lists`. Returns them with the remaining words. */
export async function connectTo(
  context: CommandContext,
  lists: NonNullable<HostConnectOptions['lists']> = [],
  { item, ...more }: Pick<SessionOptions, 'surface' | 'isLocal' | 'onAsking'> & { item?: ItemWord } = {},
): Promise<{ session: Session; rest: string[]; target: Target }> {
  const { options, io, output } = context
  const itemHint = item && ((word: string) => hintFor(item, word, options, io))
  const { target, rest } = await readTarget(context, options, io, itemHint)
  const answers = await readAnswersOption(options)
  return {
    session: await openSession(target, lists, { ...options, answers, ...more }, io, output),
    rest,
    target,
  }
}

async function readAnswersOption({
  answers,
}: Pick<ServerOptions, 'answers'>): Promise<SessionOptions['answers']> {
  return answers === undefined ? undefined : (await import('../surface/answers-file.ts')).readAnswers(answers)
}

/** Several servers for a read-only command. */
export interface OpenServers extends AsyncDisposable {
  readonly client: HostClient
  /** Servers with available lists: connected, or idle with cached lists. */
  readonly ready: readonly string[]
  /** The user at the terminal, if asked. */
  readonly person: TerminalSurface | undefined
}

export interface OpenServersOptions {
  /** Only these of the configured servers. */
  only?: readonly string[]
  /** Answers questions. Default: the user, about server starts only. */
  surfaceOf?: typeof observerSurfaceFor
}

/**
 * Connects every configured server, or those of `only`, or the one whose command follows `--`. Failed connections are reported on
 * stderr. Throws if all fail.
 */
export async function openServers(
  context: CommandContext,
  lists: NonNullable<HostConnectOptions['lists']>,
  { only, surfaceOf = observerSurfaceFor }: OpenServersOptions = {},
): Promise<OpenServers> {
  const { options, io, output } = context
  const person = surfaceOf(io)
  if (context.command !== undefined) {
    const { session } = await connectTo({ ...context, words: [] }, lists, {
      ...(person !== undefined && { surface: person }),
    })
    const { client, server } = session
    return { client, person, ready: [server], [Symbol.asyncDispose]: () => session[Symbol.asyncDispose]() }
  }
  const { file, config } = await readConfig(options, io, (text) => output.note(text))
  if (Object.keys(config.servers).length === 0)
    throw new CliError(ExitCode.cannotConnect, noServersMessage(file, config))
  const servers = chosenServers(config.servers, only, file)
  const answers = await readAnswersOption(options)
  const asked = answers === undefined ? person : undefined
  // Without a user, no question of this command may wait at another terminal.
  const isLocal =
    only !== undefined || answers !== undefined || (person === undefined && surfaceOf !== observerSurfaceFor)
  const noSurface = { name: 'nobody', show: {} }
  const open = await openHost(options, 'jackfield', io, {
    isLocal: isLocal,
    localOptions: async () => ({
      ...{ config, servers, follow: false, connect: { lists, follow: false } },
      models:
        person === undefined && answers === undefined ? [] : [...(await modelsFor(answers, config, io))],
      ...(answers !== undefined && {
        surface: (await import('../surface/answers-file.ts')).answersSurface(answers, (message) =>
          output.note(message),
        ),
      }),
      ...(answers === undefined && person === undefined && { surface: noSurface }),
    }),
  })
  const close = open[Symbol.asyncDispose]
  const stop = (): void => void close()
  io.signal.addEventListener('abort', stop, { once: true })
  try {
    io.signal.throwIfAborted()
    const { client } = open
    const answering =
      asked === undefined
        ? undefined
        : await answerQuestions(client, asked, {
            isMine: ({ question }) => question.cause.conversation === undefined,
            note: output.note,
          })
    await startServers(client, undefined, answering, io, output)
    const ready: string[] = []
    for (const { name, connection } of await client.call('servers.list', {})) {
      if (connection.state === 'ready' || connection.state === 'asleep') ready.push(name)
      else if ('reason' in connection)
        noteWithFixes(
          output,
          `${oneLine(name)}: ${oneLine(inSeconds(connection.reason))}`,
          'fixes' in connection ? connection.fixes : [],
        )
    }
    if (ready.length === 0) throw new CliError(ExitCode.cannotConnect, `No server of ${file} can be reached.`)
    return { client, person: asked, ready, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  } finally {
    io.signal.removeEventListener('abort', stop)
  }
}

function chosenServers<T>(
  servers: Record<string, T>,
  only: readonly string[] | undefined,
  file: string,
): Record<string, T> {
  if (only === undefined) return servers
  const unknown = only.find((name) => !Object.hasOwn(servers, name))
  if (unknown !== undefined) {
    const names = Object.keys(servers).join(', ')
    throw usageError(
      `${file} has no server "${unknown}". ${names === '' ? 'It names none.' : `It names: ${names}.`}`,
    )
  }
  return Object.fromEntries(Object.entries(servers).filter(([name]) => only.includes(name)))
}
