import type { TrustFinding } from './trust.ts'

/** A variable or a header that a server is given. */
export interface GivenValue {
  name: string
  /** As the configuration writes it: `${secret:name}` for a secret. A secret that is written out is shown as `[name]`. */
  value: string
}

/** A server that is not started before the person agrees. */
export interface ConsentNeeded {
  server: string
  /** The file that names it. */
  file: string
  /** The exact command line, or the address. Secrets stand there by their names. */
  command: string
  /** The file that the command names on this machine, and after an arrow what it leads to where it is a link. */
  program?: string
  /** The variables, or headers, that it is given. */
  given: GivenValue[]
  findings: TrustFinding[]
  /** What it was when it was agreed to, where it was. */
  before?: string
}

/** An agreement that a server of a file is started. */
export interface GivenConsent {
  server: string
  file: string
  command: string
  /** ISO 8601. */
  at: string
}

/** What of the servers that others may have written down the person agreed to start. */
export interface ConsentDesk {
  /** Every agreement, oldest first. */
  list(): GivenConsent[]
  /** What starting a server waits for; undefined where it waits for nothing. */
  needed(server: string): Promise<ConsentNeeded | undefined>
  /** Agrees to a server as it is configured now. False where there is nothing to agree to. */
  allow(server: string, by: string): Promise<boolean>
  /** Takes agreements about a server back; how many there were. It runs on until it is closed. */
  forget(server: string): number
}
