import type { CreateMessageParams, SamplingContent } from '@jackfield/sdk'
import type { SamplingTable, SamplingTally } from '../../log/store/sampling-table.ts'
import type {
  ModelFacts,
  ModelReply,
  Redaction,
  SamplingEstimate,
  SamplingLimits,
  SamplingSettings,
} from '../../types/index.ts'
import { blocksOf } from '../messages.ts'
import type { SamplingRedactor } from './redact.ts'

type Money = { cost: number; currency: string }

/** Maximum usage of a running request. */
interface Reserve {
  tokens: number
  /** Undefined if the model has no price. */
  money: Money | undefined
}

interface Usage {
  tokens: number
  cost: Money | undefined
}

/** A request exceeds the server's limits. */
export class SamplingLimitError extends Error {
  override readonly name: string = 'SamplingLimitError'
  readonly limit: keyof SamplingLimits
  /** Milliseconds until the same request is allowed, if known. */
  readonly retryAfterMs: number | undefined

  constructor(limit: keyof SamplingLimits, message: string, retryAfterMs?: number) {
    super(message)
    this.limit = limit
    this.retryAfterMs = retryAfterMs
  }
}

const minuteMs = 60_000

/** Counts the usage of servers in the store, so that neither a restart nor a second process resets it. */
export class Budget {
  readonly #table: SamplingTable
  readonly #now: () => number

  constructor(table: SamplingTable, now: () => number) {
    this.#table = table
    this.#now = now
  }

  /** Admits a request and reserves its maximum usage. @throws SamplingLimitError */
  admit(
    server: string,
    limits: SamplingLimits,
    request: { cause: number | null; rounds: number; tools: boolean; reserve: Reserve },
  ): Spending {
    const { cause, rounds, tools, reserve } = request
    const at = this.#now()
    return this.#table.alone(() => {
      const tally = this.#table.tally(server, at)
      checkRequestRate(server, limits, tally, at)
      const before = tools && cause !== null ? this.#table.rounds(cause) : 0
      if (tools && Math.max(before, rounds) >= limits.toolRounds) {
        throw new SamplingLimitError(
          'toolRounds',
          `${limits.toolRounds} requests with tools for one call are the limit for ${server}`,
        )
      }
      checkUsage(server, limits, tally, reserve)
      const use = { tokens: reserve.tokens, cost: reserve.money }
      const id = this.#table.add({ server, at, cause, tools, auto: false, ...use })
      return new Spending(this.#table, this.#now, { id, server, limits, ...use })
    })
  }
}

/** The usage of one request so far. */
export class Spending {
  readonly #table: SamplingTable
  readonly #now: () => number
  readonly #use: { id: number; server: string; limits: SamplingLimits }
  /** As stored. */
  #reserved: Usage
  /** The actual usage. */
  #spent: Usage = { tokens: 0, cost: undefined }
  #auto = false

  constructor(
    table: SamplingTable,
    now: () => number,
    use: Usage & { id: number; server: string; limits: SamplingLimits },
  ) {
    const { id, server, limits, tokens, cost } = use
    this.#table = table
    this.#now = now
    this.#use = { id, server, limits }
    this.#reserved = { tokens, cost }
  }

  /** Counts the request as one without review: returns the tokens left for such requests, or the reason why it needs a review. */
  passes(): { left: number } | { reason: string } {
    if (this.#auto) return { left: 0 }
    const { server, limits } = this.#use
    return this.#table.alone(() => {
      const tally = this.#table.tally(server, this.#now())
      const remainingTokens = limits.autoTokensPerDay - tally.autoTokens - this.#reserved.tokens
      if (remainingTokens < 0)
        return { reason: `${limits.autoTokensPerDay} tokens in 24 hours pass without asking` }
      const { autoCostPerDay: maxCost } = limits
      if (maxCost !== undefined) {
        const { cost } = this.#reserved
        if (cost === undefined) return { reason: 'the model has no price' }
        if ((tally.autoCost[cost.currency] ?? 0) + cost.cost > maxCost) {
          return { reason: `${maxCost} ${cost.currency} in 24 hours pass without asking` }
        }
      }
      this.#auto = true
      this.#write()
      return { left: remainingTokens }
    })
  }

  /** Reserves the usage of another model request, in addition to the current usage. @throws SamplingLimitError */
  reserve(reserve: Reserve): void {
    const { server, limits } = this.#use
    this.#table.alone(() => {
      this.#reserved = this.#spent
      this.#write()
      checkUsage(server, limits, this.#table.tally(server, this.#now()), reserve)
      this.#reserved = addUsage(this.#spent, reserve)
      this.#write()
    })
  }

  /** Replaces the reservation with the actual usage. */
  spend(used: Reserve): void {
    this.#spent = addUsage(this.#spent, used)
    this.settle()
  }

  /** Releases the reservation. */
  settle(): void {
    this.#reserved = this.#spent
    this.#write()
  }

  #write(): void {
    this.#table.change(this.#use.id, { auto: this.#auto, ...this.#reserved })
  }
}

function addUsage(usage: Usage, added: Reserve): Usage {
  const { money } = added
  const tokens = usage.tokens + added.tokens
  if (money === undefined || usage.cost === undefined) return { tokens, cost: money ?? usage.cost }
  // Another model may have a price in another currency; the cost is then counted in the later one.
  const before = usage.cost.currency === money.currency ? usage.cost.cost : 0
  return { tokens, cost: { cost: before + money.cost, currency: money.currency } }
}

function checkRequestRate(server: string, limits: SamplingLimits, tally: SamplingTally, now: number): void {
  if (tally.requests < limits.requestsPerMinute) return
  const retryAfterMs = Math.max(0, (tally.oldest ?? now) + minuteMs - now)
  throw new SamplingLimitError(
    'requestsPerMinute',
    `${limits.requestsPerMinute} requests a minute are the limit for ${server}. Try again in ${Math.ceil(retryAfterMs / 1_000)} s`,
    retryAfterMs,
  )
}

function checkUsage(
  server: string,
  { tokensPerDay, costPerDay }: SamplingLimits,
  tally: SamplingTally,
  { tokens, money }: Reserve,
): void {
  const remainingTokens = Math.max(0, tokensPerDay - tally.tokens)
  if (tokens > remainingTokens) {
    throw new SamplingLimitError(
      'tokensPerDay',
      `${tokensPerDay} tokens in 24 hours are the limit for ${server}; ${remainingTokens} are left, and this request may use ${tokens}. Ask for less, or later`,
    )
  }
  if (costPerDay === undefined) return
  if (money === undefined) {
    throw new SamplingLimitError(
      'costPerDay',
      `${server} may cost ${costPerDay} in 24 hours, but the model has no price`,
    )
  }
  const remainingCost = Math.max(0, costPerDay - (tally.cost[money.currency] ?? 0))
  if (money.cost > remainingCost) {
    throw new SamplingLimitError(
      'costPerDay',
      `${costPerDay} ${money.currency} in 24 hours are the limit for ${server}, and this request would go over it. Ask for less, or later`,
    )
  }
}

const bytesPerToken = 4
const tokensPerMessage = 4
const tokensPerImage = 1_600
const audioBytesPerToken = 640

/** Tokens of a text, estimated: one for every four bytes of UTF-8. */
function textTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken)
}

/**
 * Tokens of a request, estimated: one for every four bytes of its texts and of tool definitions as JSON, four for each
 * message, 1 600 for each image, and one for every 640 bytes of sound.
 */
export function requestTokens({
  systemPrompt,
  messages,
  tools,
}: Pick<CreateMessageParams, 'systemPrompt' | 'messages' | 'tools'>): number {
  const messageTokens = messages.reduce((sum, message) => sum + tokensPerMessage + replyTokens(message), 0)
  const offered = tools === undefined ? 0 : textTokens(JSON.stringify(tools))
  return (
    messageTokens + offered + (systemPrompt === undefined ? 0 : textTokens(systemPrompt) + tokensPerMessage)
  )
}

/** Tokens of the content of a message or reply, estimated in the same way if its model does not report them. */
export function replyTokens({ content }: Pick<ModelReply, 'content'>): number {
  return blocksOf(content).reduce((sum, block) => sum + blockTokens(block), 0)
}

function blockTokens(block: SamplingContent): number {
  switch (block.type) {
    case 'text':
      return textTokens(block.text)
    case 'image':
      return tokensPerImage
    case 'audio':
      return Math.ceil((block.data.length * 3) / 4 / audioBytesPerToken)
    default:
      return textTokens(JSON.stringify(block))
  }
}

/** The cost of so many tokens; undefined without a configured price. */
export function costOf(
  facts: ModelFacts | undefined,
  inputTokens: number,
  outputTokens: number,
): Money | undefined {
  if (facts?.cost === undefined) return undefined
  const cost = (inputTokens * facts.cost.input + outputTokens * facts.cost.output) / 1_000_000
  return { cost, currency: facts.currency ?? 'USD' }
}

/** The maximum usage of a request with one model. */
export function estimateOf(params: CreateMessageParams, facts: ModelFacts | undefined): SamplingEstimate {
  const inputTokens = requestTokens(params)
  const outputTokens = params.maxTokens
  return { inputTokens, outputTokens, ...costOf(facts, inputTokens, outputTokens) }
}

/** Estimates the tokens, cost and redactions of a request to a model. */
export type RequestEstimator = (
  params: CreateMessageParams,
  model: string,
) => { estimate: SamplingEstimate; redactions: readonly Redaction[] }

export function createRequestEstimator(
  settings: SamplingSettings,
  redactor: SamplingRedactor,
): RequestEstimator {
  return (request, model) => {
    const { params, redactions } = redactor.redact(request)
    return { estimate: estimateOf(params, factsOf(settings, model)), redactions }
  }
}

/** The known data of a model. */
export function factsOf({ models }: SamplingSettings, model: string): ModelFacts | undefined {
  return models?.find(({ id }) => id === model)
}

/** The maximum usage of one request with a model. */
export function reserveFor(params: CreateMessageParams, facts: ModelFacts | undefined): Reserve {
  const inputTokens = requestTokens(params)
  return { tokens: inputTokens + params.maxTokens, money: costOf(facts, inputTokens, params.maxTokens) }
}
