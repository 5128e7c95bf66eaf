import type { Fix } from './fix.ts'

/** The steps in order: first those of a program, then those of a server at a URL. */
export type DoctorStepName =
  | 'variables'
  | 'environment'
  | 'command'
  | 'executable'
  | 'sandbox'
  | 'start'
  | 'output'
  | 'address'
  | 'dns'
  | 'tcp'
  | 'tls'
  | 'http'
  | 'auth'
  | 'handshake'
  | 'lists'

/** The result of one step. */
export interface DoctorStep {
  /** Which step this is the result of. */
  step: DoctorStepName
  /** `note`: it works, with a remark. `skipped`: an earlier step failed, or it does not apply. */
  outcome: 'ok' | 'note' | 'failed' | 'skipped'
  /** Milliseconds it took. */
  durationMs: number
  /** The finding, in one line for a person. */
  message: string
  /** What to do, in words, where it is done outside of this program. */
  advice?: string
  /** What to do with this program. */
  fixes?: readonly Fix[]
}

/** The diagnosis of one server. */
export interface DoctorReport {
  /** The configured server name. */
  server: string
  /** Whether no step failed. */
  healthy: boolean
  /** The results of the steps, in order. */
  steps: DoctorStep[]
}
