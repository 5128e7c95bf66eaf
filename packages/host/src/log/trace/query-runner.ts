import { once } from 'node:events'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MessageChannel, Worker } from 'node:worker_threads'
import { McpError } from '@jackfield/sdk'
import type { TraceFormat, TraceQuery } from '../../types/index.ts'
import { StoreError, type StoreFault } from '../store/store-error.ts'
import type { TraceTable } from '../store/trace-table.ts'
import { parseFilter } from './filter.ts'
import { createQueries, type Queries, type QueryInput, type QueryName, type QueryResult } from './queries.ts'

/** A request to the thread. */
export type QueryRequest =
  | { name: QueryName; input: QueryInput<QueryName> }
  | { format: TraceFormat; query: TraceQuery }

/** Messages of the thread on a request's port: values, each after the previous one was acknowledged, then `end`. */
export type ThreadReply<T> = { value: T } | { end: true } | { problem: string; fault: StoreFault | 'invalid' }

const threadFile = fileURLToPath(new URL(`./query-thread${extname(import.meta.url)}`, import.meta.url))
/** Store size in bytes up to which a query is faster than a message to a thread and back. */
const maxDirectBytes = 4_000_000
/** Idle milliseconds after which the thread ends. */
const idleMs = 30_000

/** Runs log queries without blocking the event loop: in a thread for a large file, else directly. */
export class QueryRunner {
  readonly #table: () => TraceTable
  readonly #now: () => number
  readonly #queries: () => Queries
  #open = 0
  #thread: Worker | undefined
  #idle: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(table: () => TraceTable, now: () => number) {
    this.#table = table
    this.#now = now
    this.#queries = () => createQueries(table(), now)
  }

  /**
   * Runs one query.
   * @throws TraceFilterError, an McpError 'INVALID' or 'CONNECTION_CLOSED', or a StoreError
   */
  async run<K extends QueryName>(name: K, input: QueryInput<K>): Promise<QueryResult<K>> {
    this.#refuseWhenClosed()
    // A filter error names a position, so it is thrown here.
    if ('filter' in input && input.filter !== undefined) parseFilter(input.filter, this.#now())
    if (this.#isSmall()) return this.#queries().run(name, input)
    for await (const result of this.#request<QueryResult<K>>({ name, input })) return result
    throw interrupted()
  }

  /** Exports events as chunks of text. Throws as `run`. */
  async *export(format: TraceFormat, query: TraceQuery): AsyncGenerator<string, void, undefined> {
    this.#refuseWhenClosed()
    parseFilter(query.filter ?? '', this.#now())
    yield* this.#isSmall() ? this.#queries().export(format, query) : this.#request<string>({ format, query })
  }

  /** Ends the thread. Running queries are rejected. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#end()
  }

  #refuseWhenClosed(): void {
    if (this.#isClosed) throw new McpError('CONNECTION_CLOSED', 'The host is closed')
  }

  #isSmall(): boolean {
    const { file, size } = this.#table()
    return file === undefined || size() <= maxDirectBytes
  }

  /** Sends a request to the thread and yields the values of its replies. */
  async *#request<T>(request: QueryRequest): AsyncGenerator<T, void, undefined> {
    clearTimeout(this.#idle)
    this.#table().flush()
    const { port1: port, port2 } = new MessageChannel()
    const closed = new AbortController()
    const { signal } = closed
    port.once('close', () => closed.abort())
    this.#open += 1
    try {
      const received = async (): Promise<ThreadReply<T>> => (await once(port, 'message', { signal }))[0]
      let next = received()
      this.#startedThread().postMessage({ port: port2, request }, [port2])
      for (;;) {
        const answer = await next.catch((error: unknown) =>
          Promise.reject(signal.aborted ? interrupted() : error),
        )
        if ('problem' in answer) throw errorOf(answer)
        if (!('value' in answer)) return
        yield answer.value
        next = received()
        port.postMessage('next')
      }
    } finally {
      port.close()
      this.#open -= 1
      if (this.#open === 0 && !this.#isClosed) this.#idle = setTimeout(() => void this.#end(), idleMs).unref()
    }
  }

  #startedThread(): Worker {
    if (this.#thread !== undefined) return this.#thread
    const thread = new Worker(threadFile, {
      workerData: this.#table().file,
      env: {},
      execArgv: ['--disable-warning=ExperimentalWarning'],
    })
    thread.unref()
    // When the thread ends for any reason, the ports of its requests are closed.
    thread.on('error', () => {})
    thread.once('exit', () => {
      if (this.#thread === thread) this.#thread = undefined
    })
    this.#thread = thread
    return thread
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idle)
    const thread = this.#thread
    this.#thread = undefined
    await thread?.terminate()
  }
}

function errorOf({ problem, fault }: { problem: string; fault: StoreFault | 'invalid' }): Error {
  return fault === 'invalid' ? new McpError('INVALID', problem) : new StoreError(problem, fault)
}

function interrupted(): McpError {
  return new McpError('CANCELLED', 'The query of the log was interrupted')
}
