/**
 * Serves the handlers of an official server as a server value of Jackfield, which then has every revision, transport and limit
 * of Jackfield. Versions 1 and 2 of the official API are layers over it.
 *
 * A handler runs once per request, also on 2026-07-28: while its client answers an input request, the call stays suspended in
 * this process, and the retry of the client continues it. A request to the client needs a request of the client to travel with.
 * Outside of one, it waits for the client's next request.
 */
import {
  defineServer,
  type Exchange,
  type Implementation,
  inputRequired,
  type JsonObject,
  McpError as LocalError,
  type Outcome,
  type Peer,
  type ProtocolVersion,
  protocolVersions,
  type Question,
  type RequestId,
  RpcError,
  type Server,
  type ServerCapabilities,
  type Subscriber,
} from '@jackfield/sdk'
import type { SuspendedCalls } from '@jackfield/sdk/internal'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/core'
import { NotCoveredError } from '../uncovered.ts'
import type { ServedHttpRequest } from './http-context.ts'
import {
  type CallExchange,
  currentCall,
  isObject,
  type Notification,
  runningCall,
  ServedCall,
  type Suspended,
} from './served-call.ts'

/** A request or notification without its envelope. */
export interface WireMessage {
  readonly method: string
  readonly params?: JsonObject | undefined
}

/** Handles one request method. */
export type MethodHandler = (request: WireMessage, call: ServedCall) => unknown

type MethodEntry = NonNullable<ReturnType<Server['method']>>

/** Maximum milliseconds that a request waits for `oninitialized` and notification handlers. */
const maxBackgroundWaitMs = 5_000
/** The default timeout of a request to the client, in milliseconds. */
export const defaultTimeoutMs = 60_000

/** A request to the client that waits for a request of the client with which it can be sent. */
interface WaitingRequest {
  readonly question: Question
  readonly signal: AbortSignal
  resolve(result: unknown): void
  reject(error: unknown): void
}

/** The suspended calls of this process: a retry may reach another server value, as where each request creates one. */
let suspendedCalls: SuspendedCalls<{ readonly id: string } & Suspended> | undefined
const suspendedLimits = { suspended: 256, suspendedPerPrincipal: 256, suspendedMs: 600_000 }

/** The handlers of one official server, and its connection to a client. */
export class Engine {
  readonly handlers: Map<string, MethodHandler> = new Map()
  readonly notificationHandlers: Map<string, (notification: WireMessage) => unknown> = new Map()
  fallback: MethodHandler | undefined
  fallbackNotification: ((notification: WireMessage) => unknown) | undefined
  /** Called when a subscription of 2026-07-28 begins and ends. */
  onListen: ((isOpen: boolean) => void) | undefined
  /** Called once a client is known: at `notifications/initialized`, or at the first request of 2026-07-28. */
  onInitialized: (() => unknown) | undefined
  /** The arguments of a tool that clients mirror into HTTP headers. */
  headerPlan: Server['headerPlan'] = () => undefined
  /** What a transport added to requests in flight, by their id. */
  readonly extras: Map<RequestId, ServedHttpRequest> = new Map()
  readonly info: Implementation
  readonly instructions: string | undefined
  #declared: JsonObject
  #inner: Server | undefined
  #client: Peer | undefined
  #logLevel: string | undefined
  #isInitialized = false
  readonly #calls = new Set<ServedCall>()
  readonly #waiting = new Set<WaitingRequest>()
  readonly #backgroundWork = new Set<Promise<unknown>>()
  /** Called when background work sends a request that waits for the client's next request, which must not wait for that work. */
  readonly #onWaiting = new Set<() => void>()
  readonly #onError: (error: unknown) => void

  constructor(
    info: Implementation,
    options: {
      capabilities?: object | undefined
      instructions?: string | undefined
      onError(error: unknown): void
    },
  ) {
    this.info = info
    this.instructions = options.instructions
    this.#declared = { ...options.capabilities }
    this.#onError = options.onError
  }

  /** The client of the running call, else of the last request. */
  get client(): Peer | undefined {
    return runningCall()?.peer ?? this.#client
  }

  get isServing(): boolean {
    return this.#inner !== undefined
  }

  get capabilities(): JsonObject {
    return this.#declared
  }

  /**
   * Adds capabilities; members of a capability are merged.
   * @throws Error after the server was connected: clients have received the capabilities
   */
  declare(capabilities: object): void {
    if (this.isServing) throw new Error('Cannot register capabilities after connecting to transport')
    for (const [name, value] of Object.entries(capabilities)) {
      const before = this.#declared[name]
      this.#declared[name] = isObject(before) && isObject(value) ? { ...before, ...value } : value
    }
  }

  /** The server value to serve; a new one for each connection. */
  toServer(): Server {
    const { info, instructions } = this
    const { tools, resources, prompts } = this.#declared
    const inner = defineServer({
      name: info.name,
      version: info.version,
      ...(info.title === undefined ? {} : { title: info.title }),
      ...(info.description === undefined ? {} : { serverDescription: info.description }),
      ...(info.websiteUrl === undefined ? {} : { websiteUrl: info.websiteUrl }),
      ...(info.icons === undefined ? {} : { icons: info.icons }),
      ...(instructions === undefined ? {} : { instructions }),
      ...(tools === undefined ? {} : { tools: {} }),
      ...(resources === undefined ? {} : { resources: {} }),
      ...(prompts === undefined ? {} : { prompts: {} }),
      onError: (error) => this.#onError(error),
    })
    this.#inner = inner
    this.#isInitialized = false
    this.#logLevel = undefined
    const { changes } = inner
    return {
      info: inner.info,
      instructions,
      capabilities: capabilitiesOf(this.#declared),
      capabilitiesOn: (version) => this.#capabilitiesOn(version),
      method: (name, version) => this.#method(inner, name, version),
      changes: {
        publish: (change) => changes.publish(change),
        watch: (...watch) => changes.watch(...watch),
        isWatched: (change) => changes.isWatched(change),
        subscribe: (filter, subscriber) => this.#subscribe(filter, subscriber),
      },
      handle: (exchange) => this.#handle(inner, exchange),
      report: inner.report,
      add: inner.add,
      remove: inner.remove,
      resourceUpdated: inner.resourceUpdated,
      elicitationComplete: inner.elicitationComplete,
      isSubscribed: inner.isSubscribed,
      log: inner.log,
      scopes: inner.scopes,
      scopesFor: inner.scopesFor,
      headerPlan: (tool) => this.headerPlan(tool),
      taskSupport: () => undefined,
      takeover: () => 'never',
    }
  }

  /** The connection is closed: requests to the client fail. */
  disconnect(): void {
    this.#inner = undefined
    for (const waiting of this.#waiting) {
      waiting.reject(new LocalError('CONNECTION_CLOSED', 'Connection closed'))
    }
    this.#waiting.clear()
  }

  /** Handles a notification of the client, as the transport received it. */
  receive(notification: WireMessage): void {
    const { method } = notification
    if (method === 'notifications/initialized' || method === 'notifications/cancelled') return
    const handler = this.notificationHandlers.get(method) ?? this.fallbackNotification
    if (handler !== undefined) this.#runInBackground(() => handler(notification))
  }

  /** Whether any notification has a handler. */
  get wantsNotifications(): boolean {
    return this.notificationHandlers.size > 0 || this.fallbackNotification !== undefined
  }

  /**
   * Sends a request to the client: with the request whose handler sends it, else with another one in flight, else with the
   * client's next one.
   */
  async request(
    request: WireMessage,
    {
      signal,
      timeoutMs = defaultTimeoutMs,
    }: { signal?: AbortSignal | undefined; timeoutMs?: number | undefined },
    call: ServedCall | undefined = runningCall(),
  ): Promise<unknown> {
    const question = { method: request.method, params: request.params ?? {} }
    if (!isQuestion(question)) {
      throw new NotCoveredError(
        `the request "${request.method}" to a client in this form`,
        'A server can send elicitation/create, sampling/createMessage and roots/list, with the params of the specification',
      )
    }
    const timeout = AbortSignal.timeout(timeoutMs)
    const combined = signal === undefined ? timeout : AbortSignal.any([signal, timeout])
    const carrier = call?.canAsk === true ? call : [...this.#calls].findLast(({ canAsk }) => canAsk)
    try {
      return await (carrier === undefined
        ? this.#waitForRequest(question, combined)
        : carrier.ask(question, combined))
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason
      if (timeout.aborted) {
        throw new LocalError('TIMEOUT', `The client did not answer ${question.method} within ${timeoutMs} ms`)
      }
      throw error
    }
  }

  /** Queues a request until the client sends one. */
  #waitForRequest(question: Question, signal: AbortSignal): Promise<unknown> {
    if (!this.isServing) throw new LocalError('CONNECTION_CLOSED', 'Not connected')
    return new Promise((resolve, reject) => {
      const waiting: WaitingRequest = { question, signal, resolve, reject }
      this.#waiting.add(waiting)
      for (const resume of this.#onWaiting) resume()
      signal.addEventListener(
        'abort',
        () => {
          if (this.#waiting.delete(waiting)) reject(signal.reason)
        },
        { once: true },
      )
    })
  }

  /**
   * Sends a notification to the client: with a request, or to those that subscribed to the change.
   * @throws NotCoveredError for a notification that servers do not send
   */
  notify(notification: WireMessage, call: ServedCall | undefined = runningCall()): void {
    const known = { method: notification.method, params: notification.params ?? {} }
    if (!isServerNotification(known)) {
      throw new NotCoveredError(
        `the notification "${notification.method}" to a client`,
        'Send one that the specification has for servers; an extension of the protocol is an Extension of @jackfield/sdk',
      )
    }
    const own = call !== undefined && this.#calls.has(call) ? call : undefined
    switch (known.method) {
      case 'notifications/progress': {
        const { progressToken } = known.params
        const reported = own ?? [...this.#calls].find(({ meta }) => meta?.['progressToken'] === progressToken)
        reported?.notify(known)
        break
      }
      case 'notifications/tasks/status':
        own?.notify(known)
        break
      default:
        if (known.method === 'notifications/message' && own !== undefined) own.notify(known)
        else this.#publish(known)
    }
  }

  /** Notifies the clients that subscribed to a change, and sends a log message outside of a request. */
  #publish(notification: Notification): void {
    const inner = this.#inner
    if (inner === undefined) throw new LocalError('CONNECTION_CLOSED', 'Not connected')
    switch (notification.method) {
      case 'notifications/tools/list_changed':
        inner.changes.publish({ type: 'tools' })
        break
      case 'notifications/prompts/list_changed':
        inner.changes.publish({ type: 'prompts' })
        break
      case 'notifications/resources/list_changed':
        inner.changes.publish({ type: 'resources' })
        break
      case 'notifications/resources/updated':
        inner.resourceUpdated(notification.params.uri)
        break
      case 'notifications/elicitation/complete':
        inner.elicitationComplete(notification.params.elicitationId)
        break
      case 'notifications/message': {
        const { level, data, logger } = notification.params
        inner.log(level, data, logger)
      }
    }
  }

  #capabilitiesOn(version: ProtocolVersion): ServerCapabilities {
    const { tasks: _tasks, ...others } = this.#declared
    return capabilitiesOf(version === '2025-11-25' ? this.#declared : others)
  }

  #method(inner: Server, name: string, version: ProtocolVersion): MethodEntry | undefined {
    const entry = inner.method(name, version)
    if (entry !== undefined) return entry
    const isCustom = !protocolVersions.some((one) => inner.method(name, one) !== undefined)
    if (!isCustom || (!this.handlers.has(name) && this.fallback === undefined)) return undefined
    return { from: 'client', since: protocolVersions[0], asks: true }
  }

  /** Calls the server's own handlers of subscriptions, in every revision. */
  async #subscribe(
    filter: Parameters<NonNullable<Server['changes']['subscribe']>>[0],
    subscriber: Subscriber,
  ): Promise<{ acknowledged: typeof filter; release(): void }> {
    this.#setClient(subscriber.peer)
    const uris = filter.resourceSubscriptions ?? []
    for (const uri of uris) await this.#callSubscription('resources/subscribe', uri, subscriber)
    return {
      acknowledged: filter,
      release: () => {
        for (const uri of uris) {
          this.#callSubscription('resources/unsubscribe', uri, subscriber).catch((error) =>
            this.#onError(error),
          )
        }
      },
    }
  }

  /** Serves `subscriptions/listen`, and calls the server's own handlers for the resources that it acknowledges. */
  async #listen(inner: Server, exchange: Exchange): Promise<Outcome> {
    const releases: (() => void)[] = []
    const notify = (notification: Notification): void => {
      exchange.notify(notification)
      if (notification.method !== 'notifications/subscriptions/acknowledged') return
      this.#subscribe(notification.params.notifications, exchange).then(
        ({ release }) => releases.push(release),
        (error) => this.#onError(error),
      )
    }
    this.onListen?.(true)
    try {
      return await inner.handle({ ...exchange, notify })
    } finally {
      this.onListen?.(false)
      for (const release of releases) release()
    }
  }

  async #callSubscription(method: string, uri: string, { peer, session }: Subscriber): Promise<void> {
    const handler = this.handlers.get(method)
    if (handler === undefined) return
    const carrier: CallExchange = {
      id: 0,
      method,
      params: { uri },
      peer,
      signal: session?.ended ?? new AbortController().signal,
      // A subscription is no request that can carry one to the client.
      inputStrategy: {},
      notify: () => {},
      ...(session === undefined ? {} : { session }),
    }
    await this.#run(handler, new ServedCall(carrier))
  }

  async #handle(inner: Server, exchange: Exchange): Promise<Outcome> {
    const { method, params, peer, inputStrategy } = exchange
    if (method === 'subscriptions/listen') return this.#listen(inner, exchange)
    if (method === 'server/discover') {
      this.#setClient(peer)
      const outcome = await inner.handle(exchange)
      if (outcome.type !== 'complete') return outcome
      return {
        ...outcome,
        result: { ...outcome.result, capabilities: this.#capabilitiesOn(peer.revision.version) },
      }
    }
    const handler = this.handlers.get(method) ?? this.fallback
    if (handler === undefined) throw new RpcError(-32601, 'Method not found')
    const asks = this.#method(inner, method, peer.revision.version)?.asks === true
    const isRetry = params['requestState'] !== undefined || params['inputResponses'] !== undefined
    const { elicitation, sampling, roots } = peer.capabilities
    const mayAsk = isRetry || elicitation !== undefined || sampling !== undefined || roots !== undefined
    if (asks && mayAsk && inputStrategy.relay === undefined) return this.#suspendable(handler, exchange)
    return outcomeOf(
      exchange,
      await this.#run(handler, new ServedCall(exchange, undefined, this.extras.get(exchange.id))),
    )
  }

  /** Runs a handler that stays suspended between an `input_required` result and the retry of its client. */
  async #suspendable(handler: MethodHandler, exchange: Exchange): Promise<Outcome> {
    const compose = await import('@jackfield/sdk/internal')
    suspendedCalls ??= new compose.SuspendedCalls(suspendedLimits)
    const { requestState, inputResponses } = exchange.params
    const { inputStrategy, peer } = exchange
    const isRetry = requestState !== undefined || inputResponses !== undefined
    const run = isRetry ? await inputStrategy.resume(exchange) : inputStrategy.begin(exchange)
    let call: Suspended
    if (requestState === undefined) {
      call = new compose.SuspendedCall(peer.principal)
      const served = new ServedCall(exchange, call, this.extras.get(exchange.id))
      call.begin(() => this.#run(handler, served))
    } else {
      const { state } = run.carried
      const found = suspendedCalls.resume(isObject(state) ? state['suspended'] : undefined, peer.principal)
      if (found === undefined) throw lostCallError()
      call = found
      call.answer(run.carried.answers)
    }
    for (;;) {
      const next = await call.next(exchange.signal, exchange)
      if ('result' in next) return outcomeOf(exchange, next.result)
      try {
        suspendedCalls.suspend(call)
        const required = inputRequired({ requests: next.asked, state: { suspended: call.id } })
        const ended = await Promise.race([run.require(required), run.ended])
        if ('type' in ended) return ended
        suspendedCalls.resume(call.id, peer.principal)
        call.answer(ended.answers)
      } catch (error) {
        suspendedCalls.resume(call.id, peer.principal)
        call.cancel(new LocalError('CANCELLED', 'The client could not be asked'))
        throw error
      }
    }
  }

  async #run(handler: MethodHandler, call: ServedCall): Promise<JsonObject> {
    this.#calls.add(call)
    try {
      const result = await currentCall.run(call, async () => {
        this.#setClient(call.peer)
        await this.#prepare(call)
        return handler({ method: call.method, params: call.params }, call)
      })
      if (isObject(result)) return result
      throw new TypeError(`The handler of "${call.method}" returned ${String(result)} instead of an object`)
    } catch (error) {
      throw call.signal.aborted ? error : wireError(error)
    } finally {
      this.#calls.delete(call)
      this.extras.delete(call.id)
      call.end()
    }
  }

  /** Records the client, and calls `onInitialized` and the `logging/setLevel` handler as on a session. */
  #setClient(peer: Peer): void {
    this.#client = peer
    if (!this.#isInitialized) {
      this.#isInitialized = true
      this.#runInBackground(() => this.onInitialized?.())
    }
    const { logLevel } = peer
    const setLevel = this.handlers.get('logging/setLevel')
    if (logLevel === undefined || setLevel === undefined || logLevel === this.#logLevel) return
    // Without a call, such as for a subscription, the handler is called with the next request.
    const call = runningCall()
    if (call === undefined) return
    const isDefault = this.#logLevel === undefined && logLevel === 'info'
    this.#logLevel = logLevel
    if (isDefault) return
    this.#runInBackground(() => setLevel({ method: 'logging/setLevel', params: { level: logLevel } }, call))
  }

  /** Runs `oninitialized` or a notification handler. Requests wait for it, because it may prepare the server for them. */
  #runInBackground(work: () => unknown): void {
    const running = (async () => work())().catch((error) => this.#onError(error))
    this.#backgroundWork.add(running)
    running.then(() => this.#backgroundWork.delete(running))
  }

  /** Before a handler runs: sends the waiting requests to the client with this call, and waits for background work. */
  async #prepare(call: ServedCall): Promise<void> {
    // `oninitialized` runs up to its first request in the same turn.
    await Promise.resolve()
    if (call.canAsk) {
      for (const waiting of this.#waiting) {
        call.ask(waiting.question, waiting.signal).then(waiting.resolve, waiting.reject)
      }
      this.#waiting.clear()
    }
    if (this.#backgroundWork.size === 0 || this.#waiting.size > 0) return
    await new Promise<void>((resolve) => {
      const resume = (): void => {
        clearTimeout(timer)
        this.#onWaiting.delete(resume)
        resolve()
      }
      const timer = setTimeout(resume, maxBackgroundWaitMs)
      this.#onWaiting.add(resume)
      Promise.all(this.#backgroundWork).then(resume)
    })
  }
}

function outcomeOf({ method, peer }: Exchange, result: JsonObject): Outcome {
  // On 2025-11-25 the result of a call that runs as a task is the task.
  const isTask = method === 'tools/call' && isObject(result['task']) && peer.revision.version === '2025-11-25'
  return isTask ? { type: 'extension', resultType: 'task', result } : { type: 'complete', result }
}

function lostCallError(): RpcError {
  return new RpcError(
    -32603,
    'The call that asked is no longer open in this process: it timed out, the process was restarted, or the retry reached ' +
      'another one. It was not run again. It may have had effects: check before you repeat it.',
  )
}

/** The error response for an error of a handler: its code, if it has one, and its message. */
function wireError(error: unknown): RpcError {
  if (error instanceof RpcError) return error
  const { code, message, data }: { code?: unknown; message?: unknown; data?: unknown } = isObject(error)
    ? error
    : {}
  const text = typeof message === 'string' && message !== '' ? message : 'Internal error'
  return new RpcError(typeof code === 'number' && Number.isSafeInteger(code) ? code : -32603, text, data)
}

const questionSchemas = {
  'elicitation/create': ElicitRequestSchema,
  'sampling/createMessage': CreateMessageRequestSchema,
  'roots/list': ListRootsRequestSchema,
}

function isQuestion(request: { method: string; params: object }): request is Question {
  const schema = new Map(Object.entries(questionSchemas)).get(request.method)
  return schema?.safeParse(request).success === true
}

const notifications: ReadonlySet<string> = new Set([
  'notifications/progress',
  'notifications/message',
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
  'notifications/elicitation/complete',
  'notifications/tasks/status',
])

function isServerNotification(notification: {
  method: string
  params: object
}): notification is Notification {
  return notifications.has(notification.method)
}

function capabilitiesOf(declared: JsonObject): ServerCapabilities {
  const capabilities: ServerCapabilities & JsonObject = {}
  for (const [name, value] of Object.entries(declared)) if (isObject(value)) capabilities[name] = { ...value }
  return capabilities
}
