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
  readonly uriCounts: Map<string, number>
  open: { watch: Watch; requestedUris: ReadonlySet<string>; since: number } | undefined
  running: Promise<void> | undefined
  retry: NodeJS.Timeout | undefined
  failures: number
}

const stableAfterMs = 60_000

/** One subscription for each server, with all watched URIs. It is closed when none is left. */
export class Watches {
  readonly #options: WatchOptions
  readonly #servers = new Map<string, ServerWatch>()
  #isListening = false

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
    this.#listenOnce()
    const serverWatch = this.#servers.get(server) ?? {
      uriCounts: new Map(),
      open: undefined,
      running: undefined,
      retry: undefined,
      failures: 0,
    }
    this.#servers.set(server, serverWatch)
    for (const uri of uris) serverWatch.uriCounts.set(uri, (serverWatch.uriCounts.get(uri) ?? 0) + 1)
    return this.#run(server, serverWatch)
  }

  release(server: string, uri: string): void {
    const serverWatch = this.#servers.get(server)
    if (serverWatch === undefined) return
    const count = serverWatch.uriCounts.get(uri) ?? 0
    if (count > 1) serverWatch.uriCounts.set(uri, count - 1)
    else serverWatch.uriCounts.delete(uri)
    this.#run(server, serverWatch)
  }

  #run(server: string, serverWatch: ServerWatch): Promise<void> {
    clearTimeout(serverWatch.retry)
    // Calls of the same tick become one request.
    serverWatch.running ??= Promise.resolve()
      .then(() => this.#open(server, serverWatch))
      .then(
        () => {
          serverWatch.running = undefined
          // Other resources may have been added meanwhile.
          if (!isUpToDate(serverWatch)) return this.#run(server, serverWatch)
          if (serverWatch.uriCounts.size === 0) this.#servers.delete(server)
          return undefined
        },
        (error: unknown) => {
          serverWatch.running = undefined
          const cannotWatch = error instanceof McpError && error.code === 'CAPABILITY'
          if (!cannotWatch) this.#retryLater(server, serverWatch)
        },
      )
    return serverWatch.running
  }

  async #open(server: string, serverWatch: ServerWatch): Promise<void> {
    while (!isUpToDate(serverWatch)) {
      const previousWatch = serverWatch.open?.watch
      const requestedUris = new Set(serverWatch.uriCounts.keys())
      if (requestedUris.size > 0) await this.#watch(server, serverWatch, requestedUris)
      else serverWatch.open = undefined
      await previousWatch?.close()
    }
  }

  async #watch(server: string, serverWatch: ServerWatch, requestedUris: ReadonlySet<string>): Promise<void> {
    const watch = await this.#options.host.watch(server, [...requestedUris], (change) => {
      if (change.type === 'resource') this.#options.changed(server, change.uri)
    })
    serverWatch.open = { watch, requestedUris, since: performance.now() }
    watch.closed.then(() => {
      if (serverWatch.open?.watch !== watch) return
      if (performance.now() - serverWatch.open.since > stableAfterMs) serverWatch.failures = 0
      serverWatch.open = undefined
      this.#options.ended(server)
      this.#retryLater(server, serverWatch)
    })
    this.#options.opened(server, watch.acknowledged.resourceSubscriptions ?? [])
  }

  /** A disconnected server is watched again after its reconnect; a connected one, after a pause. */
  #retryLater(server: string, serverWatch: ServerWatch): void {
    clearTimeout(serverWatch.retry)
    serverWatch.failures += 1
    serverWatch.retry = setTimeout(
      () => {
        if (isConnected(this.#options.host, server)) this.#run(server, serverWatch)
      },
      backoff(serverWatch.failures + 2),
    )
    serverWatch.retry.unref()
  }

  #listenOnce(): void {
    if (this.#isListening) return
    this.#isListening = true
    this.#options.host.on(
      (event) => {
        if (event.type !== 'connection') return
        const serverWatch = this.#servers.get(event.server)
        if (serverWatch !== undefined && isConnected(this.#options.host, event.server))
          this.#run(event.server, serverWatch)
      },
      ['connection'],
    )
  }
}

function isUpToDate({ uriCounts: wanted, open }: ServerWatch): boolean {
  const requestedUris = open?.requestedUris ?? new Set()
  return requestedUris.size === wanted.size && [...wanted.keys()].every((uri) => requestedUris.has(uri))
}

function isConnected(host: Watching, server: string): boolean {
  const state = host.connections.get(server)?.state
  return state === 'ready' || state === 'degraded'
}
