import { McpError } from '@jackfield/sdk'
import type { Download } from './downloads.ts'
import { faultOf } from './fault.ts'
import type { Channel, ClientFrame, Fault, HostFrame } from './frames.ts'
import { type MethodKind, methodKind } from './method-kinds.ts'
import { type Caller, type Checks, noChecks, runMethod } from './methods.ts'
import type { HostService } from './service.ts'
import type { Position, TopicUpdate } from './topic.ts'

/** Results of calls with effects that are kept for a client that repeats a call, and their characters as JSON. */
const maxStoredResults = 500
const maxStoredCharacters = 33_554_432
/** Buffered bytes above which topic changes are dropped; whole rows follow later. */
const maxBufferedBytes = 4_194_304
/** Buffered bytes below which the rows of such a topic are sent. */
const resumeBelowBytes = 262_144
/** Buffered bytes above which the connection is closed. */
const maxUnsent = 33_554_432
/** Interval in milliseconds of checking whether a slow client has caught up. */
const drainPollMs = 50
/** Milliseconds for which a disconnected client can return. */
const reconnectMs = 15_000
const maxCalls = 1_000

/** The state of a client across its connections. */
interface ClientRecord {
  readonly id: string
  readonly name: string
  readonly results: StoredResponses
  /** Calls with effects in progress: they continue without a connection. */
  readonly running: Set<AbortController>
  readonly closed: AbortController
  peer: Peer | undefined
  forgetTimer: NodeJS.Timeout | undefined
}

/** The frames that answer a client's calls with effects, so that no call runs twice. */
class StoredResponses {
  readonly #frames = new Map<number, { readonly frame: Promise<string>; characters: number }>()
  #characters = 0
  /** The last call whose frame was dropped. */
  #dropped = 0

  get(call: number): Promise<string> | undefined {
    return this.#frames.get(call)?.frame
  }

  /** Whether the call ran, and its frame is not kept any more. */
  isDropped(call: number): boolean {
    return call <= this.#dropped
  }

  add(call: number, frame: Promise<string>): void {
    const result = { frame, characters: 0 }
    this.#frames.set(call, result)
    frame.then(({ length }) => {
      result.characters = length
      this.#characters += length
      for (const [oldest, { characters }] of this.#frames) {
        if (this.#frames.size <= maxStoredResults && this.#characters <= maxStoredCharacters) return
        // It is in progress.
        if (characters === 0) continue
        this.#frames.delete(oldest)
        this.#characters -= characters
        this.#dropped = Math.max(this.#dropped, oldest)
      }
    })
  }
}

/** What the clients of a host may do. */
export interface PeerServerOptions {
  /** They are in this process, so their parameters are not validated. Default false. */
  isTrusted?: boolean
  /** They act for the operator of the machine. Other clients may not use methods that reach beyond the host itself. Default true. */
  isOperator?: boolean
}

/** Serves the methods and topics of a host to any number of clients. */
export async function createPeerServer(
  service: HostService,
  { isTrusted = false, isOperator = true }: PeerServerOptions = {},
): Promise<PeerServer> {
  // Loaded on demand: the schemas take time to load.
  const checks = isTrusted ? noChecks : (await import('./params.ts')).checks
  return new PeerServer(service, checks, isOperator)
}

/** Serves the clients of a host; created by `createPeerServer`. */
export class PeerServer {
  readonly #service: HostService
  readonly #checks: Checks
  readonly #isOperator: boolean
  readonly #clients = new Map<string, ClientRecord>()
  readonly #peers = new Set<Peer>()
  readonly #listeners = new Set<() => void>()

  constructor(service: HostService, checks: Checks, isOperator: boolean) {
    this.#service = service
    this.#checks = checks
    this.#isOperator = isOperator
    service.clients = () => [...this.#clients.values()].map(({ name }) => name)
  }

  /** Clients that are connected or may still return. */
  get count(): number {
    return this.#clients.size
  }

  /** Calls `listener` when a client connected or disconnected for good. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener)
  }

  /** Uses a ticket of `trace.export`; undefined if it does not exist or has expired. */
  download(ticket: string): Download | undefined {
    return this.#service.downloads.use(ticket)
  }

  /** Serves one connection. `name`: the client's name, overriding the one it sends. */
  serve(channel: Channel, name?: string): void {
    const peer: Peer = new Peer(this.#service, this.#checks, channel, {
      isOperator: this.#isOperator,
      hello: (hello) => this.#record(hello.client, name ?? hello.name, peer),
      closed: () => this.#closed(peer),
    })
    this.#peers.add(peer)
  }

  /** Closes every client connection. */
  close(reason: string): void {
    for (const peer of this.#peers) peer.close(reason)
    for (const record of this.#clients.values()) this.#forget(record)
  }

  #record(id: string, name: string, peer: Peer): { record: ClientRecord; isKnown: boolean } {
    const known = this.#clients.get(id)
    if (known !== undefined) {
      clearTimeout(known.forgetTimer)
      known.peer?.close('the client reconnected')
      known.peer = peer
      return { record: known, isKnown: true }
    }
    const record: ClientRecord = {
      id,
      name,
      results: new StoredResponses(),
      running: new Set(),
      closed: new AbortController(),
      peer,
      forgetTimer: undefined,
    }
    this.#clients.set(id, record)
    for (const listener of this.#listeners) listener()
    return { record, isKnown: false }
  }

  #closed(peer: Peer): void {
    this.#peers.delete(peer)
    const { record } = peer
    if (record === undefined || record.peer !== peer) return
    record.peer = undefined
    if (peer.isFinal) this.#forget(record)
    else record.forgetTimer = setTimeout(() => this.#forget(record), reconnectMs)
  }

  #forget(record: ClientRecord): void {
    clearTimeout(record.forgetTimer)
    if (!this.#clients.delete(record.id)) return
    const reason = new McpError('CANCELLED', `${record.name} is gone`)
    record.closed.abort(reason)
    for (const stop of record.running) stop.abort(reason)
    for (const listener of this.#listeners) listener()
  }
}

interface PeerContext {
  readonly isOperator: boolean
  hello(hello: { client: string; name: string; build: string }): { record: ClientRecord; isKnown: boolean }
  closed(): void
}

class Peer {
  record: ClientRecord | undefined
  /** The client sent `bye`: it will not reconnect. */
  isFinal = false
  readonly #service: HostService
  readonly #checks: Checks
  readonly #channel: Channel
  readonly #context: PeerContext
  readonly #topics = new Map<string, () => void>()
  readonly #stale = new Set<string>()
  readonly #calls = new Map<number, { readonly stop: AbortController; readonly isEffect: boolean }>()
  #drainTimer: NodeJS.Timeout | undefined

  constructor(service: HostService, checks: Checks, channel: Channel, context: PeerContext) {
    this.#service = service
    this.#checks = checks
    this.#channel = channel
    this.#context = context
    channel.listen(
      (text) => this.#read(text),
      () => this.#end(),
    )
  }

  close(reason: string): void {
    this.#channel.close(reason)
  }

  #end(): void {
    clearInterval(this.#drainTimer)
    for (const unsubscribe of this.#topics.values()) unsubscribe()
    this.#topics.clear()
    // Calls with effects continue: the client may return for the result.
    for (const { stop, isEffect } of this.#calls.values())
      if (!isEffect) stop.abort(new McpError('CANCELLED', 'The connection was closed'))
    this.#context.closed()
  }

  #read(text: string): void {
    const frame = frameOf(text, this.#checks)
    if (frame === undefined) this.close('a frame could not be read')
    else if ('hello' in frame) this.#hello(frame.hello)
    else if (this.record === undefined) this.close('the first frame must be hello')
    else if ('call' in frame) this.#call(frame, this.record)
    else if ('stop' in frame)
      this.#calls.get(frame.stop)?.stop.abort(new McpError('CANCELLED', 'The client cancelled it'))
    else if ('subscribe' in frame) this.#subscribe(frame.subscribe, frame.have)
    else if ('unsubscribe' in frame) this.#unsubscribe(frame.unsubscribe)
    else this.isFinal = true
  }

  #hello(hello: { client: string; name: string; build: string }): void {
    if (this.record !== undefined) {
      this.close('hello was sent twice')
      return
    }
    const { record, isKnown } = this.#context.hello(hello)
    this.record = record
    const { version, build } = this.#service
    this.#send({ welcome: { host: 'jackfield', version, build, isKnown } })
  }

  #call({ call, method, params }: Extract<ClientFrame, { call: number }>, record: ClientRecord): void {
    const { results, running, name, closed } = record
    const known = results.get(call)
    if (known !== undefined) {
      known.then((frame) => this.#sendText(frame))
      return
    }
    if (this.#calls.has(call)) return
    const kind = methodKind(method)
    const refusal = this.#refusalOf(method, kind, results.isDropped(call))
    if (refusal !== undefined) {
      this.#send({ call, fault: refusal })
      return
    }
    const stop = new AbortController()
    const isEffect = kind?.hasEffect === true
    this.#calls.set(call, { stop, isEffect })
    const frame = this.#frameOf(call, method, params, { name, signal: stop.signal, closed: closed.signal })
    if (isEffect) {
      // Calls with effects continue without the connection; only the client itself stops them.
      running.add(stop)
      results.add(call, frame)
    }
    frame.then((text) => {
      running.delete(stop)
      if (this.#calls.delete(call)) this.#sendText(text)
    })
  }

  #refusalOf(method: string, kind: MethodKind | undefined, isDropped: boolean): Fault | undefined {
    if (isDropped) {
      const message = `The result of ${method} is no longer stored. What it did is not undone.`
      return { code: 'OUTCOME_UNKNOWN', message }
    }
    if (this.#calls.size >= maxCalls)
      return { code: 'LIMIT', message: `${maxCalls} calls are in progress already.` }
    if (kind?.isForOperator !== true || this.#context.isOperator) return undefined
    return { code: 'REFUSED', message: `Only the operator of this host can do this (${method}).` }
  }

  async #frameOf(call: number, method: string, params: unknown, caller: Caller): Promise<string> {
    try {
      const result = await runMethod(method, params, this.#checks, this.#service, caller)
      return JSON.stringify({ call, result: result ?? null } satisfies HostFrame)
    } catch (error) {
      return JSON.stringify({ call, fault: faultOf(error) } satisfies HostFrame)
    }
  }

  #subscribe(name: string, have: Position | undefined): void {
    this.#unsubscribe(name)
    try {
      const topic = this.#service.topic(name)
      this.#topics.set(
        name,
        topic.subscribe((update) => this.#update(name, update), have),
      )
    } catch (error) {
      this.#send({ topic: name, fault: faultOf(error) })
    }
  }

  #unsubscribe(name: string): void {
    this.#topics.get(name)?.()
    this.#topics.delete(name)
    this.#stale.delete(name)
  }

  #update(name: string, update: TopicUpdate): void {
    if (this.#stale.has(name)) return
    if (this.#channel.unsent <= maxBufferedBytes) {
      this.#send({ topic: name, ...update })
      return
    }
    this.#stale.add(name)
    this.#drainTimer ??= setInterval(() => this.#sendStaleTopics(), drainPollMs)
  }

  /** Sends whole rows of the topics with dropped changes, once the client has caught up. */
  #sendStaleTopics(): void {
    if (this.#channel.unsent > resumeBelowBytes) return
    clearInterval(this.#drainTimer)
    this.#drainTimer = undefined
    for (const name of [...this.#stale]) this.#subscribe(name, undefined)
  }

  #send(frame: HostFrame): void {
    this.#sendText(JSON.stringify(frame))
  }

  #sendText(frame: string): void {
    if (this.#channel.unsent > maxUnsent) this.close('too much data is unsent')
    else this.#channel.send(frame)
  }
}

/** A client's frame; undefined if invalid. */
function frameOf(text: string, checks: Checks): ClientFrame | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return checks.isFrame(value) ? value : undefined
  } catch {
    return undefined
  }
}
