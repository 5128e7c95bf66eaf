import type { SamplingTable, SamplingTally } from '../../log/store/sampling-table.ts'
import type { SamplingLimits } from '../../types/index.ts'

type Money = { cost: number; currency: string }

/** What an answer under way may use at most. */
export interface Reserve {
  tokens: number
  /** Undefined where the model has no price. */
  money: Money | undefined
}

/** A server asks for more than its limits leave. */
export class OverLimit extends Error {
  override readonly name: string = 'OverLimit'
  readonly limit: keyof SamplingLimits
  /** Milliseconds until the same request may be let through, where that is known. */
  readonly retryAfterMs: number | undefined

  constructor(limit: keyof SamplingLimits, message: string, retryAfterMs?: number) {
    super(message)
    this.limit = limit
    this.retryAfterMs = retryAfterMs
  }
}

const minuteMs = 60_000

/** Counts what servers use, in the store, so that neither a restart nor a second process gives more. */
export class Budget {
  readonly #table: SamplingTable
  readonly #now: () => number

  constructor(table: SamplingTable, now: () => number) {
    this.#table = table
    this.#now = now
  }

  /** Lets a request in and keeps free what its answer may use. @throws OverLimit */
  admit(
    server: string,
    limits: SamplingLimits,
    request: { cause: number | null; rounds: number; tools: boolean; reserve: Reserve },
  ): Spending {
    const { cause, rounds, tools, reserve } = request
    const at = this.#now()
    return this.#table.alone(() => {
      const tally = this.#table.tally(server, at)
      refuseTooMany(server, limits, tally, at)
      const before = tools && cause !== null ? this.#table.rounds(cause) : 0
      if (tools && Math.max(before, rounds) >= limits.toolRounds) {
        throw new OverLimit(
          'toolRounds',
          `${limits.toolRounds} requests with tools for one call are the limit for ${server}`,
        )
      }
      refuseTooMuch(server, limits, tally, reserve)
      const use = { tokens: reserve.tokens, cost: reserve.money }
      const id = this.#table.add({ server, at, cause, tools, auto: false, ...use })
      return new Spending(this.#table, this.#now, { id, server, limits, ...use })
    })
  }
}

/** What one request used so far. */
export class Spending {
  readonly #table: SamplingTable
  readonly #now: () => number
  readonly #use: { id: number; server: string; limits: SamplingLimits }
  /** As the store has it. */
  #kept: { tokens: number; cost: Money | undefined }
  /** What was really used. */
  #spent: { tokens: number; cost: Money | undefined } = { tokens: 0, cost: undefined }
  #auto = false

  constructor(
    table: SamplingTable,
    now: () => number,
    use: { id: number; server: string; limits: SamplingLimits; tokens: number; cost: Money | undefined },
  ) {
    const { id, server, limits, tokens, cost } = use
    this.#table = table
    this.#now = now
    this.#use = { id, server, limits }
    this.#kept = { tokens, cost }
  }

  /** Whether it passes without asking the person; undefined where the budget for that does not last, which is said in words. */
  passes(): { left: number } | { why: string } {
    if (this.#auto) return { left: 0 }
    const { server, limits } = this.#use
    return this.#table.alone(() => {
      const tally = this.#table.tally(server, this.#now())
      const left = limits.autoTokensPerDay - tally.autoTokens - this.#kept.tokens
      if (left < 0) return { why: `${limits.autoTokensPerDay} tokens in 24 hours pass without asking` }
      const { autoCostPerDay: most } = limits
      if (most !== undefined) {
        const { cost } = this.#kept
        if (cost === undefined) return { why: 'the model has no price' }
        if ((tally.autoCost[cost.currency] ?? 0) + cost.cost > most) {
          return { why: `${most} ${cost.currency} in 24 hours pass without asking` }
        }
      }
      this.#auto = true
      this.#write()
      return { left }
    })
  }

  /** Keeps free what another answer may use, besides what was used already. @throws OverLimit */
  reserve(reserve: Reserve): void {
    const { server, limits } = this.#use
    this.#table.alone(() => {
      this.#kept = this.#spent
      this.#write()
      refuseTooMuch(server, limits, this.#table.tally(server, this.#now()), reserve)
      this.#kept = sum(this.#spent, reserve)
      this.#write()
    })
  }

  /** Notes what an answer really used, in place of what was kept free. */
  spend(used: Reserve): void {
    this.#spent = sum(this.#spent, used)
    this.settle()
  }

  /** Nothing more will be used. */
  settle(): void {
    this.#kept = this.#spent
    this.#write()
  }

  #write(): void {
    this.#table.change(this.#use.id, { auto: this.#auto, ...this.#kept })
  }
}

function sum(
  spent: { tokens: number; cost: Money | undefined },
  more: Reserve,
): { tokens: number; cost: Money | undefined } {
  const { money } = more
  const tokens = spent.tokens + more.tokens
  if (money === undefined || spent.cost === undefined) return { tokens, cost: money ?? spent.cost }
  // Another model may be priced in another currency; what cannot be added is counted in the later one.
  const before = spent.cost.currency === money.currency ? spent.cost.cost : 0
  return { tokens, cost: { cost: before + money.cost, currency: money.currency } }
}

function refuseTooMany(server: string, limits: SamplingLimits, tally: SamplingTally, now: number): void {
  if (tally.requests < limits.requestsPerMinute) return
  const after = Math.max(0, (tally.oldest ?? now) + minuteMs - now)
  throw new OverLimit(
    'requestsPerMinute',
    `${limits.requestsPerMinute} requests a minute are the limit for ${server}. Try again in ${Math.ceil(after / 1_000)} s`,
    after,
  )
}

function refuseTooMuch(
  server: string,
  { tokensPerDay, costPerDay }: SamplingLimits,
  tally: SamplingTally,
  { tokens, money }: Reserve,
): void {
  const left = Math.max(0, tokensPerDay - tally.tokens)
  if (tokens > left) {
    throw new OverLimit(
      'tokensPerDay',
      `${tokensPerDay} tokens in 24 hours are the limit for ${server}; ${left} are left, and this request may use ${tokens}. Ask for less, or later`,
    )
  }
  if (costPerDay === undefined) return
  if (money === undefined) {
    throw new OverLimit(
      'costPerDay',
      `${server} may cost ${costPerDay} in 24 hours, but the model has no price`,
    )
  }
  const rest = Math.max(0, costPerDay - (tally.cost[money.currency] ?? 0))
  if (money.cost > rest) {
    throw new OverLimit(
      'costPerDay',
      `${costPerDay} ${money.currency} in 24 hours are the limit for ${server}, and this request would go over it. Ask for less, or later`,
    )
  }
}
