import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { seed } from '../setup/seed.ts'
import type { Campaign, Figure } from './figure.ts'

/** One run of a campaign. */
export interface CampaignRun {
  /** Trials to make. */
  trials: number
  long: boolean
  /** The seed of random choices; the same seed makes the same trials. */
  seed: number
  /** Records a measured value, such as `("slope of the heap", 1.2, "bytes/request")`. */
  measured(name: string, value: number, unit: string): void
  /** Sets the number of trials, where it is known only afterwards. */
  setTrials(trials: number): void
}

const long = process.env['JACKFIELD_LONG'] === '1'
const into = process.env['JACKFIELD_FIGURES']
/** Replaces the number of trials, where the whole long mode would take too long. */
const part = process.env['JACKFIELD_TRIALS']

/**
 * Declares a campaign as a test. `run` makes the trials and throws on the first that fails, naming the seed and the trial.
 * `npm run torture` stores the figures.
 */
export function campaign(of: Campaign, run: (campaignRun: CampaignRun) => Promise<void> | void): void {
  const { trials: sizes, changeMinutes = 2, longMinutes = 20, ...facts } = of
  const size = long ? sizes.long : into === undefined ? (sizes.test ?? sizes.change) : sizes.change
  const limit = (long ? longMinutes : changeMinutes) * 60_000
  test(`${of.claim} (${of.id})`, { timeout: limit }, async () => {
    const figure: Figure = {
      ...facts,
      mode: long ? 'long' : 'change',
      trials: part === undefined ? size : Number(part),
      seed,
      seconds: 0,
      measured: [],
    }
    const started = performance.now()
    try {
      await run({
        trials: figure.trials,
        long,
        seed,
        measured: (name, value, unit) => figure.measured.push({ name, value, unit }),
        setTrials: (trials) => {
          figure.trials = trials
        },
      })
    } catch (error) {
      throw new Error(`${of.id} failed with JACKFIELD_SEED=${seed}`, { cause: error })
    }
    figure.seconds = Math.round((performance.now() - started) / 100) / 10
    if (into === undefined) return
    mkdirSync(into, { recursive: true })
    writeFileSync(join(into, `${of.id}.json`), JSON.stringify(figure))
  })
}
