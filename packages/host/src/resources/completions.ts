import { ErrorCode, RpcError } from '@jackfield/sdk'
import type { Completion, CompletionField, Host } from '../types/index.ts'

const minIntervalMs = 150
const retentionMs = 60_000
const limits = { kept: 500, values: 100, characters: 1_000 }

interface PendingCompletion {
  field: CompletionField
  signal: AbortSignal | undefined
  resolve: (completion: Completion | undefined) => void
  reject: (reason: unknown) => void
}

/** Requests completions from servers, each at most once in 150 ms, and caches the results for a while. */
export class Completions {
  readonly #host: Pick<Host, 'complete'>
  readonly #cached = new Map<string, { answer: Promise<Completion>; until: number }>()
  /** By server: when the next request is allowed, and the waiting ones. */
  readonly #servers = new Map<string, { next: number; waiting?: PendingCompletion }>()

  constructor(host: Pick<Host, 'complete'>) {
    this.#host = host
  }

  /** Undefined if a newer request replaced this one. */
  async complete(field: CompletionField, signal?: AbortSignal): Promise<Completion | undefined> {
    signal?.throwIfAborted()
    const cachedEntry = this.#cached.get(keyOf(field))
    if (cachedEntry !== undefined && cachedEntry.until > performance.now()) {
      this.#supersede(field.server)
      // Another caller's shared request may have been cancelled.
      return cachedEntry.answer.catch(() => this.complete(field, signal))
    }
    const { promise, resolve, reject } = Promise.withResolvers<Completion | undefined>()
    const waiting = { field, signal, resolve, reject }
    this.#supersede(field.server)
    const server = this.#servers.get(field.server) ?? { next: 0 }
    this.#servers.set(field.server, server)
    const waitMs = server.next - performance.now()
    if (waitMs <= 0) this.#send(server, waiting)
    else {
      server.waiting = waiting
      setTimeout(() => {
        if (server.waiting === waiting) this.#send(server, waiting)
      }, waitMs)
    }
    return promise
  }

  #supersede(name: string): void {
    const server = this.#servers.get(name)
    server?.waiting?.resolve(undefined)
    delete server?.waiting
  }

  #send(
    server: { next: number; waiting?: PendingCompletion },
    { field, signal, resolve, reject }: PendingCompletion,
  ): void {
    delete server.waiting
    if (signal?.aborted === true) {
      reject(signal.reason)
      return
    }
    server.next = performance.now() + minIntervalMs
    const key = keyOf(field)
    const answer = this.#fetch(field, signal)
    this.#cached.delete(key)
    this.#cached.set(key, { answer, until: performance.now() + retentionMs })
    answer.catch(() => this.#cached.delete(key))
    const [oldest] = this.#cached.keys()
    if (this.#cached.size > limits.kept && oldest !== undefined) this.#cached.delete(oldest)
    answer.then(resolve, reject)
  }

  async #fetch(field: CompletionField, signal: AbortSignal | undefined): Promise<Completion> {
    const { of, argument, value, chosen = {} } = field
    const ref =
      'prompt' in of
        ? { type: 'ref/prompt' as const, name: of.prompt }
        : { type: 'ref/resource' as const, uri: of.template }
    const params = {
      ref,
      argument: { name: argument, value },
      ...(Object.keys(chosen).length > 0 && { context: { arguments: { ...chosen } } }),
    }
    try {
      const result = await this.#host.complete(field.server, params, signal === undefined ? {} : { signal })
      const usableValues = new Set(result.values.filter((one) => one.length <= limits.characters))
      const values = [...usableValues].slice(0, limits.values)
      return {
        values,
        ...(result.total !== undefined && { total: result.total }),
        more:
          result.hasMore === true || (result.total ?? 0) > values.length || usableValues.size > values.length,
      }
    } catch (error) {
      // Completions are optional; if the request fails, the field has none.
      if (error instanceof RpcError && error.code === ErrorCode.MethodNotFound)
        return { values: [], more: false }
      throw error
    }
  }
}

function keyOf({ server, of, argument, value, chosen = {} }: CompletionField): string {
  const chosenEntries = Object.entries(chosen).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([server, of, argument, value, chosenEntries])
}
