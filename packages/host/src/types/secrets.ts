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
  /** The names of all stored secrets. */
  names(): Promise<string[]>
  /**
   * The secrets that can be read without a prompt: those whose key is a given passphrase or a file. Secrets under a
   * keychain's key are not included. A store without this method has none.
   */
  readable?(): Promise<readonly { name: string; value: string }[]>
  /** The value; undefined if there is none of that name. */
  get(name: string): Promise<string | undefined>
  /** Stores a value, replacing an earlier one. */
  set(name: string, value: string): Promise<void>
  /** Returns false if there is none of that name. */
  remove(name: string): Promise<boolean>
}

/** A value that a server needs before it can be started. */
export interface MissingInput {
  /** The configured server name. */
  server: string
  /** The input as its configuration file declares it. */
  input: ConfigInput
  /** The name under which the value is stored. */
  secret: string
}

/** Secrets of a host: stored values, missing values, and redaction. */
export interface Secrets {
  /** As in `SecretStore`. */
  readonly kind: string
  /** The names of all stored secrets. */
  names(): Promise<string[]>
  /**
   * Stores a value. Servers that failed because it was missing are started again, after the consent that they need; servers that
   * run get it at their next start.
   */
  set(name: string, value: string): Promise<void>
  /** Removes a stored value; returns false if there is none of that name. */
  remove(name: string): Promise<boolean>
  /** Values that servers need. Store them with `set` under `secret`, which starts the servers that failed because they were missing. */
  missing(): Promise<MissingInput[]>
  /** The text with every known secret value replaced, also in base64 and URL encoding. */
  redact(text: string): string
}
