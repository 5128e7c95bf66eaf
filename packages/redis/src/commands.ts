import { McpError } from '@jackfield/sdk'
import { ReadBatches, TimeoutError, withTimeout } from '@jackfield/sdk/internal/stores'
import type { CommandSender } from './client.ts'
import type { RedisErrors } from './errors.ts'
import type { ReconnectingClient } from './reconnecting-client.ts'
import type { Script } from './scripts.ts'

/** Most pending commands. */
const mostPending = 10_000
/** Most keys of one MGET. */
const mostKeys = 100
/** Error replies of a server that cannot serve now: it is loading its data, or has become a replica. */
const useless = /^(LOADING|READONLY|MASTERDOWN)\b/

/** Error replies for an MGET whose keys could be read one by one. */
const indivisible = /^(CROSSSLOT|NOPERM)\b/

/** Sends commands, and bounds their duration. */
export class Commands {
  readonly #line: ReconnectingClient<CommandSender>
  readonly #faults: RedisErrors
  readonly #timeoutMs: number
  readonly #idle: (() => void)[] = []
  readonly #reads = new ReadBatches((keys) => this.#readAll(keys), mostKeys)
  /** Whether one command may have keys of several slots. */
  #mayCombine: boolean
  #pending = 0
  #closed = false

  /** @param mayCombine whether one command may have several keys: not in a cluster */
  constructor(
    line: ReconnectingClient<CommandSender>,
    faults: RedisErrors,
    timeoutMs: number,
    mayCombine: boolean,
  ) {
    this.#line = line
    this.#faults = faults
    this.#timeoutMs = timeoutMs
    this.#mayCombine = mayCombine
  }

  /** Runs a command. Rejects with an McpError if Redis is unavailable, times out, or returns an error. */
  run(key: string, args: string[]): Promise<unknown> {
    const [name = ''] = args
    return this.#count(() => this.#send(name, key, args, this.#deadline()))
  }

  /** The same for an idempotent command: it is sent again after a lost connection. */
  repeat(key: string, args: string[]): Promise<unknown> {
    const [name = ''] = args
    return this.#count(() => this.#sendAgain((deadline) => this.#send(name, key, args, deadline)))
  }

  /** Reads a value, together with others that are read in this turn of the event loop. */
  read(key: string): Promise<unknown> {
    return this.#mayCombine ? this.#count(() => this.#reads.get(key)) : this.repeat(key, ['GET', key])
  }

  /** Runs a script by its digest, or by its text if Redis does not know it. */
  script(script: Script, key: string, args: readonly string[]): Promise<unknown> {
    const run = (deadline: number): Promise<unknown> => this.#sendScript(script, key, args, deadline)
    return this.#count(() => (script.mayRepeat ? this.#sendAgain(run) : run(this.#deadline())))
  }

  /** Rejects new commands; resolves when pending ones have ended. */
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

  async #readAll(keys: string[]): Promise<readonly unknown[]> {
    const [first = '', ...more] = keys
    if (this.#mayCombine && more.length > 0) {
      try {
        const values = await this.#sendAgain((deadline) =>
          this.#send('MGET', first, ['MGET', ...keys], deadline),
        )
        return Array.isArray(values) ? values : []
      } catch (error) {
        if (!(error instanceof MustSplit)) throw error
        this.#mayCombine = false
      }
    }
    return Promise.all(
      keys.map((key) => this.#sendAgain((deadline) => this.#send('GET', key, ['GET', key], deadline))),
    )
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

  #count(work: () => Promise<unknown>): Promise<unknown> {
    if (this.#closed) return Promise.reject(this.#faults.closed())
    if (this.#pending >= mostPending) return Promise.reject(this.#faults.full(this.#pending))
    this.#pending++
    const settled = (): void => {
      this.#pending--
      if (this.#pending === 0) for (const resolve of this.#idle.splice(0)) resolve()
    }
    const result = work()
    result.then(settled, settled)
    return result
  }

  /** Waits during a short outage; rejects at once during a longer one. */
  async #send(name: string, key: string, args: string[], deadline: number): Promise<unknown> {
    await this.#line.ready(Math.min(deadline - performance.now(), this.#timeoutMs - this.#line.awayMs))
    const { client } = this.#line
    if (client === undefined) throw this.#faults.away(this.#line.cause)
    const left = Math.max(1, Math.ceil(deadline - performance.now()))
    try {
      return await withTimeout(client.send(key, args), left)
    } catch (error) {
      const fault = this.#toError(error, name, client)
      const mayServeLater = useless.test(this.#faults.reason(error)) && performance.now() < deadline
      if (!mayServeLater) throw fault
      return this.#send(name, key, args, deadline)
    }
  }

  #toError(error: unknown, name: string, client: CommandSender): Error {
    if (error instanceof TimeoutError) {
      const late = this.#faults.late(name, this.#timeoutMs)
      this.#line.drop(client, error, this.#timeoutMs)
      return late
    }
    const reason = this.#faults.reason(error)
    if (reason.startsWith('NOSCRIPT')) return new UnknownScript()
    if (name === 'MGET' && indivisible.test(reason)) return new MustSplit()
    // Error replies of Redis start with a word in capitals.
    const isRefusal = /^[A-Z]{2,}\b/.test(reason)
    if (!isRefusal || useless.test(reason)) this.#line.drop(client, error, 0)
    return isRefusal ? this.#faults.refused(name, error) : this.#faults.broken(name, error)
  }
}

/** Redis does not have the script, because it is new or Redis was restarted. */
class UnknownScript extends Error {}

/** The keys of an MGET have to be read one by one: they are on several servers, or the user has no right to MGET. */
class MustSplit extends Error {}
