import { invalidParams, McpError } from '../../../jsonrpc/error.ts'
import type {
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  RequestId,
} from '../../../jsonrpc/message.ts'
import { isRequestId, parseJson } from '../../../jsonrpc/parse.ts'
import type { ClientCapabilities, Implementation, LoggingLevel } from '../../../protocol/definitions.ts'
import { isCapabilities, isImplementation, isLoggingLevel } from '../../../protocol/meta.ts'
import { revisionOf } from '../../../protocol/revisions.ts'
import { listOf, number, shape, string } from '../../../protocol/shapes.ts'
import type { Backplane } from '../../../request/backplane.ts'
import { randomText } from '../../../request/encoding.ts'
import type { Takeover } from '../../../server/definitions.ts'
import { report, unref } from '../options.ts'
import { encodeMessage, failure, refusalOf } from '../served-request.ts'
import { eventsAfter, FollowedStream, type OtherNodes } from './followed-stream.ts'
import { type NodeMessage, Nodes, nodeOf } from './nodes.ts'
import type { HttpServerEvent } from './observer.ts'
import { eventOf, eventsKey, eventText } from './resumable-stream.ts'
import type { HttpExchange, HttpServerState } from './server-state.ts'
import { TakenOverCall } from './session-responses.ts'
import {
  type HttpSession,
  interruption,
  isStandalone,
  type SessionSharing,
  type Sessions,
} from './sessions.ts'
import { SharedAnswers } from './shared-answers.ts'
import {
  type CallRecord,
  type CallStore,
  callerOf,
  callKey,
  callRecordOf,
  SharedCall,
  type StreamPart,
  storedCaller,
} from './shared-call.ts'
import { SseInboxes } from './sse-inboxes.ts'

/**
 * A session in the backplane. It is read with every request, so that the end of the session, its principal and its log level
 * apply on all nodes at once.
 */
interface SessionRecord {
  readonly v: 1
  readonly principal: string | null
  readonly version: string
  readonly capabilities: ClientCapabilities
  readonly info: Implementation | undefined
  readonly level: LoggingLevel | undefined
  /** The resources the client subscribed to, and its URL elicitations without a completion. */
  readonly uris: readonly string[]
  readonly elicitations: readonly string[]
  /** When the record was last renewed, in milliseconds since 1970. */
  readonly renewed: number
  /** Until when the client was notified of changes, in milliseconds since 1970 by the clock of this node. */
  readonly notified: { readonly at: number; readonly node: string }
}

interface KnownRecord {
  text: string
  record: SessionRecord
  /** When it was read, on the monotonic clock. */
  readAt: number
}

/** Milliseconds a session that was read before is served while the backplane fails. */
const rememberedMs = 60_000
/** How far the clocks of two nodes may differ: changes this much earlier are repeated to a client that changes nodes. */
const clockSkewMs = 5_000
const maxEdits = 20
/** The methods whose requests change the record of a session. */
const savedMethods = new Set(['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'])

/**
 * The sessions of a server that every node serves. A request runs on the node where it arrives; answers, cancellations and
 * resumed streams of requests on other nodes are passed on through the backplane.
 */
export class SharedSessions {
  readonly nodes: Nodes
  readonly #state: HttpServerState
  readonly #sessions: Sessions
  readonly #backplane: Backplane
  readonly #known = new WeakMap<HttpSession, KnownRecord>()
  readonly #followed = new Map<string, FollowedStream>()
  readonly #answers: SharedAnswers
  /** The sessions of HTTP+SSE. */
  readonly inboxes: SseInboxes
  #renewing: ReturnType<typeof setInterval> | undefined

  constructor(state: HttpServerState, sessions: Sessions) {
    this.#state = state
    this.#sessions = sessions
    this.#backplane = state.backplane
    this.nodes = new Nodes(state.backplane, state.server.info.name, {
      receive: (message) => this.#receive(message),
      missed: () => this.#missed(),
      report: (error) => this.#report(error),
    })
    this.#answers = new SharedAnswers(state, sessions, this.nodes, (error) => this.#report(error))
    this.inboxes = new SseInboxes(state, this.nodes, (error) => this.#report(error))
  }

  /** Handles a response to a request of this node or another. The first one counts. Rejects if the backplane fails. */
  response(session: HttpSession, message: JsonRpcResponse): Promise<void> {
    return this.#answers.receive(session, message)
  }

  /**
   * Receives messages for a session of HTTP+SSE whose stream is on this node, also from other nodes, until its inbox is closed.
   * Rejects if the backplane fails.
   */
  async openInbox(...given: Parameters<SseInboxes['open']>): Promise<void> {
    await this.nodes.open()
    await this.inboxes.open(...given)
    this.#renewLater()
  }

  /** Whether other nodes may have events of a stream. */
  async isElsewhere(session: HttpSession, stream: string): Promise<boolean> {
    if (nodeOf(stream) !== this.nodes.id) return true
    if (isStandalone(stream)) return false
    await session.verifyCalls()
    if (session.stream(stream) !== undefined) return false
    const [first, ...later] = (await this.#callRecord(session, stream))?.parts ?? []
    return later.length > 0 || first?.isReleased === true
  }

  /** The shared operations of a new session, or of one that began on another node. */
  sharing(id: string = randomText(24)): SessionSharing {
    const node = this.nodes.id
    const open = new Set<RequestId>()
    const store = this.#callStore(id)
    return {
      id,
      node,
      questions: {
        next: () => {
          const question = `${node}-${randomText(9)}`
          open.add(question)
          return question
        },
        reuse: (question) => {
          this.#answers.expectAgain(question, id).catch(this.#report)
        },
        stopExpecting: (questions) => this.#answers.stopExpecting(questions),
        release: (question) => {
          open.delete(question)
          this.#answers.end(id, question)
        },
      },
      call: (ids, start) => {
        const takeover = start === undefined ? 'never' : this.#takeoverOf(start.request)
        if (start === undefined || takeover === 'never') return SharedCall.first(store, node, ids)
        const { request, caller } = start
        return SharedCall.first(store, node, ids, { request, caller: storedCaller(caller), takeover })
      },
      ask: async (message) => {
        // The question may have been withdrawn before it was sent, or sent by an earlier run.
        if (!open.has(message.id)) return
        await this.#answers.ask(id, message.id)
        const elicitation = message.params?.['elicitationId']
        if (typeof elicitation === 'string') await this.#expectCompletion(id, elicitation)
      },
      notified: () =>
        this.#edit(id, (record) => ({ ...record, renewed: Date.now(), notified: this.#now() })).catch(
          this.#report,
        ),
    }
  }

  /** Stores a session that began here. */
  async begin(session: HttpSession): Promise<void> {
    await this.nodes.open()
    const { peer } = session.session
    if (peer === undefined) return
    const record: SessionRecord = {
      v: 1,
      principal: session.principal,
      version: peer.revision.version,
      capabilities: peer.capabilities,
      info: peer.info,
      level: peer.logLevel,
      uris: [],
      elicitations: [],
      renewed: Date.now(),
      notified: this.#now(),
    }
    const text = JSON.stringify(record)
    await this.#backplane.set(this.#sessionKey(session.id), text, this.#state.bounds.sessionIdleMs)
    this.#known.set(session, { text, record, readAt: performance.now() })
    this.#renewLater()
  }

  /** A session by its id, for its own principal only. Rejects if the backplane fails. */
  async find(id: string, { caller, memory }: HttpExchange): Promise<HttpSession | undefined> {
    let text: string | undefined
    try {
      await this.nodes.open()
      text = await this.#backplane.get(this.#sessionKey(id))
    } catch (error) {
      const here = this.#sessions.find(id, caller.principal)
      const readAt = here && this.#known.get(here)?.readAt
      if (readAt === undefined || readAt < performance.now() - rememberedMs) throw error
      return here
    }
    if (text === undefined) {
      const here = this.#sessions.find(id, caller.principal)
      if (here !== undefined) this.#sessions.end(here, 'The session was ended, or was idle for too long')
      return undefined
    }
    const here = this.#sessions.find(id, caller.principal)
    const known = here && this.#known.get(here)
    const record = known?.text === text ? known.record : recordOf(text)
    if (record.principal !== caller.principal) return undefined
    const session = here ?? this.#sessions.adopt(caller, memory, this.sharing(id))
    this.#apply(session, text, record)
    this.#renewLater()
    const { sessionIdleMs } = this.#state.bounds
    if (Date.now() - record.renewed > sessionIdleMs / 4) {
      this.#edit(id, (current) => ({ ...current, renewed: Date.now() })).catch(this.#report)
    }
    return session
  }

  /** Whether requests of a method change the state of their session. */
  isSaved(method: string): boolean {
    return savedMethods.has(method)
  }

  /** Stores the changes that a served request made to the state of its session. */
  async save(session: HttpSession, { method, params }: JsonRpcRequest): Promise<void> {
    const uri = params?.['uri']
    if (method === 'logging/setLevel') {
      await this.#edit(session.id, (record) => ({ ...record, level: session.session.peer?.logLevel }))
    } else if (method === 'resources/subscribe' && typeof uri === 'string') {
      const { subscribedUris } = this.#state.bounds
      await this.#edit(session.id, (record) => {
        if (record.uris.includes(uri)) return undefined
        if (record.uris.length < subscribedUris) return { ...record, uris: [...record.uris, uri] }
        throw invalidParams(`at most ${subscribedUris} resources can be subscribed to at once`)
      })
    } else if (method === 'resources/unsubscribe') {
      await this.#edit(session.id, (record) => ({
        ...record,
        uris: record.uris.filter((one) => one !== uri),
      }))
    } else return
    this.nodes.send({ type: 'changed', session: session.id })
  }

  /** Handles a notification, also for requests on other nodes. */
  notification(session: HttpSession, message: JsonRpcNotification): void {
    session.session.notification(message)
    const requestId = message.params?.['requestId']
    if (message.method !== 'notifications/cancelled' || !isRequestId(requestId)) return
    this.nodes.send({ type: 'cancelled', session: session.id, requestId })
  }

  /** Notifies the client of changes on the stream that it opened here, also of those since it had one on another node. */
  listen(session: HttpSession): void {
    this.nodes.send({ type: 'listening', session: session.id, node: this.nodes.id })
    const known = this.#known.get(session)
    if (known === undefined) return
    const { uris, notified } = known.record
    const since = notified.node === this.nodes.id ? notified.at : notified.at - clockSkewMs
    const before = session.session.watchingSince ?? Number.POSITIVE_INFINITY
    const missed = this.#state.changesSince(since).flatMap(({ change, at }) => (at < before ? [change] : []))
    const subscribed = session.session.subscribeOnly(uris)
    subscribed.then(() => session.session.notifyOfChanges(missed)).catch(this.#report)
  }

  /** Ends a session on all nodes. */
  async end(session: HttpSession, reason: string): Promise<void> {
    this.#sessions.end(session, reason)
    await this.#backplane.delete(this.#sessionKey(session.id))
    this.nodes.send({ type: 'ended', session: session.id })
  }

  async close(): Promise<void> {
    this.#answers.close()
    clearInterval(this.#renewing)
    await this.nodes.close().catch(this.#report)
  }

  /**
   * Sends the events of a stream of another node after one that the client received, and later ones as they are stored there.
   * @returns whether that event is known
   */
  async resume(
    session: HttpSession,
    { reply, caller, memory }: HttpExchange,
    { stream, part, position }: { stream: string; part: number; position: string },
  ): Promise<boolean> {
    const node = nodeOf(stream)
    if (node === undefined) return false
    const parts = (await this.#callRecord(session, stream))?.parts ?? [{ node }]
    // Announced before the first read, so that every event stored after it is announced.
    this.#follow(session, stream, parts.at(-1)?.node ?? node)
    const at = parts[part]
    const entries = at && (await this.#backplane.read(eventsKey(session.id, at.node), position))
    const [first] = entries ?? []
    const isKnown =
      first !== undefined &&
      eventOf(stream, first) !== undefined &&
      (await this.#hasBeginnings(session, parts.slice(part + 1)))
    if (isStandalone(stream)) {
      session.listener = caller
      const connection = session.connect(reply, session.standalone)
      connection.sendKeepAlive()
      for (const event of eventsAfter(stream, isKnown ? (entries ?? []) : [])) {
        connection.send(eventText(stream, event.position, event.data), false)
      }
      session.standalone.attach(connection)
      this.listen(session)
      return true
    }
    this.#event({ type: 'takeover', outcome: isKnown ? 'followed' : 'lost' })
    if (!isKnown || entries === undefined) return false
    this.#followed.get(stream)?.end()
    const followed = new FollowedStream(session, stream, memory, {
      backplane: this.#backplane,
      observer: this.#state.observer,
      after: (part, until) => this.#after(session, stream, part, until),
      report: this.#report,
    })
    this.#followed.set(stream, followed)
    followed.open(session.connect(reply, followed)).then(() => {
      if (this.#followed.get(stream) === followed) this.#followed.delete(stream)
    })
    followed.run(entries, parts, part).catch(this.#report)
    return true
  }

  /**
   * Whether the logs still have the beginnings of parts of a stream. A client resumes from the last event that it received, so it
   * would resume a stream whose later part is lost again and again.
   */
  async #hasBeginnings(session: HttpSession, parts: readonly StreamPart[]): Promise<boolean> {
    for (const { node, from = '' } of parts) {
      if ((await this.#backplane.read(eventsKey(session.id, node), from)) === undefined) return false
    }
    return true
  }

  /** Requests that the node of a stream's last part announces what it stores. */
  #follow(session: HttpSession, stream: string, node: string): void {
    if (node !== this.nodes.id) {
      this.nodes.send({ type: 'follow', session: session.id, stream, node: this.nodes.id }, node)
      return
    }
    session.stream(stream)?.follow({
      node,
      stored: (position) => this.#followed.get(stream)?.wake({ node, position }),
      replaced: () => this.#followed.get(stream)?.end(),
    })
  }

  /** The continuation of a stream after a part; takes its call over if its node stopped, or released the call. */
  async #after(
    session: HttpSession,
    stream: string,
    part: StreamPart,
    until: string,
  ): ReturnType<OtherNodes['after']> {
    const { id } = this.nodes
    const isGone =
      part.node === id ? session.stream(stream) === undefined : await this.nodes.isGone(part.node)
    const begin = (): Promise<string> | undefined =>
      this.#state.readiness === 'draining' ? undefined : session.log.append(stream, '', false)
    const taken = await SharedCall.takeOver(
      this.#callStore(session.id),
      stream,
      part,
      until,
      id,
      isGone,
      begin,
    )
    if (taken === 'running' || taken === 'stopping') return taken
    if (taken === 'interrupted') {
      const record = await this.#callRecord(session, stream)
      return { interrupted: record === undefined ? undefined : interruption(record.ids) }
    }
    if (!(taken instanceof SharedCall)) {
      this.#follow(session, stream, taken.node)
      return taken
    }
    this.#event({ type: 'takeover', outcome: 'taken' })
    this.nodes.substitute(part.node)
    this.#runTakenOver(session, stream, taken).catch(this.#report)
    return taken.part
  }

  /** Runs the handler of a call again, and stores the events of its stream on this node. */
  async #runTakenOver(session: HttpSession, stream: string, call: SharedCall): Promise<void> {
    const caller = callerOf(call.call?.caller)
    if (call.call === undefined || caller === undefined) throw unreadable()
    const { request } = call.call
    const post = new TakenOverCall(session, call, session.continueStream(stream))
    this.#follow(session, stream, this.nodes.id)
    const { server } = this.#state
    try {
      const response = await session.session.request(request, post, caller)
      if (response !== undefined && 'result' in response) await this.save(session, request)
      post.answer(response === undefined ? undefined : encodeMessage(response, server))
    } catch (error) {
      post.answer(JSON.stringify(failure(request.id, refusalOf(error, request.method, server))))
    }
  }

  async #callRecord({ id }: HttpSession, stream: string): Promise<CallRecord | undefined> {
    return callRecordOf(await this.#backplane.get(callKey(id, stream)))
  }

  #callStore(session: string): CallStore {
    const { storedEventsMs, messageBytes } = this.#state.bounds
    return {
      backplane: this.#backplane,
      sealer: this.#state.sealer,
      session,
      ttlMs: storedEventsMs,
      maxChars: messageBytes,
      report: this.#report,
    }
  }

  /** When another node may run a request again: calls of tools only. */
  #takeoverOf({ method, params }: JsonRpcRequest): Takeover {
    const name = params?.['name']
    return method === 'tools/call' && typeof name === 'string' ? this.#state.server.takeover(name) : 'never'
  }

  #receive(message: NodeMessage): void {
    const session = this.#sessions.get(message.session)
    switch (message.type) {
      case 'follow': {
        const { stream, node } = message
        this.#followed.get(stream)?.end()
        session?.stream(stream)?.follow({
          node,
          stored: (position) =>
            this.nodes.send({ ...message, type: 'stored', node: this.nodes.id, position }, node),
          replaced: () => this.nodes.send(message, node),
        })
        return
      }
      case 'stored':
        this.#followed.get(message.stream)?.wake(message)
        return
      case 'answered':
        this.#answers.deliver(message.session, message.id, message.response)
        return
      case 'cancelled':
        session?.session.notification({
          jsonrpc: '2.0',
          method: 'notifications/cancelled',
          params: { requestId: message.requestId },
        })
        return
      case 'listening':
        session?.standalone.detach()
        return
      case 'posted':
        this.inboxes.read(message.session)
        return
      case 'changed':
        if (session?.standalone.connected === true) this.#reload(session).catch(this.#report)
        return
      case 'ended':
        if (session !== undefined) this.#sessions.end(session, 'The session was ended')
    }
  }

  /** Reads from the store what lost messages would have announced. */
  #missed(): void {
    this.#answers.storeAgain().catch(this.#report)
    this.#answers.readAll()
    for (const session of this.#sessions.values()) {
      session.verifyCalls().catch(this.#report)
      session.verifyLog()
    }
    for (const followed of this.#followed.values()) followed.wake()
    this.inboxes.readAll()
    for (const session of this.#sessions.values()) {
      if (session.standalone.connected) this.#reload(session).catch(this.#report)
    }
  }

  /** Reads the record of a session whose changes are sent to the client here. */
  async #reload(session: HttpSession): Promise<void> {
    const text = await this.#backplane.get(this.#sessionKey(session.id))
    if (text === undefined) {
      this.#sessions.end(session, 'The session was ended, or was idle for too long')
      return
    }
    const record = recordOf(text)
    this.#apply(session, text, record)
    await session.session.subscribeOnly(record.uris)
  }

  #apply(session: HttpSession, text: string, record: SessionRecord): void {
    const known = this.#known.get(session)
    if (known?.text === text) {
      known.readAt = performance.now()
      return
    }
    const { version, capabilities, info, level } = record
    const revision = revisionOf(version)
    if (revision === undefined) throw unreadable()
    session.session.restore({ ...session.listener, revision, capabilities, info, logLevel: level })
    for (const id of record.elicitations) {
      if (known?.record.elicitations.includes(id) !== true) session.session.expectCompletion(id)
    }
    this.#known.set(session, { text, record, readAt: performance.now() })
  }

  async #expectCompletion(id: string, elicitation: string): Promise<void> {
    const { subscribedUris } = this.#state.bounds
    await this.#edit(id, (record) => ({
      ...record,
      elicitations: [...record.elicitations, elicitation].slice(-subscribedUris),
    }))
    this.nodes.send({ type: 'changed', session: id })
  }

  /**
   * Changes the record of a session, if the session exists.
   * @param change returns the new record, or undefined for no change
   */
  async #edit(id: string, change: (record: SessionRecord) => SessionRecord | undefined): Promise<void> {
    const key = this.#sessionKey(id)
    for (let tries = 0; tries < maxEdits; tries++) {
      const before = await this.#backplane.get(key)
      const record = before === undefined ? undefined : change(recordOf(before))
      if (before === undefined || record === undefined) return
      const text = JSON.stringify(record)
      if (!(await this.#backplane.swap(key, before, text, this.#state.bounds.sessionIdleMs))) {
        this.#event({ type: 'writeRefused', what: 'record' })
        continue
      }
      const session = this.#sessions.get(id)
      if (session !== undefined) this.#apply(session, text, record)
      return
    }
    throw new McpError(
      'LIMIT',
      `The record of a session was changed by other requests ${maxEdits} times in a row`,
    )
  }

  /** Contains the name of the server, because servers that share a backplane do not share sessions. */
  #sessionKey(session: string): string {
    return `session:${this.#state.server.info.name}:${session}`
  }

  #now(): SessionRecord['notified'] {
    return { at: Date.now(), node: this.nodes.id }
  }

  /** Renews the records of sessions that are in use without requests: with an open stream, or a request that runs. */
  #renewLater(): void {
    const everyMs = Math.min(60_000, this.#state.bounds.sessionIdleMs / 4)
    this.#renewing ??= unref(
      setInterval(() => {
        this.inboxes.renew()
        for (const session of this.#sessions.values()) {
          if (!session.isBusy) continue
          const isNotified = session.standalone.connected
          const renewed = this.#edit(session.id, (record) => ({
            ...record,
            renewed: Date.now(),
            notified: isNotified ? this.#now() : record.notified,
          }))
          renewed.catch(this.#report)
        }
      }, everyMs),
    )
  }

  #event(event: HttpServerEvent): void {
    this.#state.observer?.event(event)
  }

  readonly #report = (error: unknown): void => report(this.#state.server, error, 'sessions of several nodes')
}

const isRecordShape = shape(
  {
    v: (value) => value === 1,
    principal: (value) => value === null || typeof value === 'string',
    version: string,
    capabilities: isCapabilities,
    uris: listOf(string),
    elicitations: listOf(string),
    renewed: number,
    notified: shape({ at: number, node: string }),
  },
  { info: isImplementation, level: isLoggingLevel },
)

function isRecord(value: unknown): value is SessionRecord {
  return isRecordShape(value, () => {})
}

/** @throws McpError 'PROTOCOL' for a record of a version that this one cannot read */
function recordOf(text: string): SessionRecord {
  const value = parseJson(text)
  if (!isRecord(value)) throw unreadable()
  return value
}

function unreadable(): McpError {
  return new McpError('PROTOCOL', 'The record of a session in the backplane was written by another version')
}
