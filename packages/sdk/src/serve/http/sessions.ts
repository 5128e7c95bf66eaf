import type { Caller } from '../../core/exchange.ts'
import { TransientMap } from '../../jsonrpc/transient.ts'
import type { Bounds } from '../bounds.ts'
import type { MemoryAccount } from '../memory.ts'
import { unref } from '../timers.ts'
import type { Core } from './core.ts'
import { HttpSession } from './http-session.ts'
import { Shares } from './shares.ts'

const sweepMs = 60_000

/** The sessions of one node, least recently used first. Idle ones go after a while, or when room is needed. */
export class Sessions {
  readonly #bounds: Bounds
  readonly #core: Core
  readonly #byId = new TransientMap<string, HttpSession>()
  readonly #shares: Shares
  #sweep: ReturnType<typeof setTimeout> | undefined

  constructor(core: Core) {
    this.#bounds = core.bounds
    this.#core = core
    this.#shares = new Shares(core.bounds.sessionsPerPrincipal)
  }

  get size(): number {
    return this.#byId.size
  }

  /** Begins a session; undefined when there is no room, or the principal has its share, and none is idle. */
  begin(caller: Caller, memory: MemoryAccount): HttpSession | undefined {
    if (!this.#takePlace(caller.principal)) return undefined
    const session = new HttpSession(this.#core, caller, memory)
    this.#byId.set(session.id, session)
    this.#schedule()
    return session
  }

  /** A session by its id, as its own principal: for anybody else it does not exist. */
  find(id: string, principal: string | null): HttpSession | undefined {
    const session = this.#byId.get(id)
    if (session === undefined || session.principal !== principal) return undefined
    session.lastSeen = performance.now()
    this.#byId.delete(id)
    this.#byId.set(id, session)
    return session
  }

  end(session: HttpSession, reason: string): void {
    if (!this.#byId.delete(session.id)) return
    this.#shares.give(session.principal)
    session.close(reason)
  }

  close(reason: string): void {
    clearTimeout(this.#sweep)
    this.#sweep = undefined
    for (const session of this.#byId.values()) this.end(session, reason)
  }

  /** Takes a place for a principal; one whose share is full takes that of a session of its own. */
  #takePlace(principal: string | null): boolean {
    const shares = this.#shares
    if (!shares.take(principal)) {
      return this.#makeRoom((session) => session.principal === principal) && shares.take(principal)
    }
    if (this.#byId.size < this.#bounds.sessions || this.#makeRoom(() => true)) return true
    shares.give(principal)
    return false
  }

  #makeRoom(among: (session: HttpSession) => boolean): boolean {
    for (const session of this.#byId.values()) {
      if (!among(session) || session.busy) continue
      this.end(session, 'The session was idle and its place was needed')
      return true
    }
    return false
  }

  #schedule(): void {
    if (this.#sweep !== undefined) return
    const after = Math.min(sweepMs, this.#bounds.sessionIdleMs)
    this.#sweep = unref(
      setTimeout(() => {
        this.#sweep = undefined
        this.#endIdle()
        if (this.#byId.size > 0) this.#schedule()
      }, after),
    )
  }

  #endIdle(): void {
    const oldest = performance.now() - this.#bounds.sessionIdleMs
    for (const session of this.#byId.values()) {
      if (session.lastSeen <= oldest && !session.busy) this.end(session, 'The session was idle for too long')
    }
  }
}
