import { fork } from 'node:child_process'
import { once } from 'node:events'
import { dirname, extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withoutInheritedDescriptors } from '@jackfield/sdk/client/stdio'
import { reasonOf } from '../../shared/text.ts'
import type { CodeLimits } from '../../types/index.ts'

const file = fileURLToPath(new URL(`./program-process${extname(import.meta.url)}`, import.meta.url))
const engineMegabytes = 256

/** Node permissions denied to a program that escaped its engine: writing, other programs, threads, addons. */
const permissionFlags = process.allowedNodeEnvironmentFlags.has('--permission')
  ? ['--permission', '--allow-fs-read=*']
  : []

/** A process in which one program runs. */
export interface ProgramProcess {
  /** Sends the outcome of a call to the program. */
  answer(id: number, answer: string): void
  /** Kills it immediately; settles when it has exited. */
  end(): Promise<void>
}

/**
 * Starts a program in its own process, so that a crash of its engine affects nothing else. `onExit` is called with the reason if
 * the process exits by itself.
 */
export function startProgram(
  job: Job,
  onMessage: (message: FromProgram) => void,
  onExit: (reason: string) => void,
): ProgramProcess {
  const child = withoutInheritedDescriptors(['ignore', 'ignore', 'ignore', 'ipc'], (stdio) =>
    fork(file, {
      cwd: dirname(file),
      env: process.env['SystemRoot'] === undefined ? {} : { SystemRoot: process.env['SystemRoot'] },
      execArgv: [`--max-old-space-size=${engineMegabytes}`, ...permissionFlags],
      stdio,
      // Signals of the terminal are handled by the host.
      detached: process.platform !== 'win32',
    }),
  )
  let isEnding = false
  const exited = once(child, 'exit').then(
    ([code, signal]) => {
      if (!isEnding) onExit(`Its process ended (${signal ?? `exit code ${code}`}).`)
    },
    (error) => onExit(`Its process could not be started: ${reasonOf(error)}`),
  )
  child.on('error', () => {})
  const send = (message: ToProgram): void => {
    // If it has exited already, `onExit` was called.
    if (child.connected) child.send(message, () => {})
  }
  child.on('message', onMessage)
  send({ type: 'job', job })
  return {
    answer: (id, answer) => send({ type: 'answer', id, answer }),
    async end() {
      isEnding = true
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** The job of a program's process. */
export interface Job extends Required<Omit<CodeLimits, 'totalMs'>> {
  program: string
  /** The file name in error messages. */
  file: string
  /** Servers with their tools, by name. */
  servers: readonly (readonly [server: string, tools: readonly string[]])[]
}

/** Messages from the process. */
export type FromProgram =
  | { type: 'call'; id: number; server: string; tool: string; arguments: string }
  | { type: 'log'; text: string }
  | { type: 'show'; handle: number }
  | { type: 'show'; text: string }
  | { type: 'end'; outcome: 'ok' | 'error' | 'limit'; value?: string; error?: string }

/** Messages to the process: first its job, then call results, as JSON text that the program reads. */
export type ToProgram =
  | { type: 'job'; job: Job }
  /** `answer` is `{ result }` or `{ error, denied }`. */
  | { type: 'answer'; id: number; answer: string }
