const minKeyBytes = 32

/**
 * The secrets that seal states, as bytes of their own.
 * @throws TypeError for one of less than 32 bytes
 */
export function stateKeys(keys: readonly (string | Uint8Array)[] = []): Uint8Array<ArrayBuffer>[] {
  const secrets = keys.map((secret) =>
    typeof secret === 'string' ? new TextEncoder().encode(secret) : Uint8Array.from(secret),
  )
  if (secrets.some((secret) => secret.length < minKeyBytes)) {
    throw new TypeError(
      `A state key must have at least ${minKeyBytes} bytes: use 32 random bytes or a long random string`,
    )
  }
  return secrets
}
