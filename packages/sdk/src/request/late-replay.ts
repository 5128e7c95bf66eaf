import type { Carried, Exchange, HandlerRun, InputRequired, InputStrategy, Outcome } from './exchange.ts'
import { Later } from './later.ts'
import type { ReplayOptions } from './replay.ts'
import { stateKeys } from './state.ts'

export interface LateReplayOptions extends Omit<ReplayOptions, 'sealer'> {
  /** Secrets of at least 32 bytes that seal states; the first seals, all open. Default: a random one. */
  keys?: readonly (string | Uint8Array)[] | undefined
}

/**
 * Asks by replay, which is loaded with the first question, step or retry: most requests know none.
 * @throws TypeError for a key that is too short
 */
export function lateReplay({ keys, ...options }: LateReplayOptions): InputStrategy {
  const secrets = stateKeys(keys)
  const replay = new Later(async () => {
    const { sealedReplay } = await import('./sealed-replay.ts')
    return sealedReplay(options, secrets)
  })
  return {
    begin: (exchange) => replay.value?.begin(exchange) ?? new LateRound(replay, exchange),
    resume: async (exchange) => (await replay.get()).resume(exchange),
  }
}

/** A round whose kind is still to be loaded. Nothing was asked in it before, so it carries nothing and repeats nothing. */
class LateRound implements HandlerRun {
  readonly ended: Promise<Outcome>
  readonly #round: Later<HandlerRun>
  #resolve: (outcome: Outcome) => void = () => {}
  #reject: (error: unknown) => void = () => {}
  #parked: AbortController | undefined

  constructor(asking: Later<InputStrategy>, exchange: Exchange) {
    this.ended = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.ended.catch(() => {})
    this.#round = new Later(async () => this.#begun((await asking.get()).begin(exchange)))
  }

  get parked(): AbortSignal {
    const begun = this.#round.value?.parked
    if (begun !== undefined) return begun
    this.#parked ??= new AbortController()
    return this.#parked.signal
  }

  get replaying(): boolean {
    return this.#round.value?.replaying ?? false
  }

  get carried(): Carried {
    return this.#round.value?.carried ?? nothing
  }

  readonly ask: HandlerRun['ask'] = (question, key) => this.#pass((round) => round.ask(question, key))

  readonly step: HandlerRun['step'] = (name, work) => this.#pass((round) => round.step(name, work))

  continueAsTask(): Promise<void> {
    return this.#pass((round) => round.continueAsTask())
  }

  require(needed: InputRequired): Promise<Outcome | Carried> {
    return this.#pass((round) => round.require(needed))
  }

  /** What cannot be loaded ends the round: the handler must not take that for an answer. */
  #pass<T>(act: (round: HandlerRun) => Promise<T>): Promise<T> {
    return new Promise((resolve) => this.#round.use((round) => resolve(act(round)), this.#reject))
  }

  #begun(round: HandlerRun): HandlerRun {
    round.ended.then(this.#resolve, this.#reject)
    const parked = this.#parked
    if (parked !== undefined) round.parked.addEventListener('abort', () => parked.abort(), { once: true })
    return round
  }
}

const nothing: Carried = { state: undefined, answers: {} }
