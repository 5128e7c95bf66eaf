import { McpError } from '@jackfield/sdk'
import type { Carrier } from './client.ts'
import type { Faults } from './faults.ts'
import { Late, type Line, within } from './line.ts'
import type { Script } from './scripts.ts'

/** Commands that wait for their answers, at most. */
const mostPending = 10_000
/** Answers of a server that does nothing now: it still reads its files, or it is a replica by now. */
const useless = /^(LOADING|READONLY|MASTERDOWN)\b/

/** Sends commands about one key each, and sees to it that every one of them ends in time. */
export class Commands {
  readonly #line: Line<Carrier>
  readonly #faults: Faults
  readonly #timeoutMs: number
  readonly #idle: (() => void)[] = []
  #pending = 0
  #closed = false

  constructor(line: Line<Carrier>, faults: Faults, timeoutMs: number) {
    this.#line = line
    this.#faults = faults
    this.#timeoutMs = timeoutMs
  }

  /** Runs a command. Rejects with an McpError when Redis is away, does not answer in time, or refuses. */
  run(key: string, args: string[]): Promise<unknown> {
    const [name = ''] = args
    return this.#count(() => this.#send(name, key, args, this.#deadline()))
  }

  /** The same for a command that may as well be done twice: it is sent again where the connection was lost meanwhile. */
  repeat(key: string, args: string[]): Promise<unknown> {
    const [name = ''] = args
    return this.#count(() => this.#sendAgain((deadline) => this.#send(name, key, args, deadline)))
  }

  /** Runs a script by its digest, or by its text where Redis does not know it yet. */
  script(script: Script, key: string, args: readonly string[]): Promise<unknown> {
    const run = (deadline: number): Promise<unknown> => this.#sendScript(script, key, args, deadline)
    return this.#count(() => (script.mayRepeat ? this.#sendAgain(run) : run(this.#deadline())))
  }

  /** Takes no more commands; settles when those under way have ended. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#pending > 0) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  #deadline(): number {
    return performance.now() + this.#timeoutMs
  }

  async #sendScript(
    script: Script,
    key: string,
    args: readonly string[],
    deadline: number,
  ): Promise<unknown> {
    const rest = ['1', key, ...args]
    try {
      return await this.#send(script.name, key, ['EVALSHA', script.sha, ...rest], deadline)
    } catch (error) {
      if (!(error instanceof UnknownScript)) throw error
      return this.#send(script.name, key, ['EVAL', script.text, ...rest], deadline)
    }
  }

  async #sendAgain(send: (deadline: number) => Promise<unknown>): Promise<unknown> {
    const deadline = this.#deadline()
    for (;;) {
      try {
        return await send(deadline)
      } catch (error) {
        const mayRepeat = error instanceof McpError && error.code === 'CONNECTION_CLOSED'
        if (!mayRepeat || performance.now() >= deadline) throw error
      }
    }
  }

  async #count<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw this.#faults.closed()
    if (this.#pending >= mostPending) throw this.#faults.full(this.#pending)
    this.#pending++
    try {
      return await work()
    } finally {
      this.#pending--
      if (this.#pending === 0) for (const tell of this.#idle.splice(0)) tell()
    }
  }

  /** A short loss is waited for; while Redis is away for longer, everything fails at once. */
  async #send(name: string, key: string, args: string[], deadline: number): Promise<unknown> {
    await this.#line.ready(Math.min(deadline - performance.now(), this.#timeoutMs - this.#line.awayMs))
    const { client } = this.#line
    if (client === undefined) throw this.#faults.away(this.#line.cause)
    const left = Math.max(1, Math.ceil(deadline - performance.now()))
    try {
      return await within(client.send(key, args), left)
    } catch (error) {
      const fault = this.#faultOf(error, name, client)
      const mayServeLater = useless.test(this.#faults.reason(error)) && performance.now() < deadline
      if (!mayServeLater) throw fault
      return this.#send(name, key, args, deadline)
    }
  }

  #faultOf(error: unknown, name: string, client: Carrier): Error {
    if (error instanceof Late) {
      const late = this.#faults.late(name, this.#timeoutMs)
      this.#line.drop(client, error, this.#timeoutMs)
      return late
    }
    const reason = this.#faults.reason(error)
    if (reason.startsWith('NOSCRIPT')) return new UnknownScript()
    // Redis begins what it refuses with a word in capitals.
    const isRefusal = /^[A-Z]{2,}\b/.test(reason)
    if (!isRefusal || useless.test(reason)) this.#line.drop(client, error, 0)
    return isRefusal ? this.#faults.refused(name, error) : this.#faults.broken(name, error)
  }
}

/** Redis was not given this script yet, or was started anew since. */
class UnknownScript extends Error {}
