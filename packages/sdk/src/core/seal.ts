import { readJson } from '../jsonrpc/reread.ts'
import { fromBase64Url, toBase64Url } from './base64url.ts'
import { stateKeys } from './state-keys.ts'

/** Encrypts and authenticates small JSON values, so that they can pass through a peer. */
export interface Sealer {
  seal(value: unknown): Promise<string>
  /** The sealed value, or undefined when the text was not sealed by one of our keys exactly as it is. */
  open(text: string): Promise<{ value: unknown } | undefined>
}

const version = 'v1'
const ivBytes = 12
const encoder = new TextEncoder()

interface Key {
  id: string
  key: CryptoKey
}

/**
 * AES-256-GCM under keys derived by HKDF-SHA-256. The first key seals, every key opens, so keys can be rotated by
 * putting a new one in front. Without keys a random one is made, which no other process knows.
 * @param keys secrets of at least 32 bytes each
 * @throws TypeError for a shorter secret
 */
export function createSealer(keys?: readonly (string | Uint8Array)[]): Sealer {
  const bytes = stateKeys(keys)
  let ring: Promise<Key[]> | undefined
  const load = (): Promise<Key[]> => {
    // Made here, not above: workers have no randomness before the first request.
    if (bytes.length === 0) bytes.push(crypto.getRandomValues(new Uint8Array(32)))
    ring ??= Promise.all(bytes.map(derive))
    return ring
  }

  return {
    async seal(value) {
      const [first] = await load()
      if (first === undefined) throw new TypeError('No state key')
      const head = `${version}.${first.id}`
      const iv = crypto.getRandomValues(new Uint8Array(ivBytes))
      const plain = encoder.encode(JSON.stringify(value))
      const cipher = new Uint8Array(
        await crypto.subtle.encrypt(
          { name: 'AES-GCM', iv, additionalData: encoder.encode(head) },
          first.key,
          plain,
        ),
      )
      const body = new Uint8Array(ivBytes + cipher.length)
      body.set(iv)
      body.set(cipher, ivBytes)
      return `${head}.${toBase64Url(body)}`
    },

    async open(text) {
      const [prefix, id, encoded, more] = text.split('.', 4)
      if (prefix !== version || id === undefined || encoded === undefined || more !== undefined)
        return undefined
      const known = (await load()).find((key) => key.id === id)
      const body = fromBase64Url(encoded)
      if (known === undefined || body === undefined || body.length <= ivBytes) return undefined
      try {
        const plain = await crypto.subtle.decrypt(
          {
            name: 'AES-GCM',
            iv: body.subarray(0, ivBytes),
            additionalData: encoder.encode(`${version}.${id}`),
          },
          known.key,
          body.subarray(ivBytes),
        )
        return { value: readJson(new TextDecoder().decode(plain)) }
      } catch {
        return undefined
      }
    },
  }
}

async function derive(secret: Uint8Array<ArrayBuffer>): Promise<Key> {
  const material = await crypto.subtle.importKey('raw', secret, 'HKDF', false, ['deriveKey', 'deriveBits'])
  const hkdf = (info: string): HkdfParams => ({
    name: 'HKDF',
    hash: 'SHA-256',
    salt: new Uint8Array(0),
    info: encoder.encode(info),
  })
  const key = await crypto.subtle.deriveKey(
    hkdf('jackfield request state'),
    material,
    { name: 'AES-GCM', length: 256 },
    false,
    ['encrypt', 'decrypt'],
  )
  const id = toBase64Url(
    new Uint8Array(await crypto.subtle.deriveBits(hkdf('jackfield key id'), material, 48)),
  )
  return { id, key }
}
