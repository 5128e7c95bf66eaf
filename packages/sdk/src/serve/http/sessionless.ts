import type { Peer } from '../../core/exchange.ts'
import { cannotAsk } from '../../core/live.ts'
import { ErrorCode, RpcError } from '../../jsonrpc/error.ts'
import type { JsonObject, JsonRpcRequest } from '../../jsonrpc/message.ts'
import type { ServerCapabilities } from '../../protocol/capabilities.ts'
import { revisionOf, revisions } from '../../protocol/revisions.ts'
import { type BatchReceiver, serveBatch } from '../batch.ts'
import { Calls } from '../calls.ts'
import { defaultLogLevel, initialize, requireLoggingLevel } from '../initialize.ts'
import { type Answered, Call, failure, refusalOf, requireMethod } from '../message.ts'
import { report } from '../report.ts'
import type { Unusable } from '../session.ts'
import type { Core } from './core.ts'
import { checkVersion, type LegacyTrip, refusalStatus } from './legacy.ts'
import { PostAnswer } from './post-answer.ts'
import { refusesScopes } from './refusal.ts'

/** The revision of a request without `MCP-Protocol-Version`, as the specification says. */
const assumedVersion = '2025-03-26'

const asking = cannotAsk(
  "this server is mounted with sessions: 'none', which lets it ask only clients of revision 2026-07-28. " +
    'Use such a client, or mount the server with sessions',
)

/** Requests that change the state of a session, and what to do without one. */
const needsSession: ReadonlyMap<string, string> = new Map([
  ['resources/subscribe', 'read the resource again, or use a client of revision 2026-07-28'],
  ['resources/unsubscribe', 'there are no subscriptions'],
])

/** Serves the legacy era without sessions: every POST by itself, on any instance. */
export class Sessionless {
  readonly #core: Core

  constructor(core: Core) {
    this.#core = core
  }

  /**
   * Serves one request.
   * @returns a promise of the end of its handler where that is not now
   */
  request(trip: LegacyTrip, message: JsonRpcRequest): Promise<void> | undefined {
    if (!checkVersion(trip, message.id)) return undefined
    if (refusesScopes(this.#core, trip.reply, trip.caller, message)) return undefined
    return new SessionlessPost(this.#core, trip).serve(message)
  }

  /** Serves an array of messages, where the revision has such. */
  batch(trip: LegacyTrip, values: readonly unknown[]): Promise<void> | undefined {
    if (!checkVersion(trip, undefined)) return undefined
    if (refusesScopes(this.#core, trip.reply, trip.caller, values)) return undefined
    return new SessionlessPost(this.#core, trip).serveAll(values)
  }

  /** Accepts a notification or response. Neither can concern another POST, since nothing links them. */
  other(trip: LegacyTrip): void {
    if (checkVersion(trip, undefined)) trip.reply.send(202, '')
  }
}

/** The requests of one POST, and the answer to them. */
class SessionlessPost extends PostAnswer implements BatchReceiver {
  readonly peer: Peer
  readonly #calls: Calls

  constructor(core: Core, { request, reply, caller }: LegacyTrip) {
    super(core, reply, request)
    this.peer = {
      ...caller,
      revision:
        revisionOf(request.header('mcp-protocol-version') ?? assumedVersion) ?? revisions[assumedVersion],
      capabilities: {},
      info: undefined,
      logLevel: defaultLogLevel(core.server),
    }
    this.#calls = new Calls(core.bounds.inFlight, core.callPlaces(caller.principal))
  }

  get principal(): string | null {
    return this.peer.principal
  }

  get method(): string {
    return 'POST'
  }

  serve(message: JsonRpcRequest): Promise<void> | undefined {
    this.#begin()
    const refused = (error: unknown): void => {
      const refusal = this.refusal(error, message.method)
      this.#finish(refusalStatus(refusal), failure(message.id, refusal))
    }
    try {
      const response = this.#serve(message)
      if (response instanceof Promise) {
        this.wait()
        return response.then((later) => this.#finish(200, later), refused)
      }
      this.#finish(200, response)
    } catch (error) {
      refused(error)
    }
    return undefined
  }

  serveAll(values: readonly unknown[]): Promise<void> {
    this.#begin()
    this.wait()
    return serveBatch(this, values, this.core.bounds.batch, (message) => this.#serve(message)).then(
      (responses) => this.#finish(responses.length === 0 ? 202 : 200, responses),
      (error) => {
        const refusal = this.refusal(error, 'batch')
        this.#finish(refusalStatus(refusal), failure(undefined, refusal))
      },
    )
  }

  abort(reason: unknown): void {
    this.#calls.abort(reason)
  }

  protected cancel(reason: unknown): void {
    this.#calls.cancelAll(reason)
  }

  notification(): void {}

  response(): void {}

  unusable({ error }: Unusable): void {
    report(this.core.server, error, 'a message')
  }

  refusal(error: unknown, method: string): RpcError {
    return refusalOf(error, method, this.core.server)
  }

  /** @throws RpcError for a request that is refused before it begins */
  #serve(message: JsonRpcRequest): Answered | Promise<Answered> {
    const { server, bounds } = this.core
    const { id, method, params } = message
    this.#calls.admit(id)
    if (method === 'initialize') {
      return { jsonrpc: '2.0', id, result: initialize(server, this.peer, params, withoutSessions).result }
    }
    if (method === 'ping') return { jsonrpc: '2.0', id, result: {} }
    requireMethod(server, this.peer.revision, method)
    if (method === 'logging/setLevel' && server.capabilities.logging !== undefined) {
      // Clients that see the capability "logging" send it when they connect. No later request knows of it.
      requireLoggingLevel(params?.['level'])
      return { jsonrpc: '2.0', id, result: {} }
    }
    const instead = needsSession.get(method)
    if (instead !== undefined) throw sessionNeeded(method, instead)
    return this.#calls.run(new Call(message, this.peer, asking, this, bounds), server)
  }

  #begin(): void {
    this.core.begin(this, this.reply.sharesTimers)
  }

  #finish(...answer: Parameters<PostAnswer['finish']>): void {
    this.core.end(this)
    this.finish(...answer)
  }
}

/** The capabilities that do without a session: no resource subscriptions and no notifications of changes. */
function withoutSessions(offered: ServerCapabilities): ServerCapabilities {
  const { tools, prompts, resources, ...rest } = offered
  return {
    ...rest,
    ...(tools && { tools: without(tools, 'listChanged') }),
    ...(prompts && { prompts: without(prompts, 'listChanged') }),
    ...(resources && { resources: without(resources, 'listChanged', 'subscribe') }),
  }
}

function without(capability: JsonObject, ...names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(capability).filter(([name]) => !names.includes(name)))
}

function sessionNeeded(method: string, instead: string): RpcError {
  return new RpcError(
    ErrorCode.MethodNotFound,
    `Method not found: ${method} needs a session, and this server is mounted with sessions: 'none': ${instead}`,
  )
}
