import type { JsonRpcRequest, RequestId } from '../../../jsonrpc/message.ts'
import { classify, isObject, isRequestId, parseJson } from '../../../jsonrpc/parse.ts'
import { boolean, listOf, object, oneOf, type Shape, shape, string } from '../../../protocol/shapes.ts'
import type { Backplane } from '../../../request/backplane.ts'
import { canonical, digest } from '../../../request/encoding.ts'
import type { Caller } from '../../../request/exchange.ts'
import { occurrence } from '../../../request/live-run.ts'
import type { Sealer } from '../../../request/state.ts'
import { unref } from '../options.ts'
import type { EarlierQuestion, RememberedQuestion, RunMemory } from '../session-requester.ts'
import { nodeOf } from './nodes.ts'
import { eventsKey } from './resumable-stream.ts'

/** The events of a stream that one node stored: in the log of that node, between two positions. */
export interface StreamPart {
  readonly node: string
  /** The position before its first event; absent for the node that opened the stream. */
  readonly from?: string
  /** The position of its last event, where another node continued the stream. What the node stored later does not count. */
  readonly until?: string
  /** The node released the call, so that another one may run it at once. */
  readonly isReleased?: boolean
}

/** A question of a call, by its identity: its id and, once the handler has it, its response. */
interface StoredQuestion {
  readonly id: string
  /** The position of the event before it in the log of its node; absent if there was none. */
  readonly after?: string
  /** The node with that log, if another one than the id names sent the question again. */
  readonly node?: string
  readonly response?: unknown
}

/** A caller as JSON. */
export type StoredCaller = Omit<Caller, 'scopes'> & { readonly scopes: 'any' | readonly string[] }

/** The data with which another node can run the handler of a call again. */
interface StoredCall {
  readonly request: JsonRpcRequest
  readonly caller: StoredCaller
  readonly takeover: 'waiting' | 'always'
  /** The prefix of the idempotency keys of its steps. */
  readonly flow: string
  readonly questions: Record<string, StoredQuestion>
  /** The results of finished steps, by name with a number. */
  readonly steps: Record<string, { readonly value?: unknown }>
}

/** The record in the backplane of the requests that one stream responds to, while they run. */
export interface CallRecord {
  readonly v: 1
  readonly ids: readonly RequestId[]
  readonly parts: readonly StreamPart[]
  /**
   * The call, encrypted with the keys of the server, so that write access to the backplane does not suffice to forge a call.
   * Absent for a batch, and for a call whose handler must not run again.
   */
  readonly call?: string
}

/** Maximum number of nodes that stopped without releasing a call, so that one that crashes its node does not crash all others. */
const maxTakeovers = 2
/** Maximum number of parts of a stream: one digit of an event id counts them. */
const maxParts = 10
/** Milliseconds that an ended record is kept, so that another node does not run the call. */
const endedMs = 1_000
const ended = 'ended'
/** Milliseconds until a record that could not be stored is stored again. */
const retryMs = 500
/** Maximum milliseconds that a handler waits for its response to be stored while the store fails. */
const maxWaitMs = 10_000

/** The key of the record of a stream's requests. */
export function callKey(session: string, stream: string): string {
  return `requests:${session}:${stream}`
}

export const unanswered = '?'
export const answered = '!'

/** The key of a question: it has `unanswered`, or its response after `answered`, until the handler has the response. */
export function questionKey(session: string, question: RequestId): string {
  return `question:${session}:${question}`
}

export interface CallStore {
  readonly backplane: Backplane
  readonly sealer: Sealer
  readonly session: string
  readonly ttlMs: number
  /** Characters of a larger record are not stored: the call is then not run again. */
  readonly maxChars: number
  report(error: unknown): void
}

/**
 * One call of a session that every node serves, with what its handler was answered and which steps it finished: stored once the
 * call has an event stream, so that another node can run the handler again when this one stops.
 */
export class SharedCall implements RunMemory {
  readonly #store: CallStore
  /** The stored call for a later run; undefined if there must be none. */
  readonly call: StoredCall | undefined
  #record: Pick<CallRecord, 'v' | 'ids' | 'parts'>
  #sealed: { readonly plain: string; readonly text: string } | undefined
  #key: string | undefined
  /** The record as the backplane has it. */
  #stored: string | undefined
  #writing: Promise<void> = Promise.resolve()
  #retry: ReturnType<typeof setTimeout> | undefined
  #isOver = false
  readonly #occurrences = new Map<string, number>()
  /** The identities of questions that are not stored yet, by their ids. */
  readonly #asking = new Map<RequestId, Promise<string>>()
  /** Ids of questions whose responses the handler waits for. */
  readonly #waitingFor = new Set<RequestId>()
  /** The steps and questions of the earlier run that this one has not repeated yet; undefined for a first run. */
  readonly #unread: Set<string> | undefined
  /** Called when another node runs the call. */
  onTakenOver: () => void = () => {}

  private constructor(
    store: CallStore,
    { ids, parts }: Pick<CallRecord, 'ids' | 'parts'>,
    call: StoredCall | undefined,
    earlier?: { key: string; stored: string },
  ) {
    this.#store = store
    this.#record = { v: 1, ids, parts }
    this.call = call
    this.#key = earlier?.key
    this.#stored = earlier?.stored
    if (earlier === undefined || call === undefined) return
    const { questions, steps } = call
    this.#unread = new Set([...Object.keys(questions), ...Object.keys(steps).map((place) => `step ${place}`)])
  }

  /** The first run of requests; `start` where there is only one and its handler may run again. */
  static first(
    store: CallStore,
    node: string,
    ids: readonly RequestId[],
    start?: Pick<StoredCall, 'request' | 'caller' | 'takeover'>,
  ): SharedCall {
    const call =
      start === undefined ? undefined : { ...start, flow: crypto.randomUUID(), questions: {}, steps: {} }
    return new SharedCall(store, { ids, parts: [{ node }] }, call)
  }

  /**
   * Takes a call over whose node stopped.
   * @param part the part of the stream that ends at `until`
   * @param begin stores the beginning of this node's part, and returns its position; undefined while this node stops
   * @returns the call, or the part of the node that runs it already, or 'running' where `part` is not over, or 'interrupted'
   * where no node may run it again, or 'stopping' where another node has to
   */
  static async takeOver(
    store: CallStore,
    stream: string,
    part: StreamPart,
    until: string,
    node: string,
    isGone: boolean,
    begin: () => Promise<string> | undefined,
  ): Promise<SharedCall | StreamPart | 'running' | 'interrupted' | 'stopping'> {
    const key = callKey(store.session, stream)
    let from: string | undefined
    while (true) {
      const before = await store.backplane.get(key)
      const record = callRecordOf(before)
      const last = record?.parts.at(-1)
      if (before === undefined || record === undefined || last === undefined)
        return isGone ? 'interrupted' : 'running'
      if (last.node !== part.node || last.from !== part.from) return last
      if (!isGone && last.isReleased !== true) return 'running'
      const call = await openedCall(store, key, record)
      if (call === undefined || !(await mayRunAgain(store, call, record.parts))) return 'interrupted'
      from ??= await begin()
      if (from === undefined) return 'stopping'
      const parts = [...record.parts.slice(0, -1), { ...last, until }, { node, from }]
      const taken = { ...record, parts }
      const stored = JSON.stringify(taken)
      if (await store.backplane.swap(key, before, stored, store.ttlMs))
        return new SharedCall(store, taken, call, { key, stored })
    }
  }

  /** The part of the stream that this run stores. */
  get part(): StreamPart {
    return this.#record.parts.at(-1) ?? { node: '' }
  }

  get ids(): readonly RequestId[] {
    return this.#record.ids
  }

  /** The questions whose responses the handler waits for. */
  get waitingFor(): RequestId[] {
    return [...this.#waitingFor]
  }

  get flow(): string {
    return this.call?.flow ?? ''
  }

  get isReplaying(): boolean {
    return this.#unread !== undefined && this.#unread.size > 0
  }

  /** Stores the record, before the first event of the stream. */
  async begin(stream: string): Promise<void> {
    this.#key = callKey(this.#store.session, stream)
    await this.#update()
  }

  /** Deletes the record, because the requests have their responses. */
  async end(): Promise<void> {
    await this.#writing
    const [key, stored] = [this.#key, this.#stored]
    if (this.#isOver || key === undefined || stored === undefined) return
    this.#isOver = true
    const { backplane, ttlMs } = this.#store
    if (this.#record.parts.length === 1) await backplane.swap(key, stored, ended, endedMs)
    else {
      // The parts of a stream are needed for as long as its events.
      await backplane.swap(key, stored, JSON.stringify(this.#record), ttlMs)
    }
  }

  /** Whether another node may run the handler again now: always, or because it waits for responses. */
  get isReleasable(): boolean {
    if (this.call === undefined || this.#stored === undefined || this.#isOver) return false
    return (
      this.#record.parts.length < maxParts && (this.call.takeover === 'always' || this.#waitingFor.size > 0)
    )
  }

  /** Releases a releasable call: another node runs it as soon as its client resumes the stream. Rejects if the store fails. */
  async release(): Promise<void> {
    const parts = [...this.#record.parts.slice(0, -1), { ...this.part, isReleased: true }]
    this.#record = { ...this.#record, parts }
    const released = this.#update()
    const over = (): void => {
      this.#isOver = true
    }
    this.#writing = released.then(over, over)
    await released
  }

  /** Calls `onTaken` if another node runs the call, and stores the record again if the store lost it. Rejects if the store fails. */
  async verify(): Promise<void> {
    await this.#writing
    const key = this.#key
    if (key === undefined || this.#isOver || this.#stored === undefined) return
    const current = await this.#store.backplane.get(key)
    if (this.#isOver || current === this.#stored) return
    if (current !== undefined && !this.#isOwn(current)) this.#endTakenOver()
    else {
      this.#stored = current
      await this.#update()
    }
  }

  question(method: string, params: unknown): RememberedQuestion {
    const identity = digest(occurrence(this.#occurrences, canonical({ method, params })))
    return {
      earlier: this.#unread === undefined ? undefined : identity.then((name) => this.#earlier(name)),
      sent: (id) => {
        this.#waitingFor.add(id)
        this.#asking.set(id, identity)
      },
      answered: async (id, response) => {
        this.#waitingFor.delete(id)
        const name = await identity
        const known = this.call?.questions[name]
        if (this.call === undefined || known === undefined) return
        this.call.questions[name] = { ...known, response }
        await this.#updateWithRetries()
      },
    }
  }

  /** Stores the identity of a question, before it is sent. */
  async asked(id: RequestId, after: string | undefined): Promise<void> {
    const name = await this.#asking.get(id)
    this.#asking.delete(id)
    if (this.call === undefined || name === undefined) return
    const { node } = this.part
    const isAgain = nodeOf(String(id)) !== node
    this.call.questions[name] = {
      id: String(id),
      ...(after === undefined ? {} : { after }),
      ...(isAgain ? { node } : {}),
    }
    await this.#update()
  }

  step(place: string): { readonly value?: unknown } | undefined {
    this.#unread?.delete(`step ${place}`)
    return this.call?.steps[place]
  }

  async save(place: string, result: { readonly value?: unknown }): Promise<void> {
    if (this.call === undefined) return
    this.call.steps[place] = result
    await this.#update().catch(this.#store.report)
  }

  async #earlier(name: string): Promise<EarlierQuestion | undefined> {
    this.#unread?.delete(name)
    const known = this.call?.questions[name]
    if (known === undefined) return undefined
    const response = known.response === undefined ? undefined : classify(known.response)
    if (response?.kind === 'response') return { id: known.id, response: response.message }
    return { id: known.id, isUncertain: !(await this.#wasSent(known)) }
  }

  /** Whether a question was stored as an event that the client gets, which happens after it was recorded, or was answered. */
  async #wasSent({ id, after, node = nodeOf(id) }: StoredQuestion): Promise<boolean> {
    if (after === undefined || node === undefined) return true
    const { backplane, session } = this.#store
    const entries = await backplane.read(eventsKey(session, node), after)
    if (entries === undefined) return true
    const ends = this.#record.parts.flatMap((part) => (part.node === node ? [part.until] : []))
    const end = entries.findIndex(({ position }) => ends.includes(position))
    // Events that a node stored after its part, before it noticed that another one runs the call, are not sent.
    const sent = end < 0 ? entries : entries.slice(0, end + 1)
    if (sent.some(({ entry }) => entry.includes(JSON.stringify(id)))) return true
    // While the store fails, an event is sent that is not stored.
    return (await backplane.get(questionKey(session, id)))?.startsWith(answered) === true
  }

  /** Stores the record, if the call has a stream; tries again later where the store fails. */
  #update(): Promise<void> {
    const written = this.#writing.then(() => this.#write())
    this.#writing = written.catch(() => this.#updateLater())
    return written
  }

  /** Resolves when the record is stored, or after `maxWaitMs`: another run must not wait for a response that was used. */
  async #updateWithRetries(): Promise<void> {
    const until = performance.now() + maxWaitMs
    for (;;) {
      const failed = await this.#update().then(
        () => undefined,
        (error: unknown) => ({ error }),
      )
      if (failed === undefined || this.#isOver) return
      if (performance.now() > until) {
        this.#store.report(failed.error)
        return
      }
      await new Promise((resolve) => setTimeout(resolve, retryMs))
    }
  }

  /** Stores the record later, so that it has everything that the handler has. */
  #updateLater(): void {
    if (this.#isOver) return
    this.#retry ??= unref(
      setTimeout(() => {
        this.#retry = undefined
        this.#update().catch(() => {})
      }, retryMs),
    )
  }

  async #write(): Promise<void> {
    const key = this.#key
    const { backplane, ttlMs } = this.#store
    while (key !== undefined && !this.#isOver) {
      const record = await this.#text()
      if (record === this.#stored) return
      if (this.#stored !== undefined && !(await backplane.swap(key, this.#stored, record, ttlMs))) {
        const current = await backplane.get(key)
        if (current !== undefined) {
          if (!this.#isOwn(current)) this.#endTakenOver()
          // A write that seemed to fail was made.
          this.#stored = current
          continue
        }
        // The store lost it.
        await backplane.set(key, record, ttlMs)
      } else if (this.#stored === undefined) await backplane.set(key, record, ttlMs)
      this.#stored = record
    }
  }

  #isOwn(stored: string): boolean {
    const last = callRecordOf(stored)?.parts.at(-1)
    return last?.node === this.part.node && last.from === this.part.from
  }

  /** The record as JSON; without the call where that is too large. */
  async #text(): Promise<string> {
    const { sealer, maxChars } = this.#store
    const plain = this.call === undefined ? undefined : JSON.stringify(this.call)
    if (plain === undefined || plain.length > maxChars) return JSON.stringify(this.#record)
    if (this.#sealed?.plain !== plain) {
      this.#sealed = { plain, text: await sealer.seal({ key: this.#key, call: JSON.parse(plain) }) }
    }
    return JSON.stringify({ ...this.#record, call: this.#sealed.text })
  }

  #endTakenOver(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.onTakenOver()
  }
}

/** The call of a record; undefined if it has none, or was not sealed for this stream by a key of this server. */
async function openedCall(
  { sealer }: CallStore,
  key: string,
  { call }: CallRecord,
): Promise<StoredCall | undefined> {
  const opened = call === undefined ? undefined : await sealer.open(call)
  const value = opened?.value
  return isObject(value) && value['key'] === key && isStoredCall(value['call']) ? value['call'] : undefined
}

/** Whether the handler of a call may run again: always, or because all it did was to wait for a response that it does not have. */
async function mayRunAgain(
  { backplane, session }: CallStore,
  { takeover, questions }: StoredCall,
  parts: readonly StreamPart[],
): Promise<boolean> {
  const ends = parts.filter(({ isReleased }) => isReleased !== true)
  if (ends.length > maxTakeovers || parts.length >= maxParts) return false
  if (takeover === 'always') return true
  for (const { id, response } of Object.values(questions)) {
    if (response === undefined && (await backplane.get(questionKey(session, id))) !== undefined) return true
  }
  return false
}

const isRequest: Shape = (value) => classify(value).kind === 'request'
const isCaller: Shape = (value) => callerOf(value) !== undefined
const isRecordShape = shape(
  {
    v: (value) => value === 1,
    ids: listOf(isRequestId),
    parts: listOf(shape({ node: string }, { from: string, until: string, isReleased: boolean })),
  },
  { call: string },
)
const isCallShape = shape({
  request: isRequest,
  caller: isCaller,
  takeover: oneOf('waiting', 'always'),
  flow: string,
  questions: object,
  steps: object,
})

/** A record of this version; undefined for none, for another one, and for one that has ended. */
export function callRecordOf(stored: string | undefined): CallRecord | undefined {
  if (stored === undefined || stored === ended) return undefined
  const value = parseJson(stored)
  return isRecord(value) ? value : undefined
}

function isStoredCall(value: unknown): value is StoredCall {
  return isCallShape(value, () => {})
}

function isRecord(value: unknown): value is CallRecord {
  return isRecordShape(value, () => {})
}

export function storedCaller(caller: Caller): StoredCaller {
  const { scopes } = caller
  return { ...caller, scopes: scopes === 'any' ? scopes : [...scopes] }
}

/** A caller that another node authenticated. */
export function callerOf(value: unknown): Caller | undefined {
  if (!isObject(value)) return undefined
  const { principal, quotaKey, scopes, clientId, claims } = value
  if (principal !== null && typeof principal !== 'string') return undefined
  if (!isObject(claims) || (scopes !== 'any' && !Array.isArray(scopes))) return undefined
  return {
    principal,
    claims,
    scopes: scopes === 'any' ? scopes : new Set(scopes.map(String)),
    ...(typeof quotaKey === 'string' ? { quotaKey } : {}),
    ...(typeof clientId === 'string' ? { clientId } : {}),
  }
}
