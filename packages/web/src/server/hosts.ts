import type { AppService } from '@jackfield/host'
import type { PeerServer } from '@jackfield/host/service'
import type { WebSession } from './session-store.ts'
import { userKey, userLabel, type WebUser } from './users.ts'

/** A host in use by a request or a socket. */
export interface HostUse {
  readonly peers: PeerServer
  /** Ends the use. Without uses, a host can be closed. */
  release(): void
}

/** Finds the host of a session. */
export interface Hosts {
  /** Undefined where too many users use theirs. @throws Error where the host cannot be opened */
  use(session: WebSession): Promise<HostUse | undefined>
}

/** The one host of a person. */
export function singleHost(peers: PeerServer): Hosts {
  return { use: async () => ({ peers, release() {} }) }
}

/** The host of one user. */
export interface UserHost {
  readonly peers: PeerServer
  /** Default: no apps are shown. */
  readonly apps?: Pick<AppService, 'document'>
  /** Whether its end would interrupt work, such as a turn of a conversation. */
  isBusy(): boolean
  close(): Promise<void>
}

export interface UserHostsOptions {
  /** Opens the host of a user. It is closed before it is opened again. */
  open(user: WebUser): Promise<UserHost>
  /** Hosts that can be open. For a further user, the one that was not used for longest is closed. */
  maxUsers: number
  /** Milliseconds without use and work after which a host is closed. */
  idleMs: number
  onWarning: (message: string) => void
}

interface OpenHost {
  readonly user: WebUser
  readonly host: Promise<UserHost>
  /** Once it is open. */
  opened: UserHost | undefined
  uses: number
  usedMs: number
}

/** The hosts of several users: each is opened when its user comes, and closed when it was not used for a time. */
export class UserHosts implements Hosts {
  readonly #options: UserHostsOptions
  /** By user, the most recently used last. */
  readonly #open = new Map<string, OpenHost>()
  /** A host that is being closed has its store until then. */
  readonly #closing = new Map<string, Promise<void>>()
  readonly #timer: NodeJS.Timeout

  constructor(options: UserHostsOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#closeIdle(), Math.max(10, options.idleMs / 4))
    this.#timer.unref()
  }

  /** Users whose hosts are open. */
  get count(): number {
    return this.#open.size
  }

  async use({ user }: WebSession): Promise<HostUse | undefined> {
    if (user === undefined) throw new Error('The session has no user')
    const key = userKey(user)
    const entry = this.#open.get(key) ?? this.#begin(key, user)
    if (entry === undefined) return undefined
    entry.uses++
    this.#open.delete(key)
    this.#open.set(key, entry)
    let isReleased = false
    const release = (): void => {
      if (isReleased) return
      isReleased = true
      entry.uses--
      entry.usedMs = performance.now()
    }
    try {
      const { peers } = await entry.host
      return { peers, release }
    } catch (error) {
      release()
      throw error
    }
  }

  /** The page of an app of any user; its id is a secret. */
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

  #begin(key: string, user: WebUser): OpenHost | undefined {
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
      uses: 0,
      usedMs: performance.now(),
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
      if (isUnused(entry) && now - entry.usedMs >= this.#options.idleMs) this.#close(key, entry)
  }

  #close(key: string, { user, host }: OpenHost): void {
    this.#open.delete(key)
    const closed = host
      .then(
        (opened) => opened.close(),
        // Whoever opened it has the error.
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

/** A busy host counts as used: its work would be interrupted. */
function isUnused(entry: OpenHost): boolean {
  if (entry.uses > 0 || entry.opened === undefined) return false
  if (entry.opened.isBusy()) entry.usedMs = performance.now()
  return !entry.opened.isBusy()
}
