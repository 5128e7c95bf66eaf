import {
  type Context,
  type CreateMessageParams,
  type CreateMessageResult,
  type ElicitParams,
  type ElicitResult,
  ErrorCode,
  type Exchange,
  type Question,
  type Root,
  RpcError,
} from '@jackfield/sdk'
import type { ProgressReport } from '@jackfield/sdk/client'
import { askLive, SuspendedCall } from '@jackfield/sdk/internal'
import type { RequestOrigin } from '../core/active-requests.ts'
import type { Relays } from '../core/server-requests.ts'
import { isRecord, type JsonRecord } from '../shared/json.ts'
import { reasonOf } from '../shared/text.ts'
import type { Activity, Host, HostEvent, HostQuestion } from '../types/index.ts'

/** Forwards questions to the gateway clients whose requests caused them, with a row for each. */
export class ClientRelays implements Relays {
  /** All requests in progress, newest last. */
  readonly calls: Set<ClientCall<unknown>> = new Set()
  readonly #host: Pick<Host, 'record' | 'on'>
  #gateways = 0
  #off: (() => void) | undefined

  constructor(host: Pick<Host, 'record' | 'on'>) {
    this.#host = host
  }

  get open(): boolean {
    return this.#gateways > 0
  }

  /** Adds a gateway, until the returned function is called. */
  begin(): () => void {
    this.#gateways++
    this.#off ??= this.#host.on(
      (event) => {
        if (event.type === 'question') this.#onQuestion(event)
      },
      ['question'],
    )
    return () => {
      if (--this.#gateways > 0) return
      this.#off?.()
      this.#off = undefined
    }
  }

  elicit(
    params: ElicitParams,
    origin: RequestOrigin,
    signal: AbortSignal,
  ): Promise<ElicitResult> | undefined {
    const call = this.#find(origin, (candidate) =>
      candidate.can(params.mode === 'url' ? 'elicitation.url' : 'elicitation'),
    )
    if (call === undefined) return undefined
    return this.#ask(
      'elicitation',
      { method: 'elicitation/create', params },
      call,
      origin,
      signal,
      isElicited,
    )
  }

  sample(
    params: CreateMessageParams,
    origin: RequestOrigin,
    signal: AbortSignal,
  ): Promise<CreateMessageResult> | undefined {
    const { includeContext = 'none' } = params
    const call = this.#find(
      origin,
      (candidate) =>
        candidate.can('sampling') &&
        (params.tools === undefined || candidate.can('sampling.tools')) &&
        (includeContext === 'none' || candidate.can('sampling.context')),
    )
    if (call === undefined) return undefined
    return this.#ask(
      'sampling',
      { method: 'sampling/createMessage', params },
      call,
      origin,
      signal,
      isSampled,
    )
  }

  roots(origin: RequestOrigin, signal: AbortSignal): Promise<Root[]> | undefined {
    const call = this.#find(origin, (candidate) => candidate.can('roots'))
    if (call === undefined) return undefined
    const answer = this.#ask('roots', { method: 'roots/list', params: {} }, call, origin, signal, isRoots)
    return answer.then(({ roots }) => roots)
  }

  /**
   * The request that a question belongs to, if certain: the one of its row, or the newest of several in one session. A question
   * is never sent to a client that may not own the request.
   */
  #find(
    { cause, row }: RequestOrigin,
    can: (call: ClientCall<unknown>) => boolean,
  ): ClientCall<unknown> | undefined {
    const { server, conversation } = cause
    const calls = [...this.calls]
    const candidates = calls.filter(
      ({ subject }) => subject.server === server && subject.conversation === conversation,
    )
    const isOneSession = candidates.every(
      ({ session }) => session !== undefined && session === candidates[0]?.session,
    )
    const match =
      row !== null ? calls.find((call) => call.row === row) : isOneSession ? candidates.at(-1) : undefined
    return match !== undefined && can(match) ? match : undefined
  }

  /** Notifies clients that a user is asked about their requests, until the question is settled. */
  #onQuestion({ item, rows }: Extract<HostEvent, { type: 'question' }>): void {
    const { id, question, state } = item
    if (state !== 'open') {
      for (const call of this.calls) call.settled(id)
      return
    }
    const message = waitingMessage(question)
    if (message === undefined) return
    const related = [...this.calls].filter(({ row }) => row !== undefined && rows.includes(row))
    // If the question names no request, it may belong to any request at its server.
    const possible = [...this.calls].filter(({ subject }) => subject.server === question.cause.server)
    for (const call of related.length > 0 ? related : rows.length > 1 ? [] : possible)
      call.waitsFor(id, message)
  }

  async #ask<T>(
    kind: Activity['kind'],
    question: Question,
    call: ClientCall<unknown>,
    { cause, row }: RequestOrigin,
    signal: AbortSignal,
    isValid: (answer: unknown) => answer is T,
  ): Promise<T> {
    const since = performance.now()
    const recordOutcome = (outcome: string, details: Record<string, unknown>): void => {
      this.#host.record({
        kind,
        server: cause.server,
        cause: row,
        summary: `${cause.server} asks ${call.client}, a client of the gateway (${question.method})`,
        outcome,
        durationMs: Math.round(performance.now() - since),
        detail: { cause, params: question.params, client: call.client, ...details },
      })
    }
    try {
      const answer = await call.ask(question, signal)
      if (!isValid(answer)) {
        throw new RpcError(ErrorCode.InternalError, 'The client of the gateway returned an invalid response')
      }
      recordOutcome('relayed', { answer })
      return answer
    } catch (error) {
      recordOutcome(signal.aborted || call.signal.aborted ? 'withdrawn' : 'error', {
        reason: reasonOf(error),
      })
      throw error
    }
  }
}

/** Progress message to a client while the user is asked; undefined if its requests do not wait for the answer. */
function waitingMessage({ kind, cause: { server } }: HostQuestion): string | undefined {
  switch (kind) {
    case 'approval':
      return 'Waiting for a person to approve this call'
    case 'result':
      return 'Waiting for a person to release the result of this call'
    case 'elicitation':
      return `Waiting for a person to answer a question of ${server}`
    case 'sampling-request':
    case 'sampling-result':
      return `Waiting for a person to review a model request of ${server}`
    case 'roots':
      return `Waiting for a person to decide which folders ${server} may know`
    case 'start':
      return `Waiting for a person to allow ${server} to start`
    case 'login':
      return `Waiting for a person to sign in to ${server}`
    case 'input':
      return `Waiting for a person to enter a value that ${server} needs`
    case 'app':
    case 'installation':
    case 'drift':
      return undefined
  }
}

function isElicited(answer: unknown): answer is ElicitResult {
  return isRecord(answer) && ['accept', 'decline', 'cancel'].some((action) => answer['action'] === action)
}

function isSampled(answer: unknown): answer is CreateMessageResult {
  return (
    isRecord(answer) &&
    typeof answer['role'] === 'string' &&
    typeof answer['model'] === 'string' &&
    answer['content'] !== undefined
  )
}

function isRoots(answer: unknown): answer is { roots: Root[] } {
  if (!isRecord(answer) || !Array.isArray(answer['roots'])) return false
  return answer['roots'].every((root) => isRecord(root) && typeof root['uri'] === 'string')
}

/** Progress must increase with every notification, also when only the message is new. */
const progressStep = 1e-6
/** Interval in milliseconds of notices that the user is still asked, which keep a client from timing out. */
const repeatMs = 15_000

/** The server and the conversation of a request; a request of an unknown user has none. */
export interface Subject {
  readonly server: string
  readonly conversation: string | undefined
}

/** A client's request, with its exchange. */
export interface Request {
  readonly context: Context
  readonly exchange: Exchange
}

/** A request of a gateway client that continues at its server. */
export class ClientCall<T> extends SuspendedCall<T, Request> {
  readonly subject: Subject
  /** The client's session, on revisions with sessions. Without one, every request counts as a separate client. */
  readonly session: Exchange['session']
  /** Its activity row, once known. */
  row: number | undefined
  #request: Request
  /** The last progress sent to the client, and the last reported by the server. */
  #progress = Number.NEGATIVE_INFINITY
  #reported = Number.NEGATIVE_INFINITY
  /** Progress messages to the client while the user is asked, by question. */
  readonly #waitingMessages = new Map<string, string>()
  #repeating: NodeJS.Timeout | undefined

  constructor(subject: Subject, request: Request) {
    super(request.context.peer.principal)
    this.subject = subject
    this.session = request.exchange.session
    this.#request = request
  }

  /** Whether its client has a capability. */
  get can(): Context['can'] {
    return this.#request.context.can
  }

  /** The client's name. */
  get client(): string {
    return this.#request.context.peer.info?.name ?? 'a client'
  }

  /** Sends a question to the client: at once on a live connection, where it is cancelled when it is no longer needed. */
  override ask(question: Question, signal: AbortSignal): Promise<JsonRecord> {
    const { exchange } = this.#request
    const { relay } = exchange.inputStrategy
    if (relay === undefined) return super.ask(question, signal)
    return askLive(exchange, relay, question, AbortSignal.any([signal, this.signal]))
  }

  /** Forwards a progress notification of the server. */
  progress({ progress, total, message }: ProgressReport): void {
    if (!(progress > this.#reported)) return
    this.#reported = progress
    // Progress must increase, also after a notice of this gateway.
    this.#progress = Math.max(progress, this.#progress + progressStep)
    this.listener?.context.progress(this.#progress, total, message)
  }

  /** Notifies its client that a person is asked, now and from time to time until the question is settled. */
  waitsFor(question: string, message: string): void {
    if (this.#waitingMessages.has(question)) return
    this.#waitingMessages.set(question, message)
    this.#sendMessage(message)
    this.#repeating ??= setInterval(() => this.#repeatWaitingMessage(), repeatMs).unref()
  }

  /** Settles one question or, without an argument, the whole call. */
  settled(question?: string): void {
    if (question === undefined) this.#waitingMessages.clear()
    else this.#waitingMessages.delete(question)
    if (this.#waitingMessages.size > 0) return
    clearInterval(this.#repeating)
    this.#repeating = undefined
  }

  /** Resolves with the result or the next input requests, which are sent as the response to this request. */
  nextFor(request: Request): ReturnType<SuspendedCall<T, Request>['next']> {
    this.#request = request
    const next = this.next(request.context.signal, request)
    this.#repeatWaitingMessage()
    return next
  }

  #repeatWaitingMessage(): void {
    const message = [...this.#waitingMessages.values()].at(-1)
    if (message !== undefined) this.#sendMessage(message)
  }

  #sendMessage(message: string): void {
    this.#progress = this.#progress === Number.NEGATIVE_INFINITY ? 0 : this.#progress + progressStep
    this.listener?.context.progress(this.#progress, undefined, message)
  }
}
