import type { ConfigInput } from './config.ts'

/**
 * Where secrets are kept: texts under names. Names hold no secrets; values are never listed.
 * Every method throws an McpError where the store cannot be opened, with what to do about it.
 */
export interface SecretStore {
  /** For messages: `the keychain`, `files sealed with a passphrase`. */
  readonly kind: string
  /**
   * Resolves where secrets can be kept.
   * @throws McpError where they cannot, such as for a keychain that refuses
   */
  ready(): Promise<void>
  names(): Promise<string[]>
  /**
   * The secrets that can be read without a question: those whose key is a passphrase that was given, or a file. The key of a
   * keychain is not asked for, so what it seals is not among them. A store without this method has none.
   */
  readable?(): Promise<readonly { name: string; value: string }[]>
  get(name: string): Promise<string | undefined>
  set(name: string, value: string): Promise<void>
  /** False where there is none of that name. */
  remove(name: string): Promise<boolean>
}

/** A value that a server needs before it can be started. */
export interface MissingInput {
  server: string
  input: ConfigInput
  /** The name that the answer is kept under. */
  secret: string
}

/** The secrets of a host: what is kept, what is wanted, and how they are kept out of everything that is shown. */
export interface Secrets {
  readonly kind: string
  names(): Promise<string[]>
  /** Keeps a value under a name; servers that use it see it when they are started next. */
  set(name: string, value: string): Promise<void>
  remove(name: string): Promise<boolean>
  /** Values that servers wait for. Keep them with `set` under `secret`, then `reconnect` the server. */
  missing(): Promise<MissingInput[]>
  /** The text with every known secret value replaced, also where it is encoded as base64 or in a URL. */
  redact(text: string): string
}

/** Asks the person for a value; undefined where they give none. Nothing of the answer may be written down or shown. */
export type AskInput = (server: string, input: ConfigInput) => Promise<string | undefined>
