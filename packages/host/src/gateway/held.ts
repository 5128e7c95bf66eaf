import { randomUUID } from 'node:crypto'
import {
  type Context,
  ErrorCode,
  type InputRequests,
  McpError,
  type Question,
  RpcError,
} from '@jackfield/sdk'
import type { ProgressReport } from '@jackfield/sdk/client'

/** What a request is about, and for whom. */
export interface Subject {
  readonly server: string
  /** The tool or prompt by the server's own name, or the URI. */
  readonly target: string
  readonly conversation: string
}

interface Open {
  readonly question: Question
  settle(answer: unknown): void
}

type Over<T> = { readonly result: T } | { readonly error: unknown }

/** One request that goes on at its server while its client, which is asked by the end of a round, comes and goes. */
export class HeldCall<T> {
  readonly id: string = randomUUID()
  readonly subject: Subject
  readonly principal: string | null
  /** Its activity row, once it is known. */
  row: number | undefined
  readonly #stop = new AbortController()
  readonly #open = new Map<string, Open>()
  readonly #over: Promise<void>
  #ended: Over<T> | undefined
  #context: Context
  #listening = false
  #asked: () => void = () => {}
  #count = 0

  constructor(subject: Subject, context: Context, run: (call: HeldCall<T>) => Promise<T>) {
    this.subject = subject
    this.principal = context.peer.principal
    this.#context = context
    this.#over = run(this).then(
      (result) => {
        this.#ended = { result }
      },
      (error: unknown) => {
        this.#ended = { error }
      },
    )
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  /** Whether its client can be asked this. */
  get can(): Context['can'] {
    return this.#context.can
  }

  /** Who its client says it is. */
  get client(): string {
    return this.#context.peer.info?.name ?? 'a client'
  }

  /** Puts a question to its client. Rejects where the answer is no longer wanted. */
  ask(question: Question, signal: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const key = `q${++this.#count}`
      const withdraw = (): void => {
        this.#open.delete(key)
        reject(new RpcError(ErrorCode.InternalError, 'The client of the gateway gave no answer'))
      }
      if (signal.aborted || this.signal.aborted) return withdraw()
      signal.addEventListener('abort', withdraw, { once: true })
      this.signal.addEventListener('abort', withdraw, { once: true })
      this.#open.set(key, { question, settle: resolve })
      this.#asked()
    })
  }

  progress({ progress, total, message }: ProgressReport): void {
    if (this.#listening) this.#context.progress(progress, total, message)
  }

  /** Answers what is still open of the questions that were put. */
  answer(answers: Readonly<Record<string, unknown>>): void {
    for (const [key, { settle }] of [...this.#open]) {
      if (!Object.hasOwn(answers, key)) continue
      this.#open.delete(key)
      settle(answers[key])
    }
  }

  /** Waits until it is over or asks something. Throws what it failed with. */
  async next(context: Context): Promise<{ result: T } | { asked: InputRequests }> {
    this.#context = context
    this.#listening = true
    const stop = (): void => this.cancel(context.signal.reason)
    if (context.signal.aborted) stop()
    context.signal.addEventListener('abort', stop, { once: true })
    // On a live connection the same exchange goes on when the answers are there, so its end is this one's end.
    if (context.peer.revision.era === 'session') {
      context.parked.addEventListener('abort', stop, { once: true })
    }
    try {
      while (this.#ended === undefined) {
        await Promise.race([this.#over, this.#question()])
        // Questions put at once travel at once.
        await new Promise((resolve) => setImmediate(resolve))
        if (this.#open.size > 0 && this.#ended === undefined) return { asked: this.#questions() }
      }
      if ('error' in this.#ended) throw this.#ended.error
      return this.#ended
    } finally {
      this.#listening = false
      if (context.peer.revision.era === 'stateless') context.signal.removeEventListener('abort', stop)
    }
  }

  cancel(reason: unknown): void {
    this.#stop.abort(reason)
  }

  #question(): Promise<void> {
    if (this.#open.size > 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#asked = resolve
    })
  }

  #questions(): InputRequests {
    return Object.fromEntries(Array.from(this.#open, ([key, { question }]) => [key, question]))
  }
}

const most = 256
const mostOfOne = 32

/** Requests that wait for their client to come back with answers. */
export class HeldCalls<T> {
  readonly #heldMs: number
  readonly #waiting = new Map<string, { readonly call: HeldCall<T>; timer: NodeJS.Timeout }>()

  constructor(heldMs: number) {
    this.#heldMs = heldMs
  }

  /**
   * Keeps a request until its client comes back, or for so long.
   * @throws RpcError where there is no room
   */
  keep(call: HeldCall<T>): void {
    const own = [...this.#waiting.values()].filter((other) => other.call.principal === call.principal)
    if (this.#waiting.size >= most || own.length >= mostOfOne) {
      call.cancel(new McpError('LIMIT', 'Too many requests wait for an answer'))
      throw new RpcError(
        ErrorCode.InternalError,
        'Too many requests wait for an answer here: answer some, or try again later',
      )
    }
    const timer = setTimeout(() => {
      this.#waiting.delete(call.id)
      call.cancel(new McpError('TIMEOUT', `The client did not come back within ${this.#heldMs} ms`))
    }, this.#heldMs)
    this.#waiting.set(call.id, { call, timer: timer.unref() })
  }

  /** The request that waits under an id for this principal, which from then on waits no more. */
  take(id: unknown, principal: string | null): HeldCall<T> | undefined {
    const waiting = typeof id === 'string' ? this.#waiting.get(id) : undefined
    if (waiting === undefined || waiting.call.principal !== principal) return undefined
    clearTimeout(waiting.timer)
    this.#waiting.delete(waiting.call.id)
    return waiting.call
  }

  close(): void {
    for (const { call, timer } of this.#waiting.values()) {
      clearTimeout(timer)
      call.cancel(new McpError('CONNECTION_CLOSED', 'The gateway was closed'))
    }
    this.#waiting.clear()
  }
}
