import { reasonOf } from '../../shared/text.ts'
import type { DoctorReport, DoctorStep, DoctorStepName, Fix } from '../../types/index.ts'

/** A successful finding, possibly with a remark. */
export interface Finding {
  message: string
  /** It works, with a remark. */
  note?: boolean
  /** What to do outside of this program. */
  advice?: string
}

/** A failed step, with what to do: in words, with this program, or both. */
export class StepFailure extends Error {
  override readonly name: string = 'StepFailure'
  readonly advice: string | undefined
  readonly fixes: readonly Fix[]

  constructor(message: string, advice: string | undefined, fixes: readonly Fix[] = []) {
    super(message)
    this.advice = advice
    this.fixes = fixes
  }
}

/** The steps of one diagnosis. After a failed step the rest is skipped. */
export class DoctorSteps {
  readonly #steps: DoctorStep[] = []
  readonly #report: (step: DoctorStep) => void
  #failed = false

  /** `onStep` is called with every finished step. */
  constructor(onStep: (step: DoctorStep) => void) {
    this.#report = onStep
  }

  /** Runs one step and returns the value that `work` returned with its finding; undefined if it failed or was skipped. */
  async step<T>(
    name: DoctorStepName,
    work: () => Promise<{ finding: Finding; found: T }>,
  ): Promise<T | undefined> {
    if (this.#failed) {
      this.#add({
        step: name,
        outcome: 'skipped',
        durationMs: 0,
        message: 'not checked: an earlier step failed',
      })
      return undefined
    }
    const since = performance.now()
    const durationMs = (): number => Math.round(performance.now() - since)
    try {
      const { finding, found } = await work()
      const { message, note, advice } = finding
      const outcome = note === true ? 'note' : 'ok'
      this.#add({
        ...{ step: name, outcome, durationMs: durationMs(), message },
        ...(advice !== undefined && { advice }),
      })
      return found
    } catch (error) {
      this.#failed = true
      const { advice, fixes } = error instanceof StepFailure ? error : { advice: undefined, fixes: [] }
      const message = reasonOf(error)
      this.#add({
        step: name,
        outcome: 'failed',
        durationMs: durationMs(),
        message,
        ...(advice !== undefined && { advice }),
        ...(fixes.length > 0 && { fixes }),
      })
      return undefined
    }
  }

  /** A step that does not apply here. */
  skip(step: DoctorStepName, message: string): void {
    this.#add({ step, outcome: 'skipped', durationMs: 0, message })
  }

  report(server: string): DoctorReport {
    return { server, healthy: !this.#failed, steps: [...this.#steps] }
  }

  #add(step: DoctorStep): void {
    this.#steps.push(step)
    this.#report(step)
  }
}
