import type { Host, HostConnectOptions, LayeredConfig, ServerConfig } from '@jackfield/host'
import type { HostClient } from '@jackfield/host/client'
import { CliError, ExitCode, usageError } from '../cli/exit.ts'
import { hostHere, type OpenHost, openHost, usesDaemon } from '../cli/host.ts'
import { asSettled, modelsFor, onlookerAt, questionsAnswered } from '../cli/session.ts'
import { hostSettings } from '../cli/settings.ts'
import { storeFile } from '../cli/store.ts'
import { readConfig, waysToServers } from '../cli/target.ts'
import { version } from '../cli/version.ts'
import { oneLine } from '../output/sanitize.ts'
import { answersSurface, readAnswers } from '../surface/answers-file.ts'
import { answerQuestions } from '../surface/remote.ts'
import type { TerminalSurface } from '../surface/terminal.ts'
import { type CommandContext, connectTo } from './context.ts'

/** Servers that a command looks at side by side. */
export interface OpenServers extends AsyncDisposable {
  readonly client: HostClient
  /** Those whose lists are there: connected, or asleep with the lists seen last. */
  readonly ready: readonly string[]
  /** The host itself, where it is in this process; see `ownHost`. */
  readonly host: Host | undefined
}

export interface OpenServersOptions {
  /** Only these of the configured servers. */
  only?: readonly string[]
  /** Who is asked. Default: the person, about the start of servers alone. */
  who?: typeof onlookerAt
  /** On a host of this process, which `ownHost` gives. */
  own?: true
}

/**
 * Connects every configured server, or those of `only`, or the one whose command follows `--`. What cannot be reached is
 * named on stderr. Throws where none can.
 */
export async function openServers(
  context: CommandContext,
  lists: NonNullable<HostConnectOptions['lists']>,
  { only, who = onlookerAt, own }: OpenServersOptions = {},
): Promise<OpenServers> {
  const { options, io, output } = context
  if (context.command !== undefined) {
    const surface = who(io)
    const { session } = await connectTo({ ...context, words: [] }, lists, {
      own: true,
      ...(surface !== undefined && { surface }),
    })
    const { client, host, server } = session
    return { client, host, ready: [server], [Symbol.asyncDispose]: () => session[Symbol.asyncDispose]() }
  }
  const { file, config } = await readConfig(options, io, (text) => output.note(text))
  if (Object.keys(config.servers).length === 0)
    throw new CliError(ExitCode.cannotConnect, `${file} names no servers.\n${waysToServers}`)
  const person = who(io)
  const isShared =
    own === undefined && only === undefined && options.answers === undefined && usesDaemon(options, io)
  const open = isShared
    ? { ...(await openHost(options, 'jackfield', io)), host: undefined }
    : await hostOf(context, config, chosen(config.servers, only, file), lists, person)
  const close = open[Symbol.asyncDispose]
  const stop = (): void => void close()
  io.signal.addEventListener('abort', stop, { once: true })
  try {
    io.signal.throwIfAborted()
    const { client } = open
    const answering =
      isShared && person !== undefined
        ? await answerQuestions(client, person, {
            isMine: ({ question }) => question.cause.conversation === undefined,
            note: output.note,
          })
        : undefined
    await client.call('servers.start', {}, { signal: io.signal })
    await questionsAnswered(client, answering ?? asSettled(person), io.signal)
    io.signal.throwIfAborted()
    const ready: string[] = []
    for (const { name, connection } of await client.call('servers.list', {})) {
      if (connection.state === 'ready' || connection.state === 'asleep') ready.push(name)
      else if ('reason' in connection) output.note(`${oneLine(name)}: ${oneLine(connection.reason)}`)
    }
    if (ready.length === 0) throw new CliError(ExitCode.cannotConnect, `No server of ${file} can be reached.`)
    return { client, host: open.host, ready, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  } finally {
    io.signal.removeEventListener('abort', stop)
  }
}

/** A host of this process for these servers. */
async function hostOf(
  { options, io, output }: CommandContext,
  config: LayeredConfig,
  servers: Record<string, ServerConfig>,
  lists: NonNullable<HostConnectOptions['lists']>,
  person: TerminalSurface | undefined,
): Promise<OpenHost & { readonly host: Host }> {
  const answers = options.answers === undefined ? undefined : readAnswers(options.answers)
  const surface = answers === undefined ? person : answersSurface(answers, (message) => output.note(message))
  const { HostService } = await import('@jackfield/host/service')
  const service = new HostService({
    ...hostSettings(config, options, io),
    servers,
    models: surface === undefined ? [] : [...modelsFor(answers, config, io)],
    store: storeFile(options.store, io),
    surface: surface ?? { name: 'nobody', show: {} },
    ...(person !== undefined && { askInput: person.askInput }),
    info: { name: 'jackfield', title: 'Jackfield', version },
    version,
    connect: { lists, follow: false },
  })
  return await hostHere(service, 'jackfield')
}

function chosen<T>(
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
