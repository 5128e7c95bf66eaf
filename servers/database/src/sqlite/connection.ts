import { type ChildProcess, fork } from 'node:child_process'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { abortError, EngineError } from '../engine.ts'
import type { Connection } from '../pool.ts'
import type { Answer, Command, Commands } from './messages.ts'

const processFile = fileURLToPath(new URL(`./process${extname(import.meta.url)}`, import.meta.url))
const maxHeapMegabytes = 256
const closeTimeoutMs = 1_000

/** The environment of the process: variables that the system needs, none of which may be secret. */
const environment = Object.fromEntries(
  ['SystemRoot', 'TMPDIR', 'TEMP', 'TMP', 'SQLITE_TMPDIR'].flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value]]
  }),
)

/** A connection to a SQLite file: a process, because a statement can only be stopped by killing what runs it. */
export class SqliteConnection implements Connection {
  readonly #child: ChildProcess
  #hasEnded = false

  /** @param write whether the file is opened for writing */
  constructor(file: string, write: boolean) {
    this.#child = fork(processFile, [file, write ? 'write' : 'read'], {
      env: environment,
      execArgv: ['--disable-warning=ExperimentalWarning', `--max-old-space-size=${maxHeapMegabytes}`],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      windowsHide: true,
    })
    this.#child.on('error', () => {})
    this.#child.once('exit', () => {
      this.#hasEnded = true
    })
    this.#unref()
  }

  get isBroken(): boolean {
    return this.#hasEnded || this.#child.killed
  }

  /** Runs one command; only one may run at a time. Aborting the signal kills the process. */
  run<N extends keyof Commands>(
    name: N,
    input: Commands[N]['input'],
    signal?: AbortSignal,
  ): Promise<Commands[N]['output']> {
    const child = this.#child
    if (signal?.aborted) return Promise.reject(abortError(signal))
    if (this.isBroken)
      return Promise.reject(new EngineError('The connection was closed. Run the query again.'))
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void): void => {
        child.off('message', answered)
        child.off('exit', ended)
        child.off('error', failed)
        signal?.removeEventListener('abort', abort)
        this.#unref()
        settle()
      }
      const answered = (answer: Answer<Commands[N]['output']>): void =>
        finish(() => {
          if ('output' in answer) resolve(answer.output)
          else
            reject('rejected' in answer ? new EngineError(answer.rejected) : new Error(answer.internalError))
        })
      const ended = (code: number | null, kill: string | null): void =>
        finish(() => {
          if (signal?.aborted) reject(abortError(signal))
          else {
            reject(
              new EngineError(
                `The process that runs SQLite ended (${kill ?? `exit code ${code}`}), probably because it ran out of memory. ` +
                  'Read fewer or shorter values.',
              ),
            )
          }
        })
      const failed = (error: Error): void => finish(() => reject(error))
      const abort = (): void => {
        child.kill('SIGKILL')
      }
      child.on('message', answered)
      child.on('exit', ended)
      child.on('error', failed)
      signal?.addEventListener('abort', abort, { once: true })
      child.ref()
      child.channel?.ref()
      const command: Command<N> = { name, input }
      child.send(command)
    })
  }

  async reset(): Promise<void> {
    await this.run('end', null)
  }

  /** Ends the process, which closes the database; after a second it is killed. */
  close(): void {
    if (this.isBroken) return
    if (this.#child.connected) this.#child.disconnect()
    setTimeout(() => this.#child.kill('SIGKILL'), closeTimeoutMs).unref()
  }

  /** Lets this process exit while no command runs. */
  #unref(): void {
    this.#child.unref()
    this.#child.channel?.unref()
  }
}
