import { type Askable, canAsk } from '../core/askable.ts'
import type { RoundHandle } from '../core/conduct.ts'
import type { Exchange, Peer } from '../core/exchange.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type {
  CreateMessageParams,
  CreateMessageResult,
  ElicitResult,
  ElicitSchema,
  Root,
} from '../protocol/asking.ts'
import type { LoggingLevel } from '../protocol/definitions.ts'
import type { Context, ElicitContent, Elicited, ElicitForm } from './context.ts'
import { formOf } from './form.ts'
import { Notices, progressTokenOf } from './notices.ts'
import { type DescribedSchema, isDescribed, prepare } from './schema.ts'

/** The context of one run. Nothing is made before it is used. */
export class HandlerContext implements Context {
  readonly #exchange: Exchange
  readonly #round: RoundHandle
  #notices: Notices | undefined

  constructor(exchange: Exchange, round: RoundHandle) {
    this.#exchange = exchange
    this.#round = round
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

  can(kind: Askable): boolean {
    return canAsk(this.peer, kind)
  }

  async elicit<const S extends DescribedSchema | ElicitSchema>(
    form: ElicitForm<S>,
  ): Promise<Elicited<ElicitContent<S>>> {
    const { message, schema, key } = form
    let content: unknown
    const accept = async (answer: ElicitResult): Promise<void> => {
      content = answer.action === 'accept' ? await refine(schema, answer.content ?? {}) : undefined
    }
    const params = { mode: 'form' as const, message, requestedSchema: formOf(schema) }
    const { action } = await this.#round.get().put({ method: 'elicitation/create', params }, key, accept)
    // `refine` checked the content against the very schema its type comes from.
    return action === 'accept' ? { action, content: content as ElicitContent<S> } : { action }
  }

  async elicitUrl(question: {
    message: string
    url: string
    key?: string
  }): Promise<{ action: ElicitResult['action'] }> {
    const { message, url, key } = question
    const params = { mode: 'url' as const, message, url }
    const { action } = await this.#round.get().put({ method: 'elicitation/create', params }, key)
    return { action }
  }

  sample(request: Omit<CreateMessageParams, '_meta'> & { key?: string }): Promise<CreateMessageResult> {
    const { key, ...params } = request
    return this.#round.get().put({ method: 'sampling/createMessage', params }, key)
  }

  async roots(options?: { key?: string }): Promise<Root[]> {
    const { roots } = await this.#round.get().put({ method: 'roots/list', params: {} }, options?.key)
    return roots
  }

  step<T>(name: string, work: (idempotencyKey: string) => T | Promise<T>): Promise<T> {
    return this.#round.get().step(name, work)
  }

  progress(progress: number, total?: number, message?: string): void {
    if (this.#quiet) return
    this.#told.progress({
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    })
  }

  log(level: LoggingLevel, data: unknown, logger?: string): void {
    if (!this.#quiet) this.#told.log(level, data, logger)
  }

  detach(): void {
    this.#exchange.detach?.()
  }

  /** Tells what is still held back. */
  flush(): void {
    this.#notices?.flush()
  }

  get #told(): Notices {
    this.#notices ??= new Notices(this.#exchange, progressTokenOf(this.meta))
    return this.#notices
  }

  get #quiet(): boolean {
    return this.#round.opened?.replaying ?? false
  }
}

async function refine(schema: DescribedSchema | ElicitSchema, content: object): Promise<unknown> {
  if (!isDescribed(schema)) return content
  const checked = await prepare(schema, 'input').check(content)
  if (checked.ok) return checked.value
  throw new RpcError(ErrorCode.InvalidParams, `The answer cannot be used: ${checked.why}`)
}
