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
import { McpError, RpcError } from '@jackfield/sdk'
import { readJson } from '@jackfield/sdk/internal'
import { isRecord, rewritten } from '../../shared/json.ts'

/** A segment of a text that is a secret, in any of its encodings. */
export interface FoundSecret {
  /** The matched text. */
  text: string
  name: string
  /** Its name in the secret store, if stored there. */
  storedName?: string | undefined
  /** Whether it is the plain value, not an encoded form. */
  plain: boolean
}

/** Replaces known secret values in texts. */
export interface SecretRedactor {
  /** Changes when a value is added. */
  readonly version: number
  /**
   * Adds a value; from now on it is replaced by `name`. Values of fewer than 6 characters are not replaced. `storedName`: its name in
   * the secret store.
   */
  add(value: string, name: string, storedName?: string): void
  /** Adds a value that is too short or no text: it is replaced only as the whole value of a member with this name. */
  addMember(name: string, value: string | number): void
  text(text: string): string
  /** Splits a text at secrets; the other segments are plain texts. */
  pieces(text: string): (string | FoundSecret)[]
  /** A copy of a JSON value with all texts and member names redacted; the value itself if it contains no secret. */
  value<T>(value: T): T
  /** Redacts a stream: holds back text that may be the start of a secret. */
  stream(): RedactedStream
}

export interface RedactedStream {
  /** Adds a chunk and returns the text that is safe to emit. */
  push(text: string): string
  /** Returns the held-back text. */
  end(): string
}

const minChars = 6

type SecretForm = Omit<FoundSecret, 'text'>

export function createSecretRedactor(): SecretRedactor {
  /** The owner of each encoded form. */
  const forms = new Map<string, SecretForm>()
  const members = new Map<string, Set<string>>()
  let pattern: RegExp | undefined
  let maxFormLength = 0
  let version = 0

  const search = (): RegExp => {
    pattern ??= new RegExp(
      [...forms.keys()]
        .sort((a, b) => b.length - a.length)
        .map((form) => form.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'))
        .join('|'),
      'g',
    )
    return pattern
  }

  /** Whether a value contains no known secret. All its texts are searched at once, which takes less time than one search each. */
  const hasNoForm = (given: unknown): boolean => {
    const texts: string[] = []
    eachText(given, (one) => texts.push(one))
    return texts.join('\n').search(search()) < 0
  }

  const text = (given: string): string =>
    forms.size === 0 ? given : given.replace(search(), (match) => `[${forms.get(match)?.name ?? 'secret'}]`)

  const pieces = (given: string): (string | FoundSecret)[] => {
    if (forms.size === 0) return [given]
    const pieces: (string | FoundSecret)[] = []
    let position = 0
    for (const { 0: form, index } of given.matchAll(search())) {
      if (index > position) pieces.push(given.slice(position, index))
      pieces.push({ text: form, ...(forms.get(form) ?? { name: 'secret', plain: false }) })
      position = index + form.length
    }
    if (position < given.length) pieces.push(given.slice(position))
    return pieces
  }

  const member = (name: string, item: unknown): unknown => {
    if (typeof item !== 'string' && typeof item !== 'number') return item
    return members.get(name)?.has(String(item)) === true ? `[${name}]` : item
  }

  /** Length of the text's end that may be the start of a secret. */
  const openTailLength = (given: string): number => {
    for (let length = Math.min(given.length, maxFormLength - 1); length > 0; length--) {
      const tail = given.slice(-length)
      for (const form of forms.keys()) if (form.startsWith(tail)) return length
    }
    return 0
  }

  return {
    get version() {
      return version
    },
    add(value, name, storedName) {
      if (value.length < minChars) return
      for (const form of formsOf(value)) {
        const known = forms.get(form)
        if (known !== undefined && (known.storedName !== undefined || storedName === undefined)) continue
        forms.set(form, { name: known?.name ?? name, storedName, plain: form === value })
        maxFormLength = Math.max(maxFormLength, form.length)
        version += 1
        pattern = undefined
      }
    },
    addMember(name, value) {
      const values = members.get(name) ?? new Set()
      members.set(name, values.add(String(value)))
      version += 1
    },
    text,
    pieces,
    value(given) {
      if (members.size === 0 && (forms.size === 0 || hasNoForm(given))) return given
      return redacted(given, { text, member: members.size === 0 ? undefined : member })
    },
    stream() {
      let pending = ''
      return {
        push(piece) {
          const redactedText = text(pending + piece)
          const held = openTailLength(redactedText)
          pending = redactedText.slice(redactedText.length - held)
          return redactedText.slice(0, redactedText.length - held)
        },
        end() {
          const rest = pending
          pending = ''
          return rest
        },
      }
    },
  }
}

interface Rules {
  text: (given: string) => string
  /** The replacement for a member's value; undefined if no secret has that member name. */
  member: ((name: string, item: unknown) => unknown) | undefined
}

/** Copies a structure, changing only its texts. */
function redacted<T>(given: T, rules: Rules): T {
  if (!needsRedaction(given, rules)) return given
  return rewritten(readJson(JSON.stringify(given)), (item) => {
    if (typeof item === 'string') return rules.text(item)
    if (!isRecord(item)) return item
    return Object.fromEntries(
      Object.entries(item).map(([key, inner]) => [rules.text(key), rules.member?.(key, inner) ?? inner]),
    )
  })
}

function needsRedaction(value: unknown, rules: Rules): boolean {
  const { text, member } = rules
  if (typeof value === 'string') return text(value) !== value
  if (Array.isArray(value)) return value.some((item) => needsRedaction(item, rules))
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(
    ([key, item]) =>
      text(key) !== key ||
      (member !== undefined && member(key, item) !== item) ||
      needsRedaction(item, rules),
  )
}

/** The encodings of a value: plain, JSON, URL, and base64 at every alignment. */
function formsOf(value: string): Set<string> {
  const forms = new Set([
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value.toWellFormed()),
    encodeURIComponent(value.toWellFormed()).replaceAll('%20', '+'),
  ])
  const bytes = Buffer.from(value, 'utf8')
  for (const before of [0, 1, 2]) {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    // Characters at both ends also encode bits of the adjacent text.
    const start = Math.ceil((before * 8) / 6)
    const end = Math.floor(((before + bytes.length) * 8) / 6)
    const stable = encoded.slice(start, end)
    if (stable.length < minChars) continue
    forms.add(stable)
    forms.add(stable.replaceAll('+', '-').replaceAll('/', '_'))
  }
  return forms
}

/** Secrets by their marks in the redacted copy of a value. */
type Marks = ReadonlyMap<string, string>

/** The marks of a value's redacted copy. Ambiguous ones are left out. */
export function marksIn(value: unknown, redactor: SecretRedactor): Marks {
  const marks = new Map<string, string>()
  const ambiguous = new Set<string>()
  eachText(value, (text) => {
    for (const piece of redactor.pieces(text)) {
      if (typeof piece === 'string') continue
      const mark = `[${piece.name}]`
      const before = marks.get(mark)
      if (before !== undefined && before !== piece.text) ambiguous.add(mark)
      marks.set(mark, piece.text)
    }
  })
  for (const mark of ambiguous) marks.delete(mark)
  return marks
}

/** Restores secrets from their marks; returns the value itself if there are none. */
export function restoreMarks<T>(value: T, marks: Marks): T {
  if (marks.size === 0) return value
  const text = (given: string): string => {
    let restoredText = given
    for (const [mark, secret] of marks) restoredText = restoredText.replaceAll(mark, () => secret)
    return restoredText
  }
  return redacted(value, { text, member: undefined })
}

function eachText(value: unknown, visit: (text: string) => void): void {
  if (typeof value === 'string') visit(value)
  else if (Array.isArray(value)) for (const item of value) eachText(item, visit)
  else if (isRecord(value))
    for (const key of Object.keys(value)) {
      visit(key)
      eachText(value[key], visit)
    }
}

/** Maximum depth of causes that is redacted. */
const maxDepth = 8

/**
 * The error with every known secret redacted in its message, data and causes; the same error if it contains none. A cause that
 * contains one is dropped.
 */
export function redactedError(error: unknown, redactor: SecretRedactor): unknown {
  if (!(error instanceof Error) || !containsSecret(error, redactor)) return error
  const message = redactor.text(error.message)
  const { cause } = error
  const options = cause === undefined || containsSecret(cause, redactor) ? {} : { cause }
  if (error instanceof RpcError) return new RpcError(error.code, message, redactor.value(error.data))
  if (error instanceof McpError) {
    return new McpError(error.code, message, { ...options, details: redactor.value(error.details) })
  }
  return new Error(message, options)
}

function containsSecret(error: unknown, redactor: SecretRedactor, depth = 0): boolean {
  if (!(error instanceof Error)) return redactor.value(error) !== error
  const { message, cause, stack = '' } = error
  if (depth > maxDepth || redactor.text(message) !== message || redactor.text(stack) !== stack) return true
  if (error instanceof RpcError && redactor.value(error.data) !== error.data) return true
  if (error instanceof McpError && redactor.value(error.details) !== error.details) return true
  return cause !== undefined && containsSecret(cause, redactor, depth + 1)
}

/** Opens values sealed for this program. Its key exists only in memory. */
export interface SealRecipient {
  /** The public key for sealing. */
  readonly address: string
  /** The sealed value; undefined if it was sealed for another program or altered. */
  open(sealed: string, context: string): string | undefined
}

const ivBytes = 12
const tagBytes = 16

export function createSealRecipient(): SealRecipient {
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  return {
    address: exportKey(publicKey),
    open(sealed, context) {
      try {
        const [from = '', text = ''] = sealed.split('.')
        const bytes = Buffer.from(text, 'base64url')
        const key = sharedKey(privateKey, from, context)
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes))
        decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(bytes.length - tagBytes))
        const middle = bytes.subarray(ivBytes, bytes.length - tagBytes)
        return Buffer.concat([decipher.update(middle), decipher.final()]).toString('utf8')
      } catch {
        return undefined
      }
    },
  }
}

/** Seals a text so that only the program with that address can open it. `about` must be the same when it is opened. */
export function sealFor(address: string, text: string, context: string): string {
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv('aes-256-gcm', sharedKey(privateKey, address, context), iv)
  cipher.setAAD(Buffer.from(context))
  const bytes = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return `${exportKey(publicKey)}.${bytes.toString('base64url')}`
}

function exportKey(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'der' }).toString('base64url')
}

function sharedKey(privateKey: KeyObject, address: string, context: string): Buffer {
  const publicKey = createPublicKey({ key: Buffer.from(address, 'base64url'), type: 'spki', format: 'der' })
  const secret = diffieHellman({ privateKey, publicKey })
  return Buffer.from(hkdfSync('sha256', secret, Buffer.alloc(0), context, 32))
}
