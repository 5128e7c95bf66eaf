import { McpError, resultOf } from '../jsonrpc/error.ts'
import type { JsonObject, JsonRpcNotification, JsonRpcRequest, RequestId } from '../jsonrpc/message.ts'
import { RotatingMap, RotatingSet } from '../jsonrpc/rotating-map.ts'
import type { LoggingLevel, SubscriptionFilter } from '../protocol/definitions.ts'
import { isLoggingLevel, MetaKey, metaOf } from '../protocol/meta.ts'
import { type ProtocolVersion, rowOf, type ServerNotifications } from '../protocol/methods.ts'
import type { ClientTransport } from '../transports/client/transport.ts'
import type { CallDeadline } from './call-deadline.ts'
import { isGatewayFailure, isRepeatable, retryAfterOf } from './retry.ts'
import { type TelemetrySpan, withSpan } from './telemetry.ts'
import type {
  AskContext,
  CallOptions,
  ConnectOptions,
  ProgressReport,
  ServerChange,
  ServerFacts,
  Watch,
} from './types.ts'

type LogMessage = ServerNotifications['notifications/message']
export type Cause = NonNullable<AskContext['cause']>

export interface OutgoingRequest {
  readonly method: string
  readonly params: JsonObject
  readonly deadline: CallDeadline
  /** Default: that of the deadline. */
  readonly signal?: AbortSignal
  /** Pauses the deadline while the user logs in. Default: that of `deadline`. */
  readonly pause?: () => () => void
  readonly headers?: Readonly<Record<string, string>>
  /** The request is idempotent, although its method is not read-only. */
  readonly repeatable?: boolean
  /** Requests progress notifications, which restart the idle timeout. */
  readonly progress?: boolean
  readonly onProgress?: CallOptions['onProgress']
  readonly onLog?: CallOptions['onLog']
  readonly relay?: CallOptions['relay']
  /** The span of the call, which this request belongs to. */
  readonly span?: TelemetrySpan
  /** The parent of this request's own span. */
  readonly parent?: TelemetrySpan
  /** Handles notifications of the subscription that this request opens. */
  readonly onNotification?: (message: JsonRpcNotification) => void
}

export interface ReceivedResult {
  readonly id: RequestId
  readonly result: JsonObject
}

/** What a connection reports besides responses. */
interface ClientConnectionEvents {
  request(message: JsonRpcRequest, cause: Cause | undefined): void
  notification(message: JsonRpcNotification): void
  log(message: LogMessage): void
  /** A request has settled; `error` is its failure, if it failed. */
  requestEnded(id: RequestId, error?: unknown): void
}

type InFlightRequest = OutgoingRequest & { lastProgress: number }

/** Matches requests on one transport with their responses, progress and logs, and passes on everything else. */
export class ClientConnection {
  readonly transport: ClientTransport
  readonly #options: ConnectOptions
  readonly #requests = new RotatingMap<RequestId, InFlightRequest>()
  readonly #closeListeners = new RotatingSet<() => void>()
  /** Progress listeners by token, for requests that continue after their response, such as tasks. */
  readonly #progressListeners = new RotatingMap<RequestId, (report: ProgressReport) => void>()
  #events: ClientConnectionEvents | undefined
  #sessionEnded = (): void => {}
  #nextId = 1
  #open = true
  /** This side closed the connection before it was lost. */
  #closed = false

  constructor(transport: ClientTransport, options: ConnectOptions) {
    this.transport = transport
    this.#options = options
    transport.closed.then(() => {
      this.#open = false
      for (const listener of this.#closeListeners.values()) listener()
      this.#closeListeners.clear()
    })
  }

  get isOpen(): boolean {
    return this.#open
  }

  close(): Promise<void> {
    this.#closed ||= this.#open
    this.#open = false
    return this.transport.close()
  }

  /** Ids of requests in flight whose handlers may send requests to this client. */
  get requestsThatMayAsk(): RequestId[] {
    return this.#requests.entries().flatMap(([id, { method }]) => (mayAsk(method) ? [id] : []))
  }

  /** Calls the listener when the connection closes, at once if it is closed. Returns a function that removes it. */
  onClosed(listener: () => void): () => void {
    if (!this.#open) listener()
    else this.#closeListeners.add(listener)
    return () => void this.#closeListeners.delete(listener)
  }

  /** Reports progress for a request that has its response, until the returned function is called. */
  trackProgress(id: RequestId, onProgress: (report: ProgressReport) => void): () => void {
    this.#progressListeners.set(id, onProgress)
    return () => void this.#progressListeners.delete(id)
  }

  /** Sets the listener for a session that ended while no request was in flight. */
  onSessionEnded(listener: () => void): void {
    this.#sessionEnded = listener
  }

  async start(events: ClientConnectionEvents): Promise<void> {
    this.#events = events
    await this.transport.start({
      message: (message, cause) => this.#receive(message, cause),
      warning: (text) => this.warn(text),
      sessionEnded: () => this.#sessionEnded(),
      trace: (direction, message) => this.#options.onMessage?.(direction, message),
    })
  }

  warn(text: string): void {
    this.#options.onWarning?.(text)
  }

  /** Starts the span of a request; undefined without telemetry. */
  startSpan(
    method: string,
    params: JsonObject,
    parent: TelemetrySpan | undefined,
    revision?: ProtocolVersion,
  ): TelemetrySpan | undefined {
    const { kind: transport, session } = this.transport
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

  spanOf(id: RequestId | undefined): TelemetrySpan | undefined {
    return id === undefined ? undefined : this.#requests.get(id)?.span
  }

  /** Sends a request and returns its result. Throws an RpcError for an error response. */
  request(outgoing: OutgoingRequest): Promise<ReceivedResult> {
    const span =
      outgoing.span === undefined
        ? this.startSpan(outgoing.method, outgoing.params, outgoing.parent)
        : undefined
    if (span === undefined) return this.#send(outgoing)
    return withSpan(
      span,
      () => this.#send({ ...outgoing, span }),
      ({ result }) => result,
    )
  }

  async #send(outgoing: OutgoingRequest): Promise<ReceivedResult> {
    const id = this.#nextId++
    const given = metaOf(outgoing.params)
    const meta = outgoing.span === undefined ? given : { ...given, ...outgoing.span.meta }
    outgoing.span?.sent(id)
    const all = outgoing.progress === true ? { ...meta, [MetaKey.progressToken]: id } : meta
    const params = Object.keys(all).length === 0 ? outgoing.params : { ...outgoing.params, _meta: all }
    const message: JsonRpcRequest = { jsonrpc: '2.0', id, method: outgoing.method }
    if (Object.keys(params).length > 0) message.params = params
    this.#requests.set(id, { ...outgoing, lastProgress: Number.NEGATIVE_INFINITY })
    const wasOpen = this.#open
    let failed: unknown
    try {
      const { signal = outgoing.deadline.signal, pause = () => outgoing.deadline.pause(), headers } = outgoing
      const response = await this.transport.request(message, { signal, pause, ...(headers && { headers }) })
      return { id, result: resultOf(response) }
    } catch (error) {
      failed = error
      if (this.#mayHaveRun(error, wasOpen) && !isRepeatable(outgoing)) {
        const reason = `${error.message.replace(/\.$/, '')}. ${outgoing.method} may have run: check before calling it again.`
        failed = new McpError('OUTCOME_UNKNOWN', reason, { cause: error, details: error.details })
      }
      // The runtime's error does not name the member that JSON cannot represent.
      if (error instanceof TypeError)
        failed =
          (await import('../request/json-value.ts')).notSentError(outgoing.method, params, error) ?? error
      throw failed
    } finally {
      this.#requests.delete(id)
      this.#events?.requestEnded(id, failed)
    }
  }

  /** Whether the request may have run although no response arrived. */
  #mayHaveRun(error: unknown, wasOpen: boolean): error is McpError {
    // A 503 with Retry-After means that the request was not processed.
    if (isGatewayFailure(error)) return error.details['status'] !== 503 || retryAfterOf(error) === undefined
    const isLost = error instanceof McpError && error.code === 'CONNECTION_CLOSED'
    return isLost && wasOpen && !this.#closed
  }

  /** Pauses the deadline of the request that caused a server request, or of all requests if the cause is unknown. */
  pause(cause: RequestId | undefined): () => void {
    const one = cause === undefined ? undefined : this.#requests.get(cause)
    const resume = (one === undefined ? this.#requests.values() : [one]).map(({ deadline }) =>
      deadline.pause(),
    )
    return () => {
      for (const one of resume) one()
    }
  }

  #receive(message: JsonRpcRequest | JsonRpcNotification, causeId: RequestId | undefined): void {
    const request = causeId === undefined ? undefined : this.#requests.get(causeId)
    if ('id' in message) {
      const cause = request === undefined || causeId === undefined ? undefined : causeOf(causeId, request)
      this.#events?.request(message, cause)
      return
    }
    if (message.method === 'notifications/progress') this.#progress(message.params)
    else if (message.method === 'notifications/message') this.#log(message.params, request)
    else (this.#subscriptionListener(message, request) ?? this.#events?.notification)?.(message)
  }

  #subscriptionListener(
    message: JsonRpcNotification,
    request: InFlightRequest | undefined,
  ): ((message: JsonRpcNotification) => void) | undefined {
    const id = metaOf(message.params)[MetaKey.subscriptionId]
    const stopped = message.method === 'notifications/cancelled' ? message.params?.['requestId'] : undefined
    for (const key of [id, stopped]) {
      const target = typeof key === 'string' || typeof key === 'number' ? this.#requests.get(key) : undefined
      if (target?.onNotification !== undefined) return target.onNotification
    }
    return request?.onNotification
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
    const request = this.#requests.get(progressToken)
    if (request === undefined) {
      this.#progressListeners.get(progressToken)?.(report)
      return
    }
    if (!(progress > request.lastProgress)) return
    request.lastProgress = progress
    request.deadline.touch()
    request.onProgress?.(report)
  }

  #log(params: JsonObject | undefined, request: InFlightRequest | undefined): void {
    const { level, logger, data } = params ?? {}
    if (!isLoggingLevel(level)) return
    const log: LogMessage = typeof logger === 'string' ? { level, logger, data } : { level, data }
    this.#events?.log(log)
    const subscribed = this.#requests.values().filter(({ onLog }) => onLog !== undefined)
    const owner = request ?? (subscribed.length === 1 ? subscribed[0] : undefined)
    owner?.onLog?.(log)
  }
}

/** Whether a request may cause input requests; true for methods of extensions. */
function mayAsk(method: string): boolean {
  const row = rowOf(method)
  return row === undefined || row.asks === true
}

function causeOf(id: RequestId, { method, params, relay }: InFlightRequest): Cause {
  return relay === undefined ? { id, method, params } : { id, method, params, relay }
}

/** The part of a client that differs between sessions (up to 2025-11-25) and stateless revisions (2026-07-28). */
export interface EraClient {
  readonly facts: ServerFacts
  /** The `_meta` members that every request carries. */
  envelope(options: CallOptions): JsonObject
  send(outgoing: OutgoingRequest): Promise<ReceivedResult>
  setLogLevel(level: LoggingLevel | undefined): Promise<void>
  ping(options: CallOptions): Promise<void>
  rootsChanged(): Promise<void>
  watch(filter: SubscriptionFilter, onChange: (change: ServerChange) => void): Promise<Watch>
  /** Notifies the watches of a change that arrived outside any subscription. */
  changed(change: ServerChange): void
}
