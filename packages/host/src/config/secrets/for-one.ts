import {
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'

/** Opens what was sealed for this program. Its key is in memory alone and ends with it. */
export interface Addressee {
  /** What others seal with: no secret. */
  readonly address: string
  /** What was sealed; undefined where it was sealed for somebody else or changed on its way. */
  open(sealed: string, about: string): string | undefined
}

const ivBytes = 12
const tagBytes = 16

export function createAddressee(): Addressee {
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  return {
    address: written(publicKey),
    open(sealed, about) {
      try {
        const [from = '', text = ''] = sealed.split('.')
        const bytes = Buffer.from(text, 'base64url')
        const key = shared(privateKey, from, about)
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes))
        decipher.setAAD(Buffer.from(about)).setAuthTag(bytes.subarray(bytes.length - tagBytes))
        const middle = bytes.subarray(ivBytes, bytes.length - tagBytes)
        return Buffer.concat([decipher.update(middle), decipher.final()]).toString('utf8')
      } catch {
        return undefined
      }
    },
  }
}

/** Seals a text so that only the program of that address reads it. `about` must be the same when it is opened. */
export function sealFor(address: string, text: string, about: string): string {
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv('aes-256-gcm', shared(privateKey, address, about), iv)
  cipher.setAAD(Buffer.from(about))
  const bytes = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return `${written(publicKey)}.${bytes.toString('base64url')}`
}

function written(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'der' }).toString('base64url')
}

function shared(privateKey: KeyObject, address: string, about: string): Buffer {
  const publicKey = createPublicKey({ key: Buffer.from(address, 'base64url'), type: 'spki', format: 'der' })
  const secret = diffieHellman({ privateKey, publicKey })
  return Buffer.from(hkdfSync('sha256', secret, Buffer.alloc(0), about, 32))
}
