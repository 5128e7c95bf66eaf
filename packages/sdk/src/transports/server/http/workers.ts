import type { Cluster, Worker } from 'node:cluster'
import { invalid, McpError, type McpErrorCode, messageOf } from '../../../jsonrpc/error.ts'
import { deferred, runOnce } from '../../../jsonrpc/promises.ts'
import { type Backplane, type LogEntry, memoryBackplane } from '../../../request/backplane.ts'
import type { HttpListener } from './node.ts'
import { workerVariable } from './options.ts'

/*
 * Several processes that serve one server on one port, with node:cluster. The primary process runs the program once more in
 * each worker. It serves no requests itself: it has the backplane that the workers share, and restarts workers that exit.
 */

type Method = 'get' | 'set' | 'add' | 'swap' | 'delete' | 'append' | 'read' | 'publish'

/** The parameters of `set`, `append` and the others. JSON has null for undefined. */
type Arguments = readonly (string | number | null | undefined)[]

/** How a listener is ended, or prepared for its end. */
type Ending = 'drain' | 'close handler' | 'close listener'

type FromWorker =
  | { readonly type: 'call'; readonly id: number; readonly method: Method; readonly args: Arguments }
  | { readonly type: 'subscribe' | 'unsubscribe'; readonly id: number; readonly topic: string }
  | { readonly type: 'port'; readonly id: number; readonly index: number; readonly host: string }
  | { readonly type: 'listening'; readonly index: number; readonly url: string; readonly port: number }
  | { readonly type: 'failed'; readonly index: number; readonly message: string }
  | { readonly type: 'ended'; readonly id: number }

type FromPrimary =
  | { readonly type: 'result'; readonly id: number; readonly result?: Result | undefined }
  | { readonly type: 'error'; readonly id: number; readonly code: McpErrorCode; readonly message: string }
  | { readonly type: 'message'; readonly topic: string; readonly message: string }
  | {
      readonly type: 'end'
      readonly id: number
      readonly index: number
      readonly ending: Ending
      readonly times: DrainTimes
    }

type Result = string | number | boolean | readonly LogEntry[]

export interface DrainTimes {
  readonly settleMs?: number
  readonly graceMs?: number
}

/** The part of a listening server that the primary can end. */
export interface Endable {
  drain(times: DrainTimes): Promise<void>
  closeHandler(): Promise<void>
}

/** Distinguishes these messages from those of other code on the same channel. */
const envelopeKey = '@jackfield/sdk/http'

function isFrom<Message>(envelope: unknown): envelope is { readonly [envelopeKey]: Message } {
  return typeof envelope === 'object' && envelope !== null && envelopeKey in envelope
}

const callTimeoutMs = 5_000
const listenTimeoutMs = 60_000
/** Milliseconds in which a worker ends after its last listener was closed, before it is killed. */
const exitMs = 5_000
const restartMs = { first: 100, max: 10_000 }
/** Milliseconds after which an exit does not count as a failed start. */
const healthyMs = 10_000
const maxWorkers = 1_024

/**
 * The number of processes for the option `workers`: at most one is this process alone.
 * @throws McpError 'INVALID' for another value, or on a runtime without node:cluster
 */
export function workerCount(workers: 'auto' | number | undefined): number {
  if (workers === undefined) return 1
  const isCount =
    typeof workers === 'number' && Number.isInteger(workers) && workers >= 1 && workers <= maxWorkers
  if (workers !== 'auto' && !isCount) {
    throw invalid(
      `listen: "workers" must be 'auto' or a whole number from 1 to ${maxWorkers}, not ${String(workers)}`,
    )
  }
  const isNode =
    typeof process === 'object' && process.versions['bun'] === undefined && !('Deno' in globalThis)
  if (!isNode || process.getBuiltinModule?.('node:cluster') === undefined) {
    throw invalid(
      'listen: "workers" needs node:cluster of Node 20.16, 22.3 or later. Leave it out on other runtimes',
    )
  }
  return workers === 'auto' ? process.getBuiltinModule('node:os').availableParallelism() : workers
}

interface Subscription {
  readonly listeners: Set<(message: string) => void>
  /** Settles when the primary forwards the topic. */
  readonly ready: Promise<unknown>
}

/** The channel of a worker to its primary process. */
class PrimaryChannel {
  readonly backplane: Backplane
  readonly #calls = new Map<number, (reply: FromPrimary) => void>()
  readonly #subscriptions = new Map<string, Subscription>()
  readonly #ends: ((ending: Ending, times: DrainTimes) => Promise<void>)[] = []
  #nextId = 1
  #open = 0

  constructor() {
    this.backplane = this.#makeBackplane()
    process.on('message', (envelope) => {
      if (isFrom<FromPrimary>(envelope)) this.#receive(envelope[envelopeKey])
    })
  }

  /** Reports to the primary that this worker listens, and ends the listener on its request. */
  join(listener: HttpListener, endable: Endable): HttpListener {
    const index = this.#ends.length
    this.#open++
    const close = runOnce(async () => {
      await listener.close()
      this.#open--
      // Without a listener the channel must not keep the process alive.
      if (this.#open === 0) (await import('node:cluster')).default.worker?.disconnect()
    })
    this.#ends.push((ending, times) => {
      if (ending === 'drain') return endable.drain(times)
      return ending === 'close handler' ? endable.closeHandler() : close()
    })
    this.#send({ type: 'listening', index, url: listener.url, port: listener.port })
    return { url: listener.url, port: listener.port, close }
  }

  /** A free port for the next listener, the same one in every worker, also after all of them were replaced. */
  async freePort(host: string): Promise<number> {
    return Number(await this.#ask((id) => ({ type: 'port', id, index: this.#ends.length, host })))
  }

  /** Reports to the primary that this worker cannot listen. */
  fail(error: unknown): void {
    this.#send({ type: 'failed', index: this.#ends.length, message: messageOf(error) })
  }

  #receive(message: FromPrimary): void {
    switch (message.type) {
      case 'message':
        for (const listener of this.#subscriptions.get(message.topic)?.listeners ?? [])
          listener(message.message)
        return
      case 'end': {
        const { id, index, ending, times } = message
        const done = (): void => this.#send({ type: 'ended', id })
        const ended = this.#ends[index]?.(ending, times) ?? Promise.resolve()
        ended.then(done, done)
        return
      }
      default:
        this.#calls.get(message.id)?.(message)
    }
  }

  #send(message: FromWorker, onFailed?: (error: Error) => void): void {
    if (!process.connected) onFailed?.(new Error('the channel is closed'))
    else process.send?.({ [envelopeKey]: message }, undefined, {}, (error) => error && onFailed?.(error))
  }

  #ask(make: (id: number) => FromWorker): Promise<Result | undefined> {
    const id = this.#nextId++
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer)
        this.#calls.delete(id)
      }
      const fail = (code: McpErrorCode, message: string): void => {
        settle()
        reject(new McpError(code, message))
      }
      const timer = setTimeout(
        () => fail('TIMEOUT', `The primary process did not answer within ${callTimeoutMs} ms`),
        callTimeoutMs,
      )
      this.#calls.set(id, (reply) => {
        if (reply.type === 'error') fail(reply.code, reply.message)
        if (reply.type !== 'result') return
        settle()
        resolve(reply.result)
      })
      this.#send(make(id), ({ message }) =>
        fail('CONNECTION_CLOSED', `The primary process cannot be reached: ${message}`),
      )
    })
  }

  #makeBackplane(): Backplane {
    const call = (method: Method, ...args: Arguments) =>
      this.#ask((id) => ({ type: 'call', id, method, args }))
    return {
      get: async (key) => {
        const value = await call('get', key)
        return typeof value === 'string' ? value : undefined
      },
      set: async (...args) => void (await call('set', ...args)),
      add: async (...args) => (await call('add', ...args)) === true,
      swap: async (...args) => (await call('swap', ...args)) === true,
      delete: async (key) => void (await call('delete', key)),
      append: async (...args) => String(await call('append', ...args)),
      read: async (...args) => {
        const entries = await call('read', ...args)
        return typeof entries === 'object' ? [...entries] : undefined
      },
      publish: async (topic, message) => void (await call('publish', topic, message)),
      subscribe: async (topic, listener) => {
        const subscription = this.#subscriptions.get(topic) ?? {
          listeners: new Set(),
          ready: this.#ask((id) => ({ type: 'subscribe', id, topic })),
        }
        this.#subscriptions.set(topic, subscription)
        subscription.listeners.add(listener)
        const unsubscribe = (): void => {
          if (!subscription.listeners.delete(listener) || subscription.listeners.size > 0) return
          this.#subscriptions.delete(topic)
          this.#ask((id) => ({ type: 'unsubscribe', id, topic })).catch(() => {})
        }
        try {
          await subscription.ready
        } catch (error) {
          unsubscribe()
          throw error
        }
        return unsubscribe
      },
    }
  }
}

let channelOfThisProcess: PrimaryChannel | undefined

/** The channel of a worker to the primary process. */
export function primaryChannel(): PrimaryChannel {
  channelOfThisProcess ??= new PrimaryChannel()
  return channelOfThisProcess
}

/** The listeners of all workers, as one listener of the primary process. */
export interface WorkersListener extends HttpListener {
  drain(times: DrainTimes): Promise<void>
  closeHandler(): Promise<void>
}

/**
 * Listens with `count` workers: in a worker, with `listen`; in the primary process, by starting the workers.
 * @throws McpError 'CONNECT_FAILED' if a worker cannot listen, or ends before it does
 */
export async function listenWithWorkers(
  count: number,
  isWorker: boolean,
  place: { port: number; host: string },
  endable: Endable,
  listen: (port: number) => Promise<HttpListener>,
  warn: (message: string) => void,
): Promise<HttpListener | WorkersListener> {
  if (!isWorker) {
    const { default: cluster } = await import('node:cluster')
    workersOfThisProcess ??= new Workers(cluster, count, warn)
    return workersOfThisProcess.listen(count)
  }
  const primary = primaryChannel()
  try {
    const port = place.port === 0 ? await primary.freePort(place.host) : place.port
    return primary.join(await listen(port), endable)
  } catch (error) {
    primary.fail(error)
    throw error
  }
}

/** The workers of this process. A program that listens twice has both listeners in each worker. */
let workersOfThisProcess: Workers | undefined

/** A listener that all workers are to have. */
interface Awaited {
  readonly listening: Set<Worker>
  readonly settle: (result: { url: string; port: number } | McpError) => void
}

class Workers {
  readonly #cluster: Cluster
  readonly #instance = crypto.randomUUID()
  readonly #key = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64')
  readonly #backplane = memoryBackplane()
  readonly #count: number
  readonly #warn: (message: string) => void
  readonly #workers = new Set<Worker>()
  readonly #awaited: Awaited[] = []
  readonly #ports: Promise<number>[] = []
  readonly #restarts = new Set<ReturnType<typeof setTimeout>>()
  readonly #endings = new Map<number, { readonly worker: Worker; readonly resolve: () => void }>()
  #nextId = 1
  /** Listeners that are not closed. */
  #open = 0
  /** Workers that ended soon after their start, in a row. */
  #failures = 0

  constructor(cluster: Cluster, count: number, warn: (message: string) => void) {
    this.#cluster = cluster
    this.#count = count
    this.#warn = warn
    for (let worker = 0; worker < count; worker++) this.#start()
  }

  /** The next listener of the program, when all workers have it. */
  async listen(count: number): Promise<WorkersListener> {
    if (count !== this.#count) {
      throw invalid(
        `listen: "workers" is ${count}, and ${this.#count} for another listener of this process. Use one number`,
      )
    }
    const index = this.#awaited.length
    const { promise, resolve } = deferred<{ url: string; port: number } | McpError>()
    this.#awaited.push({ listening: new Set(), settle: resolve })
    this.#open++
    const late = setTimeout(
      () => resolve(failed(`A worker process did not listen within ${listenTimeoutMs / 1000} s`)),
      listenTimeoutMs,
    )
    const result = await promise
    clearTimeout(late)
    if (result instanceof McpError) {
      await this.#close(index)
      throw result
    }
    return {
      ...result,
      drain: (times) => this.#end(index, 'drain', times),
      closeHandler: () => this.#end(index, 'close handler', {}),
      close: runOnce(() => this.#close(index)),
    }
  }

  #start(): void {
    const worker = this.#cluster.fork({ [workerVariable]: `${process.pid} ${this.#instance} ${this.#key}` })
    const started = performance.now()
    const subscriptions = new Map<string, Promise<() => void>>()
    this.#workers.add(worker)
    worker.on('message', (envelope: unknown) => {
      if (isFrom<FromWorker>(envelope)) this.#receive(worker, subscriptions, envelope[envelopeKey])
    })
    worker.on('error', (error) => this.#warn(`Worker process ${worker.process.pid}: ${error.message}`))
    worker.once('exit', (code, signal) => {
      this.#workers.delete(worker)
      for (const subscription of subscriptions.values()) subscription.then((unsubscribe) => unsubscribe())
      for (const ending of this.#endings.values()) if (ending.worker === worker) ending.resolve()
      this.#failures = performance.now() - started < healthyMs ? this.#failures + 1 : 0
      if (this.#open > 0) this.#exited(worker, signal ?? `exit code ${code}`)
    })
  }

  #exited({ process: { pid } }: Worker, how: string): void {
    const waiting = this.#awaited.find(({ listening }) => listening.size < this.#count)
    if (waiting !== undefined && this.#failures > 0) {
      waiting.settle(failed(`Worker process ${pid} ended with ${how} before it listened`))
      return
    }
    const ms = Math.min(restartMs.max, restartMs.first * 2 ** this.#failures)
    this.#warn(`Worker process ${pid} ended with ${how}. Another one starts in ${ms / 1000} s.`)
    const restart = setTimeout(() => {
      this.#restarts.delete(restart)
      this.#start()
    }, ms)
    this.#restarts.add(restart)
  }

  #receive(worker: Worker, subscriptions: Map<string, Promise<() => void>>, message: FromWorker): void {
    const send = (reply: FromPrimary): void => {
      if (worker.isConnected()) worker.send({ [envelopeKey]: reply }, () => {})
    }
    switch (message.type) {
      case 'listening': {
        const { index, url, port } = message
        const awaited = this.#awaited[index]
        awaited?.listening.add(worker)
        if (awaited?.listening.size === this.#count) awaited.settle({ url, port })
        return
      }
      case 'port': {
        const { id, index, host } = message
        this.#ports[index] ??= freePort(host)
        this.#ports[index].then(
          (port) => send({ type: 'result', id, result: port }),
          (error) => send({ type: 'error', id, code: 'CONNECT_FAILED', message: messageOf(error) }),
        )
        return
      }
      case 'failed':
        this.#awaited[message.index]?.settle(failed(message.message))
        return
      case 'ended':
        this.#endings.get(message.id)?.resolve()
        return
      case 'subscribe': {
        const { id, topic } = message
        const forward = (text: string): void => send({ type: 'message', topic, message: text })
        subscriptions.set(topic, this.#backplane.subscribe(topic, forward))
        send({ type: 'result', id })
        return
      }
      case 'unsubscribe': {
        const { id, topic } = message
        subscriptions.get(topic)?.then((unsubscribe) => unsubscribe())
        subscriptions.delete(topic)
        send({ type: 'result', id })
        return
      }
      case 'call': {
        const { id } = message
        perform(this.#backplane, message).then(
          (result) => send({ type: 'result', id, result }),
          (error) => {
            const code = error instanceof McpError ? error.code : 'PROTOCOL'
            send({ type: 'error', id, code, message: messageOf(error) })
          },
        )
      }
    }
  }

  /** Ends a listener in every worker; waits until each has, or has exited. */
  async #end(index: number, ending: Ending, times: DrainTimes): Promise<void> {
    await Promise.all(
      [...this.#workers].map(async (worker) => {
        const id = this.#nextId++
        const { promise, resolve } = deferred()
        this.#endings.set(id, { worker, resolve })
        const message: FromPrimary = { type: 'end', id, index, ending, times }
        if (worker.isConnected()) worker.send({ [envelopeKey]: message }, () => {})
        else resolve()
        await promise
        this.#endings.delete(id)
      }),
    )
  }

  /** Closes a listener in every worker, and ends the workers after the last one. */
  async #close(index: number): Promise<void> {
    this.#open--
    if (this.#open === 0) {
      workersOfThisProcess = undefined
      for (const restart of this.#restarts) clearTimeout(restart)
    }
    await this.#end(index, 'close listener', {})
    if (this.#open > 0) return
    // A worker whose last listener was closed ends by itself; one that never listened, or does not end, is killed.
    const joined = this.#awaited[index]?.listening
    await Promise.all(
      [...this.#workers].map((worker) => {
        const { promise, resolve } = deferred()
        const kill = (): unknown => worker.process.kill('SIGKILL')
        const late = setTimeout(kill, joined?.has(worker) === true ? exitMs : 0)
        worker.once('exit', () => {
          clearTimeout(late)
          resolve()
        })
        return promise
      }),
    )
  }
}

/** Calls the backplane with the arguments that a worker sent. */
async function perform(
  backplane: Backplane,
  { method, args }: Extract<FromWorker, { type: 'call' }>,
): Promise<Result | undefined> {
  const given = args.map((value) => value ?? undefined)
  return Reflect.apply(backplane[method], backplane, given)
}

async function freePort(host: string): Promise<number> {
  const { createServer } = await import('node:net')
  const { default: events } = await import('node:events')
  const server = createServer()
  server.listen(0, host)
  await events.once(server, 'listening')
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}

function failed(reason: string): McpError {
  return new McpError('CONNECT_FAILED', reason)
}
