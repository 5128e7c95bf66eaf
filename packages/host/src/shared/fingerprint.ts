import { createHash } from 'node:crypto'
import { canonical } from './json.ts'

// Apart from json.ts, which the entry for browsers imports: this needs Node.

/** SHA-256 of the canonical text of a JSON value, in hexadecimal. */
export function fingerprint(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('hex')
}
