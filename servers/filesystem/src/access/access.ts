import { fileURLToPath } from 'node:url'
import type { Context, Exchange, Middleware, Peer, Root, Subscriber } from '@jackfield/sdk'
import { type Allowed, allowedAt, Boundary, boundaryOf } from './boundary.ts'

/** Options of `Access`. */
export interface AccessOptions {
  /** Directories and files that the operator named. */
  configured: readonly Allowed[]
  /** Whether clients are asked for their roots. */
  useRoots: boolean
  /** Called when the roots of a client changed. */
  onChange: () => void
}

/** Identifies a client between its requests: its session, or on revision 2026-07-28 its name on this connection. */
type ClientKey = object | string

const maxRoots = 100
/** Maximum entries of each cache: boundaries of 2026-07-28 clients, and real paths of roots. */
const maxCacheEntries = 1000
/** Maximum time in milliseconds that a list waits for the roots. */
const listTimeoutMs = 5_000

/**
 * The boundary of each client. Tools and reads ask for the roots on every request, so that a change holds at once on every
 * revision. Lists, completions and subscriptions cannot ask on 2026-07-28 and use the last answer.
 */
export class Access {
  readonly #options: AccessOptions
  readonly #keys = new WeakMap<Peer, ClientKey>()
  readonly #bySession = new WeakMap<object, Boundary>()
  readonly #byName = new Map<string, Boundary>()
  /** The real path of each root is determined once. A root that is replaced by a link later is refused. */
  readonly #roots = new Map<string, Allowed>()
  readonly #default: Boundary

  constructor(options: AccessOptions) {
    this.#options = options
    this.#default = new Boundary(options.configured)
  }

  /** The boundary of a call or a read, after asking the client for its roots. */
  async forRequest(ctx: Context): Promise<Boundary> {
    if (!this.#options.useRoots || !ctx.can('roots')) return this.#default
    const key = this.#keys.get(ctx.peer)
    // On a session the middleware asked: a client that did not answer may use the configured directories only.
    const answered =
      typeof key === 'object' && (this.#bySession.has(key) || this.#options.configured.length > 0)
    return answered ? this.lastOf(ctx.peer) : this.#updateRoots(ctx.peer, await ctx.roots())
  }

  /** The boundary by the last roots of a client, for requests that cannot ask for them. */
  lastOf(peer: Peer): Boundary {
    const key = this.#keys.get(peer)
    if (!this.#options.useRoots || key === undefined) return this.#default
    return (typeof key === 'string' ? this.#byName.get(key) : this.#bySession.get(key)) ?? this.#default
  }

  /** As `lastOf`, for a client that subscribes. */
  ofSubscriber({ peer, session }: Subscriber): Boundary {
    if (session !== undefined) this.#keys.set(peer, session)
    return this.lastOf(peer)
  }

  /**
   * Records the client of a request, and on a session requests its roots. If the client does not answer, the configured directories
   * still work, whereas a request for roots in a handler would fail the call.
   */
  readonly middleware: Middleware = async (exchange, next) => {
    const { method, peer, session, signal } = exchange
    const key = keyOf(exchange)
    if (key !== undefined) this.#keys.set(peer, key)
    if (!this.#options.useRoots || session === undefined || peer.capabilities.roots === undefined)
      return next(exchange)
    if (callMethods.has(method)) await this.#requestRoots(exchange, signal)
    // The client may have to ask a person, so a list requests roots only if it needs them, and with a time limit.
    else if (
      listMethods.has(method) &&
      (this.#bySession.has(session) || this.#options.configured.length === 0)
    ) {
      await this.#requestRoots(exchange, AbortSignal.any([signal, AbortSignal.timeout(listTimeoutMs)]))
    }
    return next(exchange)
  }

  async #requestRoots({ peer, inputStrategy }: Exchange, signal: AbortSignal): Promise<void> {
    try {
      const answer = await inputStrategy.relay?.('roots/list', {}, { signal })
      if (answer !== undefined) await this.#updateRoots(peer, rootsIn(answer))
    } catch {
      // The last known roots remain valid.
    }
  }

  async #updateRoots(peer: Peer, roots: readonly Root[]): Promise<Boundary> {
    const usable: Allowed[] = []
    for (const { uri } of roots.slice(0, maxRoots)) {
      const allowed = await this.#rootAt(uri)
      if (allowed !== undefined) usable.push(allowed)
    }
    const boundary = boundaryOf(this.#options.configured, usable)
    const before = this.lastOf(peer)
    const key = this.#keys.get(peer)
    if (key === undefined) return boundary
    if (typeof key === 'string') setInCache(this.#byName, key, boundary)
    else this.#bySession.set(key, boundary)
    if (!isSame(before, boundary)) this.#options.onChange()
    return boundary
  }

  async #rootAt(uri: string): Promise<Allowed | undefined> {
    const path = pathOf(uri)
    if (path === undefined) return undefined
    const known = this.#roots.get(path)
    if (known !== undefined) return known
    const allowed = await allowedAt(path).catch(() => undefined)
    if (allowed !== undefined) setInCache(this.#roots, path, allowed)
    return allowed
  }
}

const callMethods: ReadonlySet<string> = new Set(['tools/call', 'resources/read'])
const listMethods: ReadonlySet<string> = new Set(['resources/list', 'completion/complete'])

/**
 * The key of a client; undefined for anonymous clients of 2026-07-28 on a network, which cannot be told apart: their roots hold
 * for the request alone.
 */
function keyOf({ session, peer, transport }: Exchange): ClientKey | undefined {
  if (session !== undefined) return session
  if (transport === 'tcp' && peer.principal === null) return undefined
  return JSON.stringify([peer.principal, peer.info?.name, peer.info?.version])
}

/** The path of a `file:` URI; undefined for any other, and for files of other machines. */
export function pathOf(uri: string): string | undefined {
  try {
    const url = new URL(uri)
    if (url.protocol !== 'file:' || url.search !== '' || url.hash !== '') return undefined
    if (url.host !== '' && process.platform !== 'win32') return undefined
    const path = fileURLToPath(url)
    return path.includes('\0') ? undefined : path
  } catch {
    return undefined
  }
}

function rootsIn(answer: unknown): Root[] {
  if (typeof answer !== 'object' || answer === null || !('roots' in answer) || !Array.isArray(answer.roots))
    return []
  return answer.roots.flatMap((root: unknown) =>
    typeof root === 'object' && root !== null && 'uri' in root && typeof root.uri === 'string'
      ? [{ uri: root.uri }]
      : [],
  )
}

function setInCache<K, V>(map: Map<K, V>, key: K, value: V): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > maxCacheEntries && oldest !== undefined) map.delete(oldest)
}

function isSame(a: Boundary, b: Boundary): boolean {
  return (
    a.allowed.length === b.allowed.length && a.allowed.every(({ path }, at) => path === b.allowed[at]?.path)
  )
}
