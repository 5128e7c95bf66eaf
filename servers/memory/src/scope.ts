import { AsyncLocalStorage } from 'node:async_hooks'
import { type Caller, type Exchange, type Middleware, type Subscriber, ToolError } from '@jackfield/sdk'
import { type GraphKey, limits } from './types.ts'

/**
 * Which graph a request works on. A request that names a conversation uses the graph of that conversation. Otherwise it uses
 * the shared graph, or in the scope `conversation` the graph of its session, which is deleted when the session ends.
 */

/** The memory of requests that name no conversation. */
export type Scope = 'shared' | 'conversation'

type Session = NonNullable<Exchange['session']>

/** The `_meta` key with which a host names the conversation of a request, so that its model does not have to. */
export const conversationMetaKey = 'io.github.jackfield/conversation'

/** The parts of a request that determine its graph. */
export interface ScopedRequest {
  readonly peer: Caller
  readonly meta?: Readonly<Record<string, unknown>>
}

/** Determines the graphs of requests. */
export class Scopes {
  readonly #scope: Scope
  readonly #onSessionEnd: (key: GraphKey) => void
  /** The session of the request being served: the context of a handler does not contain it. */
  readonly #current = new AsyncLocalStorage<Session | undefined>()
  readonly #sessionIds = new WeakMap<Session, string>()

  /** @param onSessionEnd called with the graph of a session that ended */
  constructor(scope: Scope, onSessionEnd: (key: GraphKey) => void) {
    this.#scope = scope
    this.#onSessionEnd = onSessionEnd
  }

  readonly middleware: Middleware = (exchange, next) =>
    this.#current.run(exchange.session, () => next(exchange))

  /**
   * The graph of a request.
   * @throws ToolError if the request has to name a conversation and does not, or names two
   */
  keyOf({ peer, meta = {} }: ScopedRequest, named: string | undefined): GraphKey {
    const owner = ownerOf(peer)
    const fromHost = meta[conversationMetaKey]
    if (fromHost !== undefined && !isConversationName(fromHost)) {
      throw new ToolError(
        `_meta["${conversationMetaKey}"] must be a text of 1 to ${limits.conversationChars} characters.`,
      )
    }
    const conversation = normalizedName(named ?? fromHost)
    if (fromHost !== undefined && normalizedName(fromHost) !== conversation) {
      throw new ToolError(
        'This client works on another conversation than "conversation" names. Leave "conversation" out.',
      )
    }
    if (conversation !== undefined) return { owner, conversation: `n:${conversation}` }
    if (this.#scope === 'shared') return { owner, conversation: '' }
    const session = this.#current.getStore()
    if (session === undefined) {
      throw new ToolError(
        'Memory is kept per conversation, and a request of this protocol revision belongs to no session. Name the conversation in "conversation", the same in every call.',
      )
    }
    return { owner, conversation: `s:${this.#idOf(session, owner)}` }
  }

  /** The graph of a request that names no conversation in its arguments; undefined if it has none. */
  findKey(request: ScopedRequest): GraphKey | undefined {
    const isNamed = request.meta?.[conversationMetaKey] !== undefined
    if (this.#scope === 'conversation' && !isNamed && this.#current.getStore() === undefined) return undefined
    return this.keyOf(request, undefined)
  }

  /** Whether a subscriber may be notified of a change in a graph. */
  mayNotify({ owner, conversation }: GraphKey, { peer, session }: Subscriber): boolean {
    if (owner !== ownerOf(peer)) return false
    if (!conversation.startsWith('s:')) return true
    return session !== undefined && conversation === `s:${this.#sessionIds.get(session)}`
  }

  #idOf(session: Session, owner: string): string {
    const known = this.#sessionIds.get(session)
    if (known !== undefined) return known
    const id = crypto.randomUUID()
    this.#sessionIds.set(session, id)
    const end = (): void => this.#onSessionEnd({ owner, conversation: `s:${id}` })
    session.ended.addEventListener('abort', end, { once: true })
    return id
  }
}

/** Whether a value can name a conversation. */
function isConversationName(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.trim() !== '' &&
    value.length <= limits.conversationChars &&
    value.isWellFormed()
  )
}

/** Normalized like the argument `conversation`. */
function normalizedName(text: string | undefined): string | undefined {
  return text?.trim().normalize()
}

function ownerOf({ principal }: Caller): string {
  return principal === null ? '' : `p:${principal}`
}
