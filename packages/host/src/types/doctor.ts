/** What was looked at, in this order. A server that is started has the first group, one at an address the second. */
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

/** One thing that was looked at, and how it stands. */
export interface DoctorStep {
  step: DoctorStepName
  /** `note`: it works, with something worth knowing. `skipped`: something before it failed, or it does not apply. */
  outcome: 'ok' | 'note' | 'failed' | 'skipped'
  /** Milliseconds it took. */
  durationMs: number
  /** What was found, in one line for a person. */
  message: string
  /** What to do about it. */
  fix?: string
}

/** How one server stands. */
export interface DoctorReport {
  server: string
  /** Whether no step failed. */
  healthy: boolean
  steps: DoctorStep[]
}
