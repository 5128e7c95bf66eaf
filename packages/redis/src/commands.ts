import { McpError } from '@jackfield/sdk'
import { ReadBatches, TimeoutError, withTimeout } from '@jackfield/sdk/internal/stores'
import type { CommandSender } from './client.ts'
import type { RedisErrors } from './errors.ts'
import type { ReconnectingClient } from './reconnecting-client.ts'
import type { Script } from './scripts.ts'

const maxPendingCommands = 10_000
/** Maximum number of keys of one MGET. */
const maxKeys = 100
/** Error replies of a server that cannot serve commands now: it is loading its data, or has become a replica. */
const unavailableReply = /^(LOADING|READONLY|MASTERDOWN)\b/
/** Error replies for an MGET whose keys can still be read one by one. */
const multiKeyRejectedReply = /^(CROSSSLOT|NOPERM)\b/

/** Sends commands, and bounds their duration and number. */
export class Commands {
  readonly #connection: ReconnectingClient<CommandSender>
  readonly #errors: RedisErrors
  readonly #timeoutMs: number
  readonly #idleWaiters: (() => void)[] = []
  readonly #reads = new ReadBatches((keys) => this.#getAll(keys), maxKeys)
  /** Whether one command may have keys of several slots. */
  #allowsMultipleKeys: boolean
  #pending = 0
  #isClosed = false

  /** @param allowsMultipleKeys whether one command may have several keys: not in a cluster */
  constructor(
    connection: ReconnectingClient<CommandSender>,
    errors: RedisErrors,
    timeoutMs: number,
    allowsMultipleKeys: boolean,
  ) {
    this.#connection = connection
    this.#errors = errors
    this.#timeoutMs = timeoutMs
    this.#allowsMultipleKeys = allowsMultipleKeys
  }

  /** Runs a command. Rejects with an McpError if Redis is unavailable, times out, or returns an error. */
  run(key: string, args: string[]): Promise<unknown> {
    const [name = ''] = args
    return this.#track(() => this.#send(name, key, args, this.#deadline()))
  }

  /** As `run`, for an idempotent command: it is sent again after a lost connection. */
  runIdempotent(key: string, args: string[]): Promise<unknown> {
    const [name = ''] = args
    return this.#track(() => this.#retry((deadline) => this.#send(name, key, args, deadline)))
  }

  /** Reads a value, combined with the other reads of this turn of the event loop. */
  get(key: string): Promise<unknown> {
    return this.#allowsMultipleKeys
      ? this.#track(() => this.#reads.get(key))
      : this.runIdempotent(key, ['GET', key])
  }

  /** Runs a script by its digest, or by its text if Redis does not know it. */
  runScript(script: Script, key: string, args: readonly string[]): Promise<unknown> {
    const run = (deadline: number): Promise<unknown> => this.#sendScript(script, key, args, deadline)
    return this.#track(() => (script.isIdempotent ? this.#retry(run) : run(this.#deadline())))
  }

  /** Rejects new commands; resolves when no command is pending. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#pending > 0) await new Promise<void>((resolve) => this.#idleWaiters.push(resolve))
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
    const keyAndArgs = ['1', key, ...args]
    try {
      return await this.#send(script.name, key, ['EVALSHA', script.sha, ...keyAndArgs], deadline)
    } catch (error) {
      if (!(error instanceof UnknownScriptError)) throw error
      return this.#send(script.name, key, ['EVAL', script.text, ...keyAndArgs], deadline)
    }
  }

  async #getAll(keys: string[]): Promise<readonly unknown[]> {
    const [first = '', ...others] = keys
    if (this.#allowsMultipleKeys && others.length > 0) {
      try {
        const values = await this.#retry((deadline) => this.#send('MGET', first, ['MGET', ...keys], deadline))
        return Array.isArray(values) ? values : []
      } catch (error) {
        if (!(error instanceof MultiKeyRejectedError)) throw error
        this.#allowsMultipleKeys = false
      }
    }
    return Promise.all(
      keys.map((key) => this.#retry((deadline) => this.#send('GET', key, ['GET', key], deadline))),
    )
  }

  async #retry(send: (deadline: number) => Promise<unknown>): Promise<unknown> {
    const deadline = this.#deadline()
    for (;;) {
      try {
        return await send(deadline)
      } catch (error) {
        const isConnectionLost = error instanceof McpError && error.code === 'CONNECTION_CLOSED'
        if (!isConnectionLost || performance.now() >= deadline) throw error
      }
    }
  }

  #track(work: () => Promise<unknown>): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(this.#errors.closed())
    if (this.#pending >= maxPendingCommands) return Promise.reject(this.#errors.overloaded(this.#pending))
    this.#pending++
    const settled = (): void => {
      this.#pending--
      if (this.#pending === 0) for (const resolve of this.#idleWaiters.splice(0)) resolve()
    }
    const result = work()
    result.then(settled, settled)
    return result
  }

  /** Waits during a short outage; rejects immediately during a longer one. */
  async #send(name: string, key: string, args: string[], deadline: number): Promise<unknown> {
    const connection = this.#connection
    await connection.ready(
      Math.min(deadline - performance.now(), this.#timeoutMs - connection.disconnectedMs),
    )
    const { client } = connection
    if (client === undefined) throw this.#errors.disconnected(connection.cause)
    const remainingMs = Math.max(1, Math.ceil(deadline - performance.now()))
    try {
      return await withTimeout(client.send(key, args), remainingMs)
    } catch (error) {
      const failure = this.#toError(error, name, client)
      const isUnavailable = unavailableReply.test(this.#errors.reason(error))
      if (!isUnavailable || performance.now() >= deadline) throw failure
      return this.#send(name, key, args, deadline)
    }
  }

  /** The error to throw for a failed command. Drops a connection that cannot be used any more. */
  #toError(error: unknown, name: string, client: CommandSender): Error {
    if (error instanceof TimeoutError) {
      this.#connection.drop(client, error, this.#timeoutMs)
      return this.#errors.timedOut(name, this.#timeoutMs)
    }
    const reason = this.#errors.reason(error)
    if (reason.startsWith('NOSCRIPT')) return new UnknownScriptError()
    if (name === 'MGET' && multiKeyRejectedReply.test(reason)) return new MultiKeyRejectedError()
    // Error replies of Redis start with a word in capitals.
    const isReply = /^[A-Z]{2,}\b/.test(reason)
    if (!isReply || unavailableReply.test(reason)) this.#connection.drop(client, error, 0)
    return isReply ? this.#errors.rejected(name, error) : this.#errors.connectionLost(name, error)
  }
}

/** Redis does not have the script, because it is new or Redis was restarted. */
class UnknownScriptError extends Error {}

/** The keys of an MGET have to be read one by one: they are on several servers, or the user has no right to MGET. */
class MultiKeyRejectedError extends Error {}
