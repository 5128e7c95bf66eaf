import type { TrustFinding } from './trust.ts'

/** A variable or header that is passed to a server. */
export interface GivenValue {
  /** The name of the variable or header. */
  name: string
  /** As the configuration writes it: `${secret:name}` for a secret. A secret that is written out is shown as `[name]`. */
  value: string
}

/** A server that starts only after the user consents. */
export interface ConsentNeeded {
  /** The configured server name. */
  server: string
  /** The configuration file that defines it. */
  file: string
  /** The exact command line, or the URL. Secrets are replaced with their names. */
  command: string
  /** The file that the command resolves to on this machine; for a link, followed by an arrow and its target. */
  program?: string
  /** The variables or headers that it gets. */
  given: GivenValue[]
  /** Warnings about the command or the URL. */
  findings: TrustFinding[]
  /** The command line at the last consent, if there was one. */
  before?: string
}

/** A consent to start a server of a file. */
export interface GivenConsent {
  /** The name of the server when the user consented. */
  server: string
  /** The absolute path of the file that names the server. */
  file: string
  /** The command line or URL that the user consented to, with secrets as names. */
  command: string
  /** ISO 8601. */
  at: string
}

/** Consents to start servers that files of the working folder name. */
export interface ConsentService {
  /** Every consent, oldest first. */
  list(): GivenConsent[]
  /** The consent that a server needs before it starts; undefined if it needs none. */
  needed(server: string): Promise<ConsentNeeded | undefined>
  /** Consents to a server as it is configured now. Returns false if no consent is needed. */
  allow(server: string, by: string): Promise<boolean>
  /** Revokes the consents to a server and returns their number. A running server continues until it is closed. */
  forget(server: string): number
}
