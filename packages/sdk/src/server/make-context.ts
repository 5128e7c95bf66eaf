import { type Askable, canAsk } from '../core/askable.ts'
import type { RoundHandle } from '../core/conduct.ts'
import type { Exchange, Peer } from '../core/exchange.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { Context, ElicitContent, Elicited, ElicitForm, FormSchema, RequestTransport } from './context.ts'
import { ToolError } from './definitions.ts'
import { validate } from './described.ts'
import { formOf } from './form.ts'
import type { Notices } from './notices.ts'
import { describedOf } from './schema-shape.ts'

/** The context of one run. Nothing is made before it is used, and every member works taken off the context. */
export class HandlerContext implements Context {
  readonly #exchange: Exchange
  readonly #round: RoundHandle
  readonly #notices: Notices
  #stop: ((error: Error) => void) | undefined
  #stopped: Error | undefined

  constructor(exchange: Exchange, round: RoundHandle, notices: Notices) {
    this.#exchange = exchange
    this.#round = round
    this.#notices = notices
  }

  /** Runs a handler; its run ends early when it asked something that cannot be asked, or got no usable answer. */
  run(handler: (ctx: Context) => unknown): unknown {
    const returned = handler(this)
    if (!isThenable(returned)) return returned
    return new Promise((resolve, reject) => {
      this.#stop = reject
      if (this.#stopped !== undefined) reject(this.#stopped)
      returned.then(resolve, reject)
    })
  }

  get peer(): Peer {
    return this.#exchange.peer
  }

  get signal(): AbortSignal {
    return this.#exchange.signal
  }

  get parked(): AbortSignal {
    return this.#round.get().parked
  }

  get transport(): RequestTransport {
    const { transport: kind, session, headers } = this.#exchange
    return { kind, sessionId: session?.id, headers: headers?.() ?? {} }
  }

  get meta(): Readonly<JsonObject> {
    const meta = this.#exchange.params['_meta']
    return isObject(meta) ? meta : {}
  }

  get state(): unknown {
    return this.#round.carried.state
  }

  get answers(): Readonly<Record<string, unknown>> {
    return this.#round.carried.answers
  }

  get can(): (kind: Askable) => boolean {
    return (kind) => canAsk(this.peer, kind)
  }

  get elicit(): Context['elicit'] {
    return (form) => this.#elicit(form)
  }

  get elicitUrl(): Context['elicitUrl'] {
    return async ({ message, url, key, id }) => {
      const named = id === undefined ? {} : { elicitationId: id }
      const params = { mode: 'url' as const, message, url, ...named }
      const { action } = await this.#round.get().put({ method: 'elicitation/create', params }, key)
      return { action }
    }
  }

  get sample(): Context['sample'] {
    return async ({ key, ...params }) =>
      this.#round.get().put({ method: 'sampling/createMessage', params }, key)
  }

  get roots(): Context['roots'] {
    return async (options) => {
      const { roots } = await this.#round.get().put({ method: 'roots/list', params: {} }, options?.key)
      return roots
    }
  }

  get step(): Context['step'] {
    return (name, work) => this.#round.get().step(name, work)
  }

  get task(): Context['task'] {
    return async () => {
      if (this.#exchange.takeOver !== undefined) await this.#round.get().leave()
    }
  }

  get progress(): Context['progress'] {
    return (progress, total, message) => {
      if (this.#replaying) return
      this.#notices.progress({
        progress,
        ...(total === undefined ? {} : { total }),
        ...(message === undefined ? {} : { message }),
      })
    }
  }

  get log(): Context['log'] {
    return (level, data, logger) => {
      if (!this.#replaying) this.#notices.log(level, data, logger)
    }
  }

  get detach(): () => void {
    return () => this.#exchange.detach?.()
  }

  get #replaying(): boolean {
    return this.#round.opened?.replaying ?? false
  }

  async #elicit<S extends FormSchema>(question: ElicitForm<S>): Promise<Elicited<ElicitContent<S>>> {
    const { message, schema, key } = question
    const form = formOf(schema, question)
    if (!form.ok) return this.#end(new TypeError(form.why))
    const params = { mode: 'form' as const, message, requestedSchema: form.schema }
    const { action, content = {} } = await this.#round
      .get()
      .put({ method: 'elicitation/create', params }, key)
    if (action !== 'accept') return { action }
    const described = describedOf(schema)
    const checked =
      described === undefined ? { ok: true as const, value: content } : await validate(described, content)
    if (!checked.ok) return this.#end(new ToolError(`The answer cannot be used: ${checked.why}`))
    // The content was checked against the very schema its type comes from.
    return { action, content: checked.value as ElicitContent<S> }
  }

  /** Ends the run; the promise never settles, so that no handler can take this for an answer. */
  #end(error: Error): Promise<never> {
    this.#stopped = error
    this.#stop?.(error)
    return new Promise(() => {})
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return isObject(value) && typeof value['then'] === 'function'
}
