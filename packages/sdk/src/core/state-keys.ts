import { kindOf } from '../jsonrpc/shown.ts'

const minKeyBytes = 32

/**
 * The secrets that seal states, as bytes of their own.
 * @throws TypeError for one of less than 32 bytes
 */
export function stateKeys(keys: readonly (string | Uint8Array)[] = []): Uint8Array<ArrayBuffer>[] {
  if (!Array.isArray(keys)) {
    throw new TypeError(
      `"keys" must be a list of secrets, not ${typeof keys === 'string' ? 'one string' : kindOf(keys)}: write keys: [secret]`,
    )
  }
  const secrets = keys.map((secret: unknown, at) => {
    if (typeof secret === 'string') return new TextEncoder().encode(secret)
    if (secret instanceof Uint8Array) return Uint8Array.from(secret)
    const what = secret === undefined ? 'undefined (is its environment variable set?)' : kindOf(secret)
    throw new TypeError(
      `"keys[${at}]" is ${what}: a state key is a string or a Uint8Array of at least ${minKeyBytes} bytes`,
    )
  })
  if (secrets.some((secret) => secret.length < minKeyBytes)) {
    throw new TypeError(
      `A state key must have at least ${minKeyBytes} bytes: use 32 random bytes or a long random string`,
    )
  }
  return secrets
}
