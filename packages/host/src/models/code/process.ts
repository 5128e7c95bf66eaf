import { fork } from 'node:child_process'
import { once } from 'node:events'
import { dirname, extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withoutInheritedDescriptors } from '@jackfield/sdk/client/stdio'
import { reasonOf } from '../../shared/text.ts'

const file = fileURLToPath(new URL(`./program-process${extname(import.meta.url)}`, import.meta.url))
const engineMegabytes = 256

/** What Node itself keeps from a program that found a way out of its engine: writing, other programs, threads, addons. */
const fenced = process.allowedNodeEnvironmentFlags.has('--permission')
  ? ['--permission', '--allow-fs-read=*']
  : []

/** A process in which one program runs. */
export interface ProgramProcess {
  /** Gives the program what came of one of its calls. */
  answer(id: number, answer: string): void
  /** Ends it at once, whatever the program does; settles when it is gone. */
  end(): Promise<void>
}

/**
 * Starts a program in a process of its own: what goes wrong in it, up to the end of its engine, ends nothing else.
 * `ended` hears why the process is gone where it went by itself.
 */
export function startProgram(
  job: Job,
  hear: (message: FromProgram) => void,
  ended: (why: string) => void,
): ProgramProcess {
  const child = withoutInheritedDescriptors(['ignore', 'ignore', 'ignore', 'ipc'], (stdio) =>
    fork(file, {
      cwd: dirname(file),
      env: process.env['SystemRoot'] === undefined ? {} : { SystemRoot: process.env['SystemRoot'] },
      execArgv: [`--max-old-space-size=${engineMegabytes}`, ...fenced],
      stdio,
      // What the terminal sends to the host is for the host to decide on.
      detached: process.platform !== 'win32',
    }),
  )
  let wanted = false
  const gone = once(child, 'exit').then(
    ([code, signal]) => {
      if (!wanted) ended(`Its process ended (${signal ?? `exit code ${code}`}).`)
    },
    (error) => ended(`Its process could not be started: ${reasonOf(error)}`),
  )
  child.on('error', () => {})
  const send = (message: ToProgram): void => {
    // Where it is gone already, `ended` has heard of it.
    if (child.connected) child.send(message, () => {})
  }
  child.on('message', hear)
  send({ type: 'job', job })
  return {
    answer: (id, answer) => send({ type: 'answer', id, answer }),
    async end() {
      wanted = true
      child.kill('SIGKILL')
      await gone
    },
  }
}

/** What a program's process is to run. */
export interface Job {
  program: string
  /** Servers with the tools they have, by their own names. */
  servers: readonly (readonly [server: string, tools: readonly string[]])[]
  memoryBytes: number
  cpuMs: number
  outputCharacters: number
  calls: number
}

/** What the process tells. */
export type FromProgram =
  | { type: 'call'; id: number; server: string; tool: string; arguments: string }
  | { type: 'log'; text: string }
  | { type: 'show'; handle: number }
  | { type: 'show'; text: string }
  | { type: 'end'; outcome: 'ok' | 'error' | 'limit'; value?: string; error?: string }

/** What the process is told: first its job, then answers to calls, as JSON text that the program reads. */
export type ToProgram =
  | { type: 'job'; job: Job }
  /** `answer` is `{ result }` or `{ error, denied }`. */
  | { type: 'answer'; id: number; answer: string }
