import type { JsonRpcResponse, RequestId } from '../../../jsonrpc/message.ts'
import { classify, parseJson } from '../../../jsonrpc/parse.ts'
import { type Deferred, deferred } from '../../../jsonrpc/promises.ts'
import { unref } from '../options.ts'
import { type Nodes, nodeOf } from './nodes.ts'
import type { HttpServerState } from './server-state.ts'
import type { HttpSession, Sessions } from './sessions.ts'
import { answered, questionKey, unanswered } from './shared-call.ts'

/** A response that was stored for the node that asked. */
interface AcceptedAnswer {
  readonly session: string
  readonly message: JsonRpcResponse
  readonly at: number
}

/** Interval in milliseconds of reading responses from the store whose announcement was lost. */
const pollMs = 10_000
/** Milliseconds that accepted responses are kept, in case the store loses them. */
const rememberedMs = 30_000
/** Milliseconds between the messages about an answer whose question the store did not have. */
const repeatedAfterMs = [1_000, 3_000, 9_000, 27_000]
/** Milliseconds until a question that could not be stored is stored again. */
const askAgainMs = 500
/** Maximum times that answers are stored again, which fails while nodes connect to the store. */
const maxStoreAttempts = 10
/** Maximum answers that wait to be sent again, and the characters of the largest. */
const maxRepeated = 100
const maxRepeatedChars = 65_536

/** Passes the responses of clients, which arrive on any node, to the node whose request they answer. */
export class SharedAnswers {
  readonly #state: HttpServerState
  readonly #sessions: Sessions
  readonly #nodes: Nodes
  readonly #report: (error: unknown) => void
  /** Sent and unanswered questions of this node, with their sessions. */
  readonly #questions = new Map<string, string>()
  /** Questions of this node whose responses arrived and were not passed to their handlers yet. */
  readonly #arrived = new Map<string, Deferred<void>>()
  /** The last responses that this node accepted for other nodes, by their questions, oldest first. */
  readonly #accepted = new Map<string, AcceptedAnswer>()
  #repeating = 0
  #polling: ReturnType<typeof setInterval> | undefined

  constructor(state: HttpServerState, sessions: Sessions, nodes: Nodes, report: (error: unknown) => void) {
    this.#state = state
    this.#sessions = sessions
    this.#nodes = nodes
    this.#report = report
  }

  /** Stores a question of this node before it is sent. Rejects if the backplane fails. */
  async ask(session: string, question: RequestId): Promise<void> {
    this.#expect(String(question), session)
    const { storedEventsMs } = this.#state.bounds
    try {
      await this.#state.backplane.set(questionKey(session, question), unanswered, storedEventsMs)
    } catch (error) {
      this.#askLater(session, String(question))
      throw error
    }
  }

  /** Stores a question when the store is available: an answer that another node accepts must not depend on messages alone. */
  async #askLater(session: string, question: string): Promise<void> {
    const { storedEventsMs } = this.#state.bounds
    while (this.#questions.get(question) === session) {
      await new Promise((resolve) => unref(setTimeout(resolve, askAgainMs)))
      if (this.#questions.get(question) !== session) return
      const stored = this.#state.backplane.add(questionKey(session, question), unanswered, storedEventsMs)
      if (await stored.then(() => true).catch(() => false)) return
    }
  }

  /** Stops expecting answers to questions: another node may take their call over. */
  stopExpecting(questions: readonly RequestId[]): void {
    for (const question of questions) this.#forget(String(question))
  }

  /** Whether the question was expected here. */
  #forget(question: string): boolean {
    this.#arrived.get(question)?.resolve()
    this.#arrived.delete(question)
    return this.#questions.delete(question)
  }

  /** Forgets a question that was answered or withdrawn. */
  end(session: string, question: RequestId): void {
    if (this.#forget(String(question)))
      this.#state.backplane.delete(questionKey(session, question)).catch(this.#report)
  }

  /**
   * Handles a response to a request of this node or another. The first one counts. Rejects if the backplane fails. Resolves once
   * another run of the call would have the response, too, or that could not be stored for a while: a client that gets 202
   * does not send it again.
   */
  async receive(session: HttpSession, message: JsonRpcResponse): Promise<void> {
    const { id } = message
    const node = typeof id === 'string' ? nodeOf(id) : undefined
    // A question of this node that is not expected here any more may be one that another node took over.
    const isHere = typeof id !== 'string' || node === undefined || this.#questions.has(id)
    const isOwn = isHere || node === this.#nodes.id
    this.#state.observer?.event({ type: 'answer', arrived: isOwn ? 'here' : 'elsewhere' })
    if (isHere) {
      const isOfSession = typeof id === 'string' && this.#questions.get(id) === session.id
      const arrived = isOfSession ? this.#arrive(id) : undefined
      session.session.response(message)
      await arrived?.promise
      return
    }
    const answer = { session: session.id, message, at: performance.now() }
    if (await this.#storeAndAnnounce(id, node, answer)) return
    this.#state.observer?.event({ type: 'writeRefused', what: 'answer' })
    if (this.#repeating < maxRepeated && JSON.stringify(message).length <= maxRepeatedChars)
      this.#repeat(id, node, answer)
  }

  #arrive(question: string): Deferred<void> {
    const arrived = this.#arrived.get(question) ?? deferred()
    this.#arrived.set(question, arrived)
    return arrived
  }

  /** Stores a response and announces it to the node that asked; whether it is the first one. Rejects if the backplane fails. */
  async #storeAndAnnounce(id: string, node: string, answer: AcceptedAnswer): Promise<boolean> {
    const isFirst = await this.#store(answer)
    if (isFirst) this.#remember(id, answer)
    // The store may have lost the request, or never had it, and then its node takes the response from the message.
    const response = isFirst ? {} : { response: answer.message }
    this.#nodes.send({ type: 'answered', session: answer.session, id, ...response }, node)
    return isFirst
  }

  /** Repeats the message, which may be lost while nodes reconnect to the store. */
  async #repeat(id: string, node: string, answer: AcceptedAnswer): Promise<void> {
    this.#repeating++
    for (const ms of repeatedAfterMs) {
      await new Promise((resolve) => unref(setTimeout(resolve, ms)))
      if (await this.#storeAndAnnounce(id, node, answer).catch(() => false)) break
    }
    this.#repeating--
  }

  /** Whether the response is the first one to its question. */
  #store({ session, message }: AcceptedAnswer): Promise<boolean> {
    const key = questionKey(session, message.id ?? '')
    const { storedEventsMs } = this.#state.bounds
    return this.#state.backplane.swap(key, unanswered, answered + JSON.stringify(message), storedEventsMs)
  }

  /** A failover of the store may lose a response after the client received 202 for it. */
  #remember(id: string, answer: AcceptedAnswer): void {
    const oldest = performance.now() - rememberedMs
    for (const [other, { at }] of this.#accepted) {
      if (at > oldest) break
      this.#accepted.delete(other)
    }
    this.#accepted.set(id, answer)
  }

  /** Stores the responses of the last seconds again, if the store lost them. */
  async storeAgain(): Promise<void> {
    const oldest = performance.now() - rememberedMs
    let left = [...this.#accepted].filter(([, { at }]) => at > oldest)
    for (let tries = 0; left.length > 0 && tries < maxStoreAttempts; tries++) {
      if (tries > 0) await new Promise((resolve) => unref(setTimeout(resolve, askAgainMs)))
      const failed: typeof left = []
      for (const [id, answer] of left) {
        try {
          if (!(await this.#store(answer))) continue
          this.#nodes.send({ type: 'answered', session: answer.session, id }, nodeOf(id))
          this.deliver(answer.session, id)
        } catch {
          failed.push([id, answer])
        }
      }
      left = failed
    }
  }

  /** Expects the answer to a question that this node sent, or whose call it took over. */
  #expect(question: string, session: string): void {
    this.#questions.set(question, session)
    this.#polling ??= unref(setInterval(() => this.readAll(), pollMs))
  }

  /** Waits for the answer to a question of an earlier run of a call, which the store may have lost. */
  async expectAgain(question: string, session: string): Promise<void> {
    this.#expect(question, session)
    const { storedEventsMs } = this.#state.bounds
    await this.#state.backplane.add(questionKey(session, question), unanswered, storedEventsMs)
    this.deliver(session, question)
  }

  /** Reads the answers to all questions of this node from the store. */
  readAll(): void {
    for (const [id, session] of this.#questions) this.deliver(session, id)
    if (this.#questions.size > 0) return
    clearInterval(this.#polling)
    this.#polling = undefined
  }

  /** Passes the response to a question of this node to its handler: the stored one, or `given` if the store lost the question. */
  deliver(sessionId: string, id: string, given?: unknown): void {
    const respond = async (): Promise<void> => {
      const text = await this.#state.backplane.get(questionKey(sessionId, id))
      const stored = text?.startsWith(answered) === true ? parseJson(text.slice(answered.length)) : undefined
      const response = classify(text === undefined ? given : stored)
      if (response.kind === 'response') this.#sessions.get(sessionId)?.session.response(response.message)
    }
    if (this.#questions.get(id) === sessionId) respond().catch(this.#report)
  }

  close(): void {
    clearInterval(this.#polling)
  }
}
