import { reasonOf } from '../../shared/text.ts'
import type { DoctorReport, DoctorStep, DoctorStepName } from '../../types/index.ts'

/** A successful finding, possibly with a remark. */
export interface Finding {
  message: string
  /** It works, with a remark. */
  note?: boolean
  fix?: string
}

/** A failed step, with a fix. */
export class StepFailure extends Error {
  override readonly name: string = 'Fault'
  readonly fix: string

  constructor(message: string, fix: string) {
    super(message)
    this.fix = fix
  }
}

/** The steps of one diagnosis. After a failed step the rest is skipped. */
export class DoctorSteps {
  readonly #steps: DoctorStep[] = []
  readonly #report: (step: DoctorStep) => void
  #failed = false

  /** `told` is called with every finished step. */
  constructor(told: (step: DoctorStep) => void) {
    this.#report = told
  }

  /** Runs one step and returns the value that `work` returned with its finding; undefined if it failed or was skipped. */
  async step<T>(
    name: DoctorStepName,
    work: () => Promise<{ finding: Finding; found: T }>,
  ): Promise<T | undefined> {
    if (this.#failed) {
      this.#add({ step: name, outcome: 'skipped', durationMs: 0, message: 'something before it failed' })
      return undefined
    }
    const since = performance.now()
    const durationMs = (): number => Math.round(performance.now() - since)
    try {
      const { finding, found } = await work()
      const { message, note, fix } = finding
      const outcome = note === true ? 'note' : 'ok'
      this.#add({ step: name, outcome, durationMs: durationMs(), message, ...(fix !== undefined && { fix }) })
      return found
    } catch (error) {
      this.#failed = true
      const fix = error instanceof StepFailure ? error.fix : undefined
      const message = reasonOf(error)
      this.#add({
        step: name,
        outcome: 'failed',
        durationMs: durationMs(),
        message,
        ...(fix !== undefined && { fix }),
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
