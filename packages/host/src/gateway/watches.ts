import type { Watch } from '@jackfield/sdk/client'
import { reasonOf } from '../shared/text.ts'
import type { Host } from '../types/index.ts'

interface Watched {
  readonly server: string
  holds: number
  watch: Promise<Watch | undefined>
}

/** Resources that clients of a gateway want to hear of: each is watched once at its server, however many want it. */
export class Watches {
  readonly #host: Pick<Host, 'watch'>
  readonly #updated: (uri: string) => void
  readonly #warn: (message: string) => void
  readonly #byUri = new Map<string, Watched>()

  constructor(host: Pick<Host, 'watch'>, updated: (uri: string) => void, warn: (message: string) => void) {
    this.#host = host
    this.#updated = updated
    this.#warn = warn
  }

  /** Watches a resource until the returned function is called. Resolves when the watch stands. */
  async hold(server: string, uri: string): Promise<() => void> {
    const known = this.#byUri.get(uri)
    const watched = known ?? { server, holds: 0, watch: this.#open(server, uri) }
    this.#byUri.set(uri, watched)
    watched.holds++
    await watched.watch
    return () => {
      if (--watched.holds > 0) return
      this.#byUri.delete(uri)
      watched.watch.then((watch) => watch?.close())
    }
  }

  /** The server was connected anew, which ended its watches. */
  again(server: string): void {
    for (const [uri, watched] of this.#byUri) {
      if (watched.server !== server) continue
      const before = watched.watch
      watched.watch = before.then(async (watch) => {
        await watch?.close()
        if (watched.holds === 0) return undefined
        // What was changed meanwhile nobody told.
        this.#updated(uri)
        return this.#open(server, uri)
      })
    }
  }

  close(): void {
    for (const { watch } of this.#byUri.values()) watch.then((open) => open?.close())
    this.#byUri.clear()
  }

  async #open(server: string, uri: string): Promise<Watch | undefined> {
    try {
      return await this.#host.watch(server, [uri], (change) => {
        if (change.type === 'resource') this.#updated(uri)
      })
    } catch (error) {
      this.#warn(`Changes of ${uri} cannot be watched at ${server}: ${reasonOf(error)}`)
      return undefined
    }
  }
}
