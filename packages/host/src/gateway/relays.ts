import {
  type CreateMessageParams,
  type CreateMessageResult,
  type ElicitParams,
  type ElicitResult,
  ErrorCode,
  type Question,
  type Root,
  RpcError,
} from '@jackfield/sdk'
import type { Found, Relays } from '../asking/index.ts'
import { isRecord } from '../json.ts'
import { reasonOf } from '../text.ts'
import type { Activity, Host } from '../types/index.ts'
import type { ClientCall } from './held.ts'

/** Puts questions to the clients of a gateway whose requests led to them, and writes a row about each. */
export class ClientRelays implements Relays {
  /** Every request under way, the newest last. */
  readonly calls: Set<ClientCall<unknown>> = new Set()
  readonly #record: Host['record']
  #gateways = 0

  constructor(record: Host['record']) {
    this.#record = record
  }

  get open(): boolean {
    return this.#gateways > 0
  }

  /** One more gateway, until the returned function is called. */
  begin(): () => void {
    this.#gateways++
    return () => {
      this.#gateways--
    }
  }

  elicit(params: ElicitParams, found: Found, signal: AbortSignal): Promise<ElicitResult> | undefined {
    const call = this.#find(found, (one) =>
      one.can(params.mode === 'url' ? 'elicitation.url' : 'elicitation'),
    )
    if (call === undefined) return undefined
    return this.#put('elicitation', { method: 'elicitation/create', params }, call, found, signal, isElicited)
  }

  sample(
    params: CreateMessageParams,
    found: Found,
    signal: AbortSignal,
  ): Promise<CreateMessageResult> | undefined {
    const { includeContext = 'none' } = params
    const call = this.#find(
      found,
      (one) =>
        one.can('sampling') &&
        (params.tools === undefined || one.can('sampling.tools')) &&
        (includeContext === 'none' || one.can('sampling.context')),
    )
    if (call === undefined) return undefined
    return this.#put('sampling', { method: 'sampling/createMessage', params }, call, found, signal, isSampled)
  }

  roots(found: Found, signal: AbortSignal): Promise<Root[]> | undefined {
    const call = this.#find(found, (one) => one.can('roots'))
    if (call === undefined) return undefined
    const answer = this.#put('roots', { method: 'roots/list', params: {} }, call, found, signal, isRoots)
    return answer.then(({ roots }) => roots)
  }

  /** The request that a question is about; the newest will do where it is one of several of the same client. */
  #find({ cause, row }: Found, can: (call: ClientCall<unknown>) => boolean): ClientCall<unknown> | undefined {
    const { server, conversation, tool } = cause
    if (conversation === undefined) return undefined
    const own = [...this.calls].filter(
      ({ subject }) => subject.server === server && subject.conversation === conversation,
    )
    const about =
      own.find((call) => row !== null && call.row === row) ??
      own.findLast(({ subject }) => subject.target === tool) ??
      own.at(-1)
    return about !== undefined && can(about) ? about : undefined
  }

  async #put<T>(
    kind: Activity['kind'],
    question: Question,
    call: ClientCall<unknown>,
    { cause, row }: Found,
    signal: AbortSignal,
    fits: (answer: unknown) => answer is T,
  ): Promise<T> {
    const since = performance.now()
    const note = (outcome: string, more: Record<string, unknown>): void => {
      this.#record({
        kind,
        server: cause.server,
        cause: row,
        summary: `${cause.server} asks ${call.client}, a client of the gateway (${question.method})`,
        outcome,
        durationMs: Math.round(performance.now() - since),
        detail: { cause, params: question.params, client: call.client, ...more },
      })
    }
    try {
      const answer = await call.ask(question, signal)
      if (!fits(answer)) {
        throw new RpcError(ErrorCode.InternalError, 'The client of the gateway gave an answer that is none')
      }
      note('relayed', { answer })
      return answer
    } catch (error) {
      note(signal.aborted || call.signal.aborted ? 'withdrawn' : 'error', { reason: reasonOf(error) })
      throw error
    }
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
