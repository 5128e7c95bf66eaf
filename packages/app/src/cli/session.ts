import type { Model, Surface } from '@jackfield/host'
import { McpError, RpcError } from '@jackfield/sdk'
import { type Client, type ConnectOptions, connect, http } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import { oneLine, plain } from '../output/sanitize.ts'
import { type Answers, answersSurface, modelsNamed } from '../surface/answers-file.ts'
import { terminalSurface } from '../surface/terminal.ts'
import { CliError, ExitCode } from './exit.ts'
import { type Io, isInteractive, type Output } from './io.ts'
import { modelsInUse } from './models.ts'
import { answersThrough } from './questions.ts'
import { revisionsFor } from './revisions.ts'
import type { Target } from './target.ts'
import { version } from './version.ts'

export interface SessionOptions {
  era?: string
  revision?: string
  verbose?: boolean
  /** Seconds without an answer or progress. */
  timeout?: number
  answers: Answers | undefined
}

/** A client connected to the one server a command is about. */
export interface Session extends AsyncDisposable {
  readonly client: Client
  readonly target: Target
}

/** Connects. What the person can be asked is what this terminal, or the answers file, can answer. */
export async function openSession(
  target: Target,
  options: SessionOptions,
  io: Io,
  output: Output,
  more: Pick<ConnectOptions, 'onChange'> = {},
): Promise<Session> {
  const said: string[] = []
  const { server } = target
  const link =
    'url' in server
      ? http(server.url, { headers: server.headers ?? {} })
      : stdio({
          command: server.command,
          ...(server.args !== undefined && { args: server.args }),
          ...(server.env !== undefined && { env: server.env }),
          cwd: server.cwd ?? io.cwd,
          onStderr: (text) => {
            if (options.verbose === true) output.note(`${oneLine(target.name)}: ${plain(text).trimEnd()}`)
            else said.push(text)
            if (said.length > 50) said.shift()
          },
        })
  const revisions = revisionsFor(options)
  const surface = surfaceFor(options.answers, io, output)
  const models = surface === undefined ? [] : modelsFor(options.answers, io)
  const timeoutMs = options.timeout === undefined ? undefined : options.timeout * 1000
  try {
    const client = await connect(link, {
      info: { name: 'jackfield', title: 'Jackfield', version },
      signal: io.signal,
      logLevel: 'info',
      ...(revisions !== undefined && { revisions }),
      ...(timeoutMs !== undefined && { timeoutMs, connectTimeoutMs: timeoutMs }),
      ...(surface !== undefined && answersThrough(surface, target.name, models, target.config?.roots ?? [])),
      onLog: ({ level, logger, data }) => {
        const from = logger === undefined ? '' : ` ${oneLine(logger)}`
        output.note(`[${level}]${from}: ${plain(typeof data === 'string' ? data : JSON.stringify(data))}`)
      },
      onWarning: (message) => output.note(`! ${oneLine(message)}`),
      ...(options.verbose === true && {
        onMessage: (direction, message) =>
          output.note(`${direction === 'sent' ? '→' : '←'} ${plain(JSON.stringify(message))}`),
      }),
      ...more,
    })
    return { client, target, [Symbol.asyncDispose]: () => client.close() }
  } catch (error) {
    io.signal.throwIfAborted()
    throw cannotConnect(target, error, said)
  }
}

/** Who answers questions: the answers file, else a person at the terminal, else nobody. */
function surfaceFor(answers: Answers | undefined, io: Io, output: Output): Surface | undefined {
  if (answers !== undefined) return answersSurface(answers, (message) => output.note(message))
  if (!isInteractive(io)) return undefined
  return terminalSurface({ input: io.stdin, output: io.stderr, env: io.env })
}

/** An answers file decides alone which model may answer, so that a run does not depend on the keys at hand. */
function modelsFor(answers: Answers | undefined, io: Io): readonly Model[] {
  const named = answers === undefined ? undefined : (modelsNamed(answers)[0] ?? 'offline')
  return modelsInUse(io.env, named, [])
}

function cannotConnect(target: Target, error: unknown, said: readonly string[]): CliError {
  const reason = error instanceof McpError || error instanceof RpcError ? error.message : String(error)
  const last = plain(said.join('')).trim().split('\n').slice(-8)
  const stderr =
    last.length === 0 || last[0] === '' || reason.includes(last.at(-1) ?? '')
      ? ''
      : `\nIts last words:\n  ${last.join('\n  ')}`
  return new CliError(ExitCode.cannotConnect, `Cannot connect to ${target.name}: ${plain(reason)}${stderr}`, {
    cause: error,
  })
}
