import type { AppService } from '@jackfield/host'
import type { PeerServer } from '@jackfield/host/service'
import type { WebSession } from './session-store.ts'
import { userKey, userLabel, type WebUser } from './users.ts'

/** The use of a host by a request or a socket. */
export interface HostLease {
  readonly peers: PeerServer
  /** Ends the use. A host without leases can be closed. */
  release(): void
}

/** Finds the host of a session. */
export interface Hosts {
  /** Undefined if the limit of open hosts is reached. @throws Error if the host cannot be opened */
  acquire(session: WebSession): Promise<HostLease | undefined>
}

/** The same host for every session. */
export function singleHost(peers: PeerServer): Hosts {
  return { acquire: async () => ({ peers, release() {} }) }
}

/** The host of one user. */
export interface UserHost {
  readonly peers: PeerServer
  /** Default: no apps are shown. */
  readonly apps?: Pick<AppService, 'document'>
  /** Whether closing it would interrupt work, such as a turn of a conversation. */
  isBusy(): boolean
  close(): Promise<void>
}

export interface UserHostsOptions {
  /** Opens the host of a user. It is closed before it is opened again. */
  open(user: WebUser): Promise<UserHost>
  /** Maximum number of open hosts. For a further user, the least recently used one is closed. */
  maxUsers: number
  /** Milliseconds without leases and work after which a host is closed. */
  idleMs: number
  onWarning: (message: string) => void
}

interface OpenHost {
  readonly user: WebUser
  readonly host: Promise<UserHost>
  /** Set once `host` is resolved. */
  opened: UserHost | undefined
  leases: number
  lastUsedMs: number
}

/** A host for each user, opened on the first request of the user and closed when it is idle. */
export class UserHosts implements Hosts {
  readonly #options: UserHostsOptions
  /** By user, the most recently used last. */
  readonly #open = new Map<string, OpenHost>()
  /** Hosts that are closing, by user. A host is opened again only once its store is released. */
  readonly #closing = new Map<string, Promise<void>>()
  readonly #timer: NodeJS.Timeout

  constructor(options: UserHostsOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#closeIdle(), Math.max(10, options.idleMs / 4))
    this.#timer.unref()
  }

  /** Number of open hosts. */
  get count(): number {
    return this.#open.size
  }

  async acquire({ user }: WebSession): Promise<HostLease | undefined> {
    if (user === undefined) throw new Error('The session has no user')
    const key = userKey(user)
    const entry = this.#open.get(key) ?? this.#openHost(key, user)
    if (entry === undefined) return undefined
    entry.leases++
    this.#open.delete(key)
    this.#open.set(key, entry)
    let isReleased = false
    const release = (): void => {
      if (isReleased) return
      isReleased = true
      entry.leases--
      entry.lastUsedMs = performance.now()
    }
    try {
      const { peers } = await entry.host
      return { peers, release }
    } catch (error) {
      release()
      throw error
    }
  }

  /** Finds the page of an app among all open hosts; its id is a secret. */
  document(page: string): ReturnType<AppService['document']> {
    for (const { opened } of this.#open.values()) {
      const appDocument = opened?.apps?.document(page)
      if (appDocument !== undefined) return appDocument
    }
    return undefined
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    for (const [key, entry] of [...this.#open]) this.#close(key, entry)
    await Promise.all(this.#closing.values())
  }

  #openHost(key: string, user: WebUser): OpenHost | undefined {
    if (this.#open.size >= this.#options.maxUsers) {
      const unused = [...this.#open].find(([, entry]) => isUnused(entry))
      if (unused === undefined) return undefined
      this.#close(...unused)
    }
    const open = async (): Promise<UserHost> => {
      await this.#closing.get(key)
      entry.opened = await this.#options.open(user)
      return entry.opened
    }
    const entry: OpenHost = {
      user,
      host: Promise.resolve().then(open),
      opened: undefined,
      leases: 0,
      lastUsedMs: performance.now(),
    }
    entry.host.catch(() => {
      if (this.#open.get(key) === entry) this.#open.delete(key)
    })
    this.#open.set(key, entry)
    return entry
  }

  #closeIdle(): void {
    const now = performance.now()
    for (const [key, entry] of [...this.#open])
      if (isUnused(entry) && now - entry.lastUsedMs >= this.#options.idleMs) this.#close(key, entry)
  }

  #close(key: string, { user, host }: OpenHost): void {
    this.#open.delete(key)
    const closed = host
      .then(
        (opened) => opened.close(),
        // The caller that opened it got the error.
        () => {},
      )
      .catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error)
        this.#options.onWarning(`The host of ${userLabel(user)} cannot be closed: ${reason}`)
      })
      .finally(() => {
        if (this.#closing.get(key) === closed) this.#closing.delete(key)
      })
    this.#closing.set(key, closed)
  }
}

/** A busy host counts as used, so that its work is not interrupted. */
function isUnused(entry: OpenHost): boolean {
  if (entry.leases > 0 || entry.opened === undefined) return false
  if (entry.opened.isBusy()) entry.lastUsedMs = performance.now()
  return !entry.opened.isBusy()
}
