import { createHost, type Host, type HostConnectOptions } from '@jackfield/host'
import { CliError, ExitCode, usageError } from '../cli/exit.ts'
import { modelsFor, onlookerAt, ownHost, startQuestions } from '../cli/session.ts'
import { hostSettings } from '../cli/settings.ts'
import { storeFile } from '../cli/store.ts'
import { readConfig, waysToServers } from '../cli/target.ts'
import { version } from '../cli/version.ts'
import { oneLine } from '../output/sanitize.ts'
import { answersSurface, readAnswers } from '../surface/answers-file.ts'
import type { TerminalSurface } from '../surface/terminal.ts'
import { type CommandContext, connectTo } from './context.ts'

/** Servers that a command looks at side by side. */
export interface OpenServers extends AsyncDisposable {
  readonly host: Host
  /** Those whose lists are there: connected, or asleep with the lists seen last. */
  readonly ready: readonly string[]
}

/**
 * Connects every configured server, or those of `only`, or the one whose command follows `--`. Those that cannot be
 * reached are told of. Throws where none can. `who` is asked; by default nobody answers questions of servers.
 */
export async function openServers(
  context: CommandContext,
  lists: NonNullable<HostConnectOptions['lists']>,
  only?: readonly string[],
  who: typeof onlookerAt = onlookerAt,
): Promise<OpenServers> {
  const { options, io, output } = context
  if (context.command !== undefined) {
    const { session } = await connectTo({ ...context, words: [] }, lists, ownWith(who(io)))
    const { server } = session
    return {
      host: ownHost(session),
      ready: [server],
      [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
    }
  }
  const { file, config } = await readConfig(options, io, (text) => output.note(text))
  if (Object.keys(config.servers).length === 0)
    throw new CliError(ExitCode.cannotConnect, `${file} names no servers.\n${waysToServers}`)
  const answers = options.answers === undefined ? undefined : readAnswers(options.answers)
  const person = who(io)
  const surface = answers === undefined ? person : answersSurface(answers, (message) => output.note(message))
  const host = createHost({
    ...hostSettings(config, options, io, person?.askInput),
    servers: chosen(config.servers, only, file),
    models: surface === undefined ? [] : [...modelsFor(answers, config, io)],
    store: storeFile(options.store, io),
    ...(surface !== undefined && { surface }),
    info: { name: 'jackfield', title: 'Jackfield', version },
    connect: { lists, follow: false },
  })
  const stop = (): void => void host.close()
  io.signal.addEventListener('abort', stop, { once: true })
  try {
    io.signal.throwIfAborted()
    await host.start()
    await startQuestions(host, person, io.signal)
    io.signal.throwIfAborted()
    const ready: string[] = []
    for (const [server, connection] of host.connections) {
      if (connection.state === 'ready' || connection.state === 'asleep') ready.push(server)
      else if ('reason' in connection) output.note(`${oneLine(server)}: ${oneLine(connection.reason)}`)
    }
    if (ready.length === 0) throw new CliError(ExitCode.cannotConnect, `No server of ${file} can be reached.`)
    return { host, ready, [Symbol.asyncDispose]: () => host.close() }
  } catch (error) {
    await host.close()
    throw error
  } finally {
    io.signal.removeEventListener('abort', stop)
  }
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

function ownWith(surface: TerminalSurface | undefined): { own: true; surface?: TerminalSurface } {
  return { own: true, ...(surface !== undefined && { surface }) }
}
