import { McpError, RpcError } from '../jsonrpc/error.ts'
import type {
  JsonObject,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  RequestId,
} from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { RotatingMap, RotatingSet } from '../jsonrpc/rotating-map.ts'
import { isLoggingLevel, MetaKey } from '../protocol/meta.ts'
import { type ProtocolVersion, rowOf, type ServerNotifications } from '../protocol/methods.ts'
import type { ClientTransport } from '../transports/client/transport.ts'
import type { CallDeadline } from './call-deadline.ts'
import { isGatewayFailure, isSafe, wishOf } from './retry.ts'
import { followed, type TelemetrySpan } from './telemetry.ts'
import type { AskContext, CallOptions, ConnectOptions, ProgressReport } from './types.ts'

export type LogMessage = ServerNotifications['notifications/message']
export type Cause = NonNullable<AskContext['cause']>

/** One request to send. */
export interface OutgoingRequest {
  readonly method: string
  readonly params: JsonObject
  readonly scope: CallDeadline
  /** Ends this request before its scope does. */
  readonly signal?: AbortSignal
  /** Stops the clocks while a person logs in. Default: those of the scope. */
  readonly pause?: () => () => void
  readonly headers?: Readonly<Record<string, string>>
  /** Whether it may be sent twice, though it does more than read. */
  readonly repeatable?: boolean
  /** Whether progress notices are wanted: they keep a slow call alive. */
  readonly progress?: boolean
  readonly onProgress?: CallOptions['onProgress']
  readonly onLog?: CallOptions['onLog']
  readonly relay?: CallOptions['relay']
  /** The call this request is a message of. */
  readonly span?: TelemetrySpan
  /** The call this request is made for. */
  readonly parent?: TelemetrySpan
  /** Hears of notices on the subscription this request opens. */
  readonly onNotice?: (message: JsonRpcNotification) => void
}

export interface ReceivedResult {
  readonly id: RequestId
  readonly result: JsonObject
}

/** What reaches the client without belonging to a request it can be matched with. */
export interface ClientConnectionEvents {
  request(message: JsonRpcRequest, cause: Cause | undefined): void
  notice(message: JsonRpcNotification): void
  log(message: LogMessage): void
  /** A request is over, however it ended; what it failed with, if it did. */
  over(id: RequestId, error?: unknown): void
}

type InFlightRequest = OutgoingRequest & { lastProgress: number }

/** Requests over one link: their ids, their progress and logs, and what comes in besides. */
export class ClientConnection {
  readonly link: ClientTransport
  readonly #options: ConnectOptions
  readonly #flights = new RotatingMap<RequestId, InFlightRequest>()
  readonly #untilClosed = new RotatingSet<() => void>()
  /** Takes progress under the tokens of requests whose answer continues, such as one with a task. */
  readonly #lasting = new RotatingMap<RequestId, (report: ProgressReport) => void>()
  #events: ClientConnectionEvents | undefined
  #sessionEnded = (): void => {}
  #nextId = 1
  #open = true

  constructor(link: ClientTransport, options: ConnectOptions) {
    this.link = link
    this.#options = options
    link.closed.then(() => {
      this.#open = false
      for (const hear of this.#untilClosed.values()) hear()
      this.#untilClosed.clear()
    })
  }

  /** Whether the connection still stands. */
  get isOpen(): boolean {
    return this.#open
  }

  /** Ends the connection. */
  close(): Promise<void> {
    this.#open = false
    return this.link.close()
  }

  /** The requests under way whose handlers may ask the client. */
  get asking(): RequestId[] {
    return this.#flights.entries().flatMap(([id, { method }]) => (mayAsk(method) ? [id] : []))
  }

  /** Has the end of the connection heard, until the returned function is called. */
  onClosed(hear: () => void): () => void {
    if (!this.#open) hear()
    else this.#untilClosed.add(hear)
    return () => {
      this.#untilClosed.delete(hear)
    }
  }

  /** Keeps taking progress under the token of an answered request, until the returned function is called. */
  keepProgress(id: RequestId, onProgress: (report: ProgressReport) => void): () => void {
    this.#lasting.set(id, onProgress)
    return () => {
      this.#lasting.delete(id)
    }
  }

  /** Has it heard that the session was over, where no request found out. */
  onSessionEnded(hear: () => void): void {
    this.#sessionEnded = hear
  }

  async start(events: ClientConnectionEvents): Promise<void> {
    this.#events = events
    await this.link.start({
      message: (message, cause) => this.#take(message, cause),
      warning: (text) => this.warn(text),
      sessionEnded: () => this.#sessionEnded(),
      trace: (direction, message) => this.#options.onMessage?.(direction, message),
    })
  }

  warn(text: string): void {
    this.#options.onWarning?.(text)
  }

  /** Begins to follow a request; undefined where nobody does. */
  follow(
    method: string,
    params: JsonObject,
    parent: TelemetrySpan | undefined,
    revision?: ProtocolVersion,
  ): TelemetrySpan | undefined {
    const { kind: transport, session } = this.link
    return this.#options.telemetry?.begin({
      by: 'client',
      method,
      params,
      revision,
      transport,
      session,
      parent,
    })
  }

  /** The call that a request is a message of. */
  spanOf(id: RequestId | undefined): TelemetrySpan | undefined {
    return id === undefined ? undefined : this.#flights.get(id)?.span
  }

  /** Sends one request and gives its result. Throws an RpcError for an error response. */
  exchange(out: OutgoingRequest): Promise<ReceivedResult> {
    const span = out.span === undefined ? this.follow(out.method, out.params, out.parent) : undefined
    if (span === undefined) return this.#exchange(out)
    return followed(
      span,
      () => this.#exchange({ ...out, span }),
      ({ result }) => result,
    )
  }

  async #exchange(out: OutgoingRequest): Promise<ReceivedResult> {
    const id = this.#nextId++
    const given = isObject(out.params['_meta']) ? out.params['_meta'] : {}
    const meta = out.span === undefined ? given : { ...given, ...out.span.meta }
    out.span?.sent(id)
    const all = out.progress === true ? { ...meta, [MetaKey.progressToken]: id } : meta
    const params = Object.keys(all).length === 0 ? out.params : { ...out.params, _meta: all }
    const message: JsonRpcRequest = { jsonrpc: '2.0', id, method: out.method }
    if (Object.keys(params).length > 0) message.params = params
    this.#flights.set(id, { ...out, lastProgress: Number.NEGATIVE_INFINITY })
    let failed: unknown
    try {
      const { signal = out.scope.signal, pause = () => out.scope.pause(), headers } = out
      const options = { signal, pause }
      const answer = await this.link.request(
        message,
        headers === undefined ? options : { ...options, headers },
      )
      return { id, result: resultOf(answer) }
    } catch (error) {
      failed = this.#mayHaveRun(error) && !isSafe(out) ? unknownOutcome(out.method, error) : error
      // Of what JSON cannot carry, the runtime does not say where it is.
      if (error instanceof TypeError)
        failed = (await import('../request/json-value.ts')).unsent(out.method, params, error) ?? error
      throw failed
    } finally {
      this.#flights.delete(id)
      this.#events?.over(id, failed)
    }
  }

  /** Whether the answer to a request was lost on its way, though the request may have arrived. */
  #mayHaveRun(error: unknown): error is McpError {
    // Who says when to come again did not take the request.
    if (isGatewayFailure(error)) return error.details['status'] !== 503 || wishOf(error) === undefined
    const lost = error instanceof McpError && error.code === 'CONNECTION_CLOSED'
    return lost && this.#open && this.link.connectsEach === true
  }

  /** Stops the clocks of the request that has a person asked, or of all where nobody knows which one it is. */
  pause(cause: RequestId | undefined): () => void {
    const one = cause === undefined ? undefined : this.#flights.get(cause)
    const resume = (one === undefined ? this.#flights.values() : [one]).map(({ scope }) => scope.pause())
    return () => {
      for (const go of resume) go()
    }
  }

  #take(message: JsonRpcRequest | JsonRpcNotification, causeId: RequestId | undefined): void {
    const flight = causeId === undefined ? undefined : this.#flights.get(causeId)
    if ('id' in message) {
      const cause = flight === undefined || causeId === undefined ? undefined : causeOf(causeId, flight)
      this.#events?.request(message, cause)
      return
    }
    if (message.method === 'notifications/progress') this.#progress(message.params)
    else if (message.method === 'notifications/message') this.#log(message.params, flight)
    else (this.#subscriber(message, flight) ?? this.#events?.notice)?.(message)
  }

  #subscriber(
    message: JsonRpcNotification,
    flight: InFlightRequest | undefined,
  ): ((message: JsonRpcNotification) => void) | undefined {
    const meta = message.params?.['_meta']
    const id = isObject(meta) ? meta[MetaKey.subscriptionId] : undefined
    const stopped = message.method === 'notifications/cancelled' ? message.params?.['requestId'] : undefined
    for (const key of [id, stopped]) {
      const found = typeof key === 'string' || typeof key === 'number' ? this.#flights.get(key) : undefined
      if (found?.onNotice !== undefined) return found.onNotice
    }
    return flight?.onNotice
  }

  #progress(params: JsonObject | undefined): void {
    const { progressToken, progress, total, message } = params ?? {}
    if (typeof progressToken !== 'string' && typeof progressToken !== 'number') return
    if (typeof progress !== 'number') return
    const report: ProgressReport = {
      progress,
      ...(typeof total === 'number' ? { total } : {}),
      ...(typeof message === 'string' ? { message } : {}),
    }
    const flight = this.#flights.get(progressToken)
    if (flight === undefined) {
      this.#lasting.get(progressToken)?.(report)
      return
    }
    if (!(progress > flight.lastProgress)) return
    flight.lastProgress = progress
    flight.scope.touch()
    flight.onProgress?.(report)
  }

  #log(params: JsonObject | undefined, flight: InFlightRequest | undefined): void {
    const { level, logger, data } = params ?? {}
    if (!isLoggingLevel(level)) return
    const log: LogMessage = typeof logger === 'string' ? { level, logger, data } : { level, data }
    this.#events?.log(log)
    const wanting = this.#flights.values().filter(({ onLog }) => onLog !== undefined)
    const owner = flight ?? (wanting.length === 1 ? wanting[0] : undefined)
    owner?.onLog?.(log)
  }
}

function unknownOutcome(method: string, lost: McpError): McpError {
  return new McpError(
    'OUTCOME_UNKNOWN',
    `${lost.message}. Nobody knows whether ${method} ran: look before calling again.`,
    { cause: lost, details: lost.details },
  )
}

/** Of a method that the protocol does not have, nobody knows. */
function mayAsk(method: string): boolean {
  const row = rowOf(method)
  return row === undefined || row.asks === true
}

function causeOf(id: RequestId, { method, params, relay }: InFlightRequest): Cause {
  return relay === undefined ? { id, method, params } : { id, method, params, relay }
}

function resultOf(response: JsonRpcResponse): JsonObject {
  if ('result' in response) return response.result
  const { code, message, data } = response.error
  throw new RpcError(code, message, data)
}
