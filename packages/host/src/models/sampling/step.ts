import type { OpenRow } from '../../log/store/recorder.ts'
import type { JsonRecord } from '../../shared/json.ts'
import { reasonOf } from '../../shared/text.ts'
import type { SamplingStage } from '../../types/index.ts'

/** The person said no. */
export class Refused extends Error {
  override readonly name: string = 'Refused'
  readonly detail: JsonRecord

  constructor(stage: SamplingStage, reason: string | undefined) {
    super(`The person refused the ${stage}`)
    this.detail = { stage, ...(reason !== undefined && { reason }) }
  }
}

/** How often an answer that cannot be used is asked for anew. */
export const maxAttempts = 5

/** Waits for one step, no longer than it is wanted, and says in its row if it failed. */
export async function stepped<T>(
  step: OpenRow,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  try {
    return await whileWanted(work, signal)
  } catch (error) {
    step.close(signal.aborted ? 'withdrawn' : 'error', { reason: reasonOf(error) })
    throw error
  }
}

function whileWanted<T>(work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    Promise.resolve()
      .then(() => work(signal))
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', abort))
  })
}
