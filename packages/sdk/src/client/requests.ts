import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { wait } from '../links/pace.ts'
import { encodeHeaderValue } from '../protocol/headers.ts'
import { type MethodRow, methodRow, methods } from '../protocol/methods.ts'
import type { Answers } from './answers.ts'
import type { Era } from './era.ts'
import type { ClientExtension } from './extension.ts'
import { guarded } from './guard.ts'
import { type Completed, untilComplete } from './rounds.ts'
import { isSafe } from './safe.ts'
import { Scope } from './scope.ts'
import type { ToolBook } from './tools.ts'
import type { CallOptions } from './types.ts'
import type { Answered, Outgoing, Wire } from './wire.ts'

export interface RequestsOptions {
  readonly wire: Wire
  readonly era: Era
  readonly answers: Answers
  readonly tools: ToolBook
  readonly timeoutMs: number
  readonly maxTotalMs: number
  readonly maxRounds: number
  readonly extensions: readonly ClientExtension[]
  /** Lists the tools anew, past the cache. */
  readonly relist: () => Promise<void>
}

const rows: ReadonlyMap<string, MethodRow> = new Map(Object.entries(methods))
const reserved = new Map([
  ['initialize', 'connect sends it'],
  ['subscriptions/listen', 'use watch'],
])

/** Requests as a caller means them: gated, timed, answered when asked back, and sent again where that is safe. */
export class Requests {
  readonly #options: RequestsOptions

  constructor(options: RequestsOptions) {
    this.#options = options
  }

  async perform(method: string, params: JsonObject, options: CallOptions): Promise<Completed> {
    const { era, answers, maxRounds } = this.#options
    this.#mayCall(method)
    const scope = this.#scope(method, params, options)
    const { revision } = era.facts
    const send = (more: JsonObject): Promise<Answered> =>
      this.#sendTool(this.#outgoing(method, params, more, scope, options))
    try {
      scope.signal.throwIfAborted()
      return await untilComplete({
        method,
        params,
        version: revision,
        scope,
        answers,
        maxRounds,
        send,
        extended: (resultType, result, { answer }) =>
          this.#finisher(resultType)?.(result, {
            method,
            params,
            server: era.facts,
            signal: scope.signal,
            request: async (name, more) => (await this.#ofExtension(name, more, scope)).result,
            answer,
            touch: () => scope.touch(),
            wait: (ms) => wait(ms, scope.signal),
          }),
      })
    } catch (error) {
      answers.visits.beginAll(error)
      throw error
    } finally {
      scope.close()
    }
  }

  #scope(method: string, params: JsonObject, options: CallOptions): Scope {
    const { timeoutMs, maxTotalMs } = this.#options
    const subject = params['name'] ?? params['uri']
    return new Scope({
      what: typeof subject === 'string' ? `${method} "${subject}"` : method,
      signal: options.signal,
      idleMs: options.timeoutMs ?? timeoutMs,
      totalMs: options.maxTotalMs ?? maxTotalMs,
    })
  }

  #outgoing(
    method: string,
    params: JsonObject,
    more: JsonObject,
    scope: Scope,
    options: CallOptions,
  ): Outgoing {
    const { wire, era } = this.#options
    const warn = (text: string): void => wire.warn(text)
    const row = rows.get(method)
    const meta: JsonObject = {
      ...(isObject(params['_meta']) ? params['_meta'] : {}),
      ...options.meta,
      ...era.envelope(options),
    }
    const all: JsonObject = { ...params, ...more, _meta: meta }
    if (Object.keys(meta).length === 0) delete all['_meta']
    const headers = row === undefined ? this.#nameHeader(method, params) : undefined
    return {
      method,
      params: all,
      scope,
      ...(headers && { headers }),
      progress: options.onProgress !== undefined || row === undefined || row.asks === true,
      ...(options.onProgress && { onProgress: guarded(options.onProgress, 'onProgress', warn) }),
      ...(options.onLog && { onLog: guarded(options.onLog, 'onLog', warn) }),
    }
  }

  /** Adds a tool's headers; when the server finds them wrong, learns the tool anew and tries once more. */
  async #sendTool(out: Outgoing): Promise<Answered> {
    if (out.method !== 'tools/call') return this.#sendTwice(out)
    const { tools, wire, relist } = this.#options
    const { name, arguments: args } = out.params
    const headers = tools.headers(name, args)
    try {
      return await this.#sendTwice({ ...out, headers })
    } catch (error) {
      const mismatch = error instanceof RpcError && error.code === ErrorCode.HeaderMismatch
      if (!mismatch || !wire.link.hasHeaders) throw error
      await relist()
      return this.#sendTwice({ ...out, headers: tools.headers(name, args) })
    }
  }

  /** Sends again what only reads, when the connection of one request broke but the link still stands. */
  async #sendTwice(out: Outgoing): Promise<Answered> {
    const { wire, era } = this.#options
    try {
      return await era.send(out)
    } catch (error) {
      const broke = error instanceof McpError && error.code === 'CONNECTION_CLOSED'
      if (!broke || !wire.isOpen || out.scope.signal.aborted || !isSafe(out.method, out.params)) throw error
      return era.send(out)
    }
  }

  #finisher(resultType: string): NonNullable<ClientExtension['results']>[string] | undefined {
    for (const { results } of this.#options.extensions) {
      if (results !== undefined && Object.hasOwn(results, resultType)) return results[resultType]
    }
    return undefined
  }

  /** A request an extension makes while a call waits for it. */
  #ofExtension(method: string, params: JsonObject, scope: Scope): Promise<Answered> {
    return this.#sendTwice(this.#outgoing(method, params, {}, scope, {}))
  }

  /** Extensions' methods say by themselves which param their `Mcp-Name` header mirrors. */
  #nameHeader(method: string, params: JsonObject): Readonly<Record<string, string>> | undefined {
    if (!this.#options.wire.link.hasHeaders) return undefined
    for (const { named } of this.#options.extensions) {
      const value =
        named !== undefined && Object.hasOwn(named, method) ? params[named[method] ?? ''] : undefined
      if (typeof value === 'string') return { 'mcp-name': encodeHeaderValue(value) }
    }
    return undefined
  }

  #mayCall(method: string): void {
    const { revision, capabilities } = this.#options.era.facts
    const why = reserved.get(method)
    if (why !== undefined) throw new McpError('INVALID', `${method} is not sent with request: ${why}`)
    const row = rows.get(method)
    if (row === undefined) return
    if (methodRow(method, revision) === undefined) {
      throw new McpError('CAPABILITY', `Revision ${revision}, which this server speaks, has no ${method}`)
    }
    // The capability for completions came a revision later than the method.
    if (row.capability === 'completions' && revision === '2024-11-05') return
    if (row.capability !== undefined && capabilities[row.capability] === undefined) {
      throw new McpError(
        'CAPABILITY',
        `The server offers no ${row.capability}: it did not declare that capability, so ${method} was not sent`,
      )
    }
    if (method.endsWith('subscribe') && capabilities.resources?.subscribe !== true) {
      throw new McpError('CAPABILITY', 'The server does not let resources be subscribed to')
    }
  }
}
