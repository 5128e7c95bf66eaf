import type { ConfigInput } from './config.ts'

/**
 * A store of secrets: strings by name. Names are not secret; values are never listed.
 * Every method throws an McpError if the store cannot be opened, with a suggested fix.
 */
export interface SecretStore {
  /** For messages: `the keychain`, `files sealed with a passphrase`. */
  readonly kind: string
  /**
   * Resolves if secrets can be stored.
   * @throws McpError otherwise, for example if the keychain refuses access
   */
  ready(): Promise<void>
  names(): Promise<string[]>
  /**
   * The secrets that can be read without a prompt: those whose key is a given passphrase or a file. Secrets under a
   * keychain's key are not included. A store without this method has none.
   */
  readable?(): Promise<readonly { name: string; value: string }[]>
  get(name: string): Promise<string | undefined>
  set(name: string, value: string): Promise<void>
  /** Returns false if there is none of that name. */
  remove(name: string): Promise<boolean>
}

/** A value that a server needs before it can be started. */
export interface MissingInput {
  server: string
  input: ConfigInput
  /** The name under which the value is stored. */
  secret: string
}

/** Secrets of a host: stored values, missing values, and redaction. */
export interface Secrets {
  readonly kind: string
  names(): Promise<string[]>
  /** Stores a value; servers that use it get it at their next start. */
  set(name: string, value: string): Promise<void>
  remove(name: string): Promise<boolean>
  /** Values that servers need. Store them with `set` under `secret`, then `reconnect` the server. */
  missing(): Promise<MissingInput[]>
  /** The text with every known secret value replaced, also in base64 and URL encoding. */
  redact(text: string): string
}
