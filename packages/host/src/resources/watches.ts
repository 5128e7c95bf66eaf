import { McpError } from '@jackfield/sdk'
import type { Watch } from '@jackfield/sdk/client'
import { backoff } from '../servers/connections/backoff.ts'
import type { Host } from '../types/index.ts'

export type Watching = Pick<Host, 'watch' | 'on' | 'connections'>

interface WatchOptions {
  host: Watching
  /** A resource changed, or one below this URI. */
  changed: (server: string, uri: string) => void
  /** The server reports changes of these from now on; earlier changes are unknown. */
  opened: (server: string, uris: readonly string[]) => void
  /** Changes at a server are no longer reported. */
  ended: (server: string) => void
}

interface ServerWatch {
  /** URIs with their number of holders. */
  readonly wanted: Map<string, number>
  open: { watch: Watch; asked: ReadonlySet<string>; since: number } | undefined
  running: Promise<void> | undefined
  retry: NodeJS.Timeout | undefined
  failures: number
}

const lastingMs = 60_000

/** One subscription for each server, with all watched URIs. It is closed when none is left. */
export class Watches {
  readonly #options: WatchOptions
  readonly #servers = new Map<string, ServerWatch>()
  #listens = false

  constructor(options: WatchOptions) {
    this.#options = options
  }

  /** Whether its server reports changes of this resource. */
  covers(server: string, uri: string): boolean {
    const { acknowledged } = this.#servers.get(server)?.open?.watch ?? {}
    return acknowledged?.resourceSubscriptions?.some((watched) => uri.startsWith(watched)) === true
  }

  /** Watches resources of one server. Resolves when they are watched, or cannot be at present. */
  add(server: string, uris: readonly string[]): Promise<void> {
    this.#listen()
    const one = this.#servers.get(server) ?? {
      wanted: new Map(),
      open: undefined,
      running: undefined,
      retry: undefined,
      failures: 0,
    }
    this.#servers.set(server, one)
    for (const uri of uris) one.wanted.set(uri, (one.wanted.get(uri) ?? 0) + 1)
    return this.#run(server, one)
  }

  release(server: string, uri: string): void {
    const one = this.#servers.get(server)
    if (one === undefined) return
    const count = one.wanted.get(uri) ?? 0
    if (count > 1) one.wanted.set(uri, count - 1)
    else one.wanted.delete(uri)
    this.#run(server, one)
  }

  #run(server: string, one: ServerWatch): Promise<void> {
    clearTimeout(one.retry)
    // Calls of the same tick become one request.
    one.running ??= Promise.resolve()
      .then(() => this.#open(server, one))
      .then(
        () => {
          one.running = undefined
          // Other resources may have been added meanwhile.
          if (!isWanted(one)) return this.#run(server, one)
          if (one.wanted.size === 0) this.#servers.delete(server)
          return undefined
        },
        (error: unknown) => {
          one.running = undefined
          const cannotWatch = error instanceof McpError && error.code === 'CAPABILITY'
          if (!cannotWatch) this.#later(server, one)
        },
      )
    return one.running
  }

  async #open(server: string, one: ServerWatch): Promise<void> {
    while (!isWanted(one)) {
      const before = one.open?.watch
      const asked = new Set(one.wanted.keys())
      if (asked.size > 0) await this.#watch(server, one, asked)
      else one.open = undefined
      await before?.close()
    }
  }

  async #watch(server: string, one: ServerWatch, asked: ReadonlySet<string>): Promise<void> {
    const watch = await this.#options.host.watch(server, [...asked], (change) => {
      if (change.type === 'resource') this.#options.changed(server, change.uri)
    })
    one.open = { watch, asked, since: performance.now() }
    watch.closed.then(() => {
      if (one.open?.watch !== watch) return
      if (performance.now() - one.open.since > lastingMs) one.failures = 0
      one.open = undefined
      this.#options.ended(server)
      this.#later(server, one)
    })
    this.#options.opened(server, watch.acknowledged.resourceSubscriptions ?? [])
  }

  /** A disconnected server is watched again after its reconnect; a connected one, after a pause. */
  #later(server: string, one: ServerWatch): void {
    clearTimeout(one.retry)
    one.failures += 1
    one.retry = setTimeout(
      () => {
        if (isUp(this.#options.host, server)) this.#run(server, one)
      },
      backoff(one.failures + 2),
    )
    one.retry.unref()
  }

  #listen(): void {
    if (this.#listens) return
    this.#listens = true
    this.#options.host.on(
      (event) => {
        if (event.type !== 'connection') return
        const one = this.#servers.get(event.server)
        if (one !== undefined && isUp(this.#options.host, event.server)) this.#run(event.server, one)
      },
      ['connection'],
    )
  }
}

function isWanted({ wanted, open }: ServerWatch): boolean {
  const asked = open?.asked ?? new Set()
  return asked.size === wanted.size && [...wanted.keys()].every((uri) => asked.has(uri))
}

function isUp(host: Watching, server: string): boolean {
  const state = host.connections.get(server)?.state
  return state === 'ready' || state === 'degraded'
}
