import { isObject, parseJson } from '../../jsonrpc/parse.ts'
import type { Backplane } from '../../request/backplane.ts'
import type { Change, Changes } from '../../request/changes.ts'
import type { Server } from '../../server/server.ts'
import { report, unref } from './options.ts'

/** Changes told at once, and the characters of what they name; more of them are told as "anything". */
const mostTold = 1000
const mostChars = 64_000
const retryMs = { first: 500, longest: 30_000 }

/** Changes that other nodes told, so that they are not told on. */
const fromElsewhere = new WeakSet<Change>()
/** What each server's hub is called among nodes; however often it is mounted, it need not hear itself. */
const names = new WeakMap<Changes, string>()

/** Tells the other nodes of one server what changes here, and what changes there to who listens here. */
export class ChangeReplicator {
  readonly #server: Server
  readonly #backplane: Backplane
  readonly #topic: string
  readonly #over = new AbortController()
  readonly #untold = new Map<string, Change>()
  #untoldChars = 0
  #telling = false
  #opening: Promise<void> | undefined
  #leave: (() => void) | undefined

  constructor(server: Server, backplane: Backplane) {
    this.#server = server
    this.#backplane = backplane
    this.#topic = `changes:${server.info.name}`
    // Taken where they are published, so that a bound holds however many come at once; nobody reads what is watched.
    server.changes.watch((change) => this.#take(change), this.#over.signal)
  }

  /**
   * Begins to hear other nodes; settles when it does, or when that failed and is tried again. Who listens here before
   * is told that something may have been missed.
   */
  open(): Promise<void> {
    this.#opening ??= this.#open(0)
    return this.#opening
  }

  close(): void {
    this.#over.abort()
    this.#leave?.()
  }

  async #open(failures: number): Promise<void> {
    const { signal } = this.#over
    try {
      const leave = await this.#backplane.subscribe(
        this.#topic,
        (message) => this.#hear(message),
        () => this.#missed(),
      )
      if (signal.aborted) {
        leave()
        return
      }
      this.#leave = leave
      this.#missed()
    } catch (error) {
      report(this.#server, error, 'changes of other nodes')
      this.#later(failures, () => this.#open(failures + 1))
    }
  }

  #take(change: Change): boolean {
    if (fromElsewhere.has(change) || change.type === 'log') return false
    const key = JSON.stringify(change)
    if (this.#untold.has(key)) return false
    this.#untoldChars += key.length
    if (this.#untold.size >= mostTold || this.#untoldChars > mostChars) this.#tellAnything()
    else this.#untold.set(key, change)
    if (!this.#telling) {
      this.#telling = true
      queueMicrotask(() => this.#tell(0))
    }
    return false
  }

  #tellAnything(): void {
    this.#untold.clear()
    this.#untoldChars = 0
    this.#untold.set('anything', { type: 'anything' })
  }

  /** Tells what is untold, until nothing is; what cannot be told now becomes "anything". */
  async #tell(failures: number): Promise<void> {
    const { signal } = this.#over
    try {
      while (this.#untold.size > 0 && !signal.aborted) {
        const changes = [...this.#untold.values()]
        this.#untold.clear()
        this.#untoldChars = 0
        await this.#backplane.publish(this.#topic, JSON.stringify({ from: this.#name(), changes }))
      }
      this.#telling = false
    } catch (error) {
      report(this.#server, error, 'changes for other nodes')
      this.#tellAnything()
      this.#later(failures, () => this.#tell(failures + 1))
    }
  }

  #hear(text: string): void {
    let said: unknown
    try {
      said = parseJson(text)
    } catch (error) {
      report(this.#server, error, 'changes of other nodes')
      return
    }
    if (!isObject(said) || said['from'] === this.#name() || !Array.isArray(said['changes'])) return
    for (const one of said['changes'].slice(0, mostTold)) {
      const change = changeOf(one)
      if (change !== undefined) this.#publish(change)
    }
  }

  #missed(): void {
    this.#publish({ type: 'anything' })
  }

  #publish(change: Change): void {
    fromElsewhere.add(change)
    this.#server.changes.publish(change)
  }

  #name(): string {
    const { changes } = this.#server
    const name = names.get(changes) ?? crypto.randomUUID()
    names.set(changes, name)
    return name
  }

  /** Tries again after a pause by chance, which is longer after every failure. */
  #later(failures: number, work: () => Promise<void>): void {
    if (this.#over.signal.aborted) return
    const most = Math.min(retryMs.longest, retryMs.first * 2 ** failures)
    unref(setTimeout(work, Math.random() * most))
  }
}

/** A change as another node told it; undefined for one this version does not know. */
function changeOf(said: unknown): Change | undefined {
  if (!isObject(said)) return undefined
  const { type, uri, id } = said
  switch (type) {
    case 'tools':
    case 'prompts':
    case 'resources':
    case 'anything':
      return { type }
    case 'resource':
      return typeof uri === 'string' ? { type, uri } : undefined
    case 'elicitation':
      return typeof id === 'string' ? { type, id } : undefined
    default:
      return undefined
  }
}
