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
import { rewritten } from '../../shared/json.ts'

/** A piece of a text that is a secret, in one of the forms it may be seen in. */
export interface FoundSecret {
  /** What stands there. */
  text: string
  name: string
  /** The name it is kept under in the store of secrets, where it is kept there. */
  isStored?: string | undefined
  /** Whether it is the value itself, and not another form of it. */
  plain: boolean
}

/** Replaces known secret values wherever they turn up. */
export interface SecretRedactor {
  /** Another number after every value that was made known. */
  readonly version: number
  /**
   * Makes a value known; `name` stands in its place from now on. Values of fewer than 6 characters are not replaced.
   * `kept`: the name it is kept under in the store of secrets.
   */
  add(value: string, name: string, kept?: string): void
  /** Makes a value known that is too short, or no text: it is replaced where it stands alone in a member of this name. */
  addMember(name: string, value: string | number): void
  text(text: string): string
  /** A text in its pieces: those that are no secret as texts. */
  pieces(text: string): (string | FoundSecret)[]
  /** A copy of a JSON value with every text in it redacted, names of members too; the value itself where it holds none. */
  value<T>(value: T): T
  /** For a text that comes in pieces: holds back what may be the beginning of a secret. */
  stream(): RedactedStream
}

export interface RedactedStream {
  /** Takes a piece and gives what can be shown of all so far. */
  push(text: string): string
  /** Gives what was held back. */
  end(): string
}

const minChars = 6

type Form = Omit<FoundSecret, 'text'>

export function createSecretRedactor(): SecretRedactor {
  /** By each form that a value may be seen in, whose it is. */
  const forms = new Map<string, Form>()
  /** By the names of members, values that are secret there. */
  const members = new Map<string, Set<string>>()
  let pattern: RegExp | undefined
  let longest = 0
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

  const text = (given: string): string =>
    forms.size === 0 ? given : given.replace(search(), (found) => `[${forms.get(found)?.name ?? 'secret'}]`)

  const pieces = (given: string): (string | FoundSecret)[] => {
    if (forms.size === 0) return [given]
    const found: (string | FoundSecret)[] = []
    let after = 0
    for (const { 0: form, index } of given.matchAll(search())) {
      if (index > after) found.push(given.slice(after, index))
      found.push({ text: form, ...(forms.get(form) ?? { name: 'secret', plain: false }) })
      after = index + form.length
    }
    if (after < given.length) found.push(given.slice(after))
    return found
  }

  const member = (name: string, item: unknown): unknown => {
    if (typeof item !== 'string' && typeof item !== 'number') return item
    return members.get(name)?.has(String(item)) === true ? `[${name}]` : item
  }

  /** How many characters at the end may be the beginning of a secret. */
  const open = (given: string): number => {
    for (let length = Math.min(given.length, longest - 1); length > 0; length--) {
      const tail = given.slice(-length)
      for (const form of forms.keys()) if (form.startsWith(tail)) return length
    }
    return 0
  }

  return {
    get version() {
      return version
    },
    add(value, name, isStored) {
      if (value.length < minChars) return
      for (const form of formsOf(value)) {
        const known = forms.get(form)
        if (known !== undefined && (known.isStored !== undefined || isStored === undefined)) continue
        forms.set(form, { name: known?.name ?? name, isStored, plain: form === value })
        longest = Math.max(longest, form.length)
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
    value: (given) =>
      forms.size === 0 && members.size === 0
        ? given
        : redacted(given, { text, member: members.size === 0 ? undefined : member }),
    stream() {
      let held = ''
      return {
        push(piece) {
          const whole = text(held + piece)
          const keep = open(whole)
          held = whole.slice(whole.length - keep)
          return whole.slice(0, whole.length - keep)
        },
        end() {
          const rest = held
          held = ''
          return rest
        },
      }
    },
  }
}

interface Rules {
  text: (given: string) => string
  /** What stands in place of a member; undefined where no member is secret by its name. */
  member: ((name: string, item: unknown) => unknown) | undefined
}

/** A structure of the same shape, with only its texts changed. */
function redacted<T>(given: T, rules: Rules): T {
  if (!touches(given, rules)) return given
  return rewritten(readJson(JSON.stringify(given)), (item) => {
    if (typeof item === 'string') return rules.text(item)
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item
    return Object.fromEntries(
      Object.entries(item).map(([key, inner]) => [rules.text(key), rules.member?.(key, inner) ?? inner]),
    )
  })
}

function touches(value: unknown, rules: Rules): boolean {
  const { text, member } = rules
  if (typeof value === 'string') return text(value) !== value
  if (Array.isArray(value)) return value.some((item) => touches(item, rules))
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(
    ([key, item]) =>
      text(key) !== key || (member !== undefined && member(key, item) !== item) || touches(item, rules),
  )
}

/** A value as it is, in JSON, in a URL, and in base64 wherever in a longer text it begins. */
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
    // Characters at both ends also carry bits of what stands beside the secret.
    const start = Math.ceil((before * 8) / 6)
    const end = Math.floor(((before + bytes.length) * 8) / 6)
    const stable = encoded.slice(start, end)
    if (stable.length < minChars) continue
    forms.add(stable)
    forms.add(stable.replaceAll('+', '-').replaceAll('/', '_'))
  }
  return forms
}

/** By what stands in place of each secret in the redacted copy of a value, the secret. */
type Marks = ReadonlyMap<string, string>

/** The marks of a value's redacted copy. One that stands for two different texts is left out. */
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

/** A JSON value with the secrets in place of their marks; the value itself where it holds none. */
export function restoreMarks<T>(value: T, marks: Marks): T {
  if (marks.size === 0) return value
  const text = (given: string): string => {
    let whole = given
    for (const [mark, secret] of marks) whole = whole.replaceAll(mark, () => secret)
    return whole
  }
  return rewritten(readJson(JSON.stringify(value)), (item) => {
    if (typeof item === 'string') return text(item)
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item
    return Object.fromEntries(Object.entries(item).map(([key, inner]) => [text(key), inner]))
  })
}

function eachText(value: unknown, visit: (text: string) => void): void {
  if (typeof value === 'string') visit(value)
  else if (Array.isArray(value)) for (const item of value) eachText(item, visit)
  else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      visit(key)
      eachText(item, visit)
    }
  }
}

/** Causes of causes that are looked through. */
const maxDepth = 8

/**
 * The error with every known secret taken out of its message, data and causes; the same one where it holds none. A cause
 * that holds one is left out.
 */
export function redactedError(error: unknown, redactor: SecretRedactor): unknown {
  if (!(error instanceof Error) || !containsSecret(error, redactor)) return error
  const message = redactor.text(error.message)
  const { cause } = error
  const kept = cause === undefined || containsSecret(cause, redactor) ? {} : { cause }
  if (error instanceof RpcError) return new RpcError(error.code, message, redactor.value(error.data))
  if (error instanceof McpError) {
    return new McpError(error.code, message, { ...kept, details: redactor.value(error.details) })
  }
  return new Error(message, kept)
}

function containsSecret(error: unknown, redactor: SecretRedactor, depth = 0): boolean {
  if (!(error instanceof Error)) return redactor.value(error) !== error
  const { message, cause, stack = '' } = error
  if (depth > maxDepth || redactor.text(message) !== message || redactor.text(stack) !== stack) return true
  if (error instanceof RpcError && redactor.value(error.data) !== error.data) return true
  if (error instanceof McpError && redactor.value(error.details) !== error.details) return true
  return cause !== undefined && containsSecret(cause, redactor, depth + 1)
}

/** Opens what was sealed for this program. Its key is in memory alone and ends with it. */
export interface SealRecipient {
  /** What others seal with: no secret. */
  readonly address: string
  /** What was sealed; undefined where it was sealed for somebody else or changed on its way. */
  open(sealed: string, about: string): string | undefined
}

const ivBytes = 12
const tagBytes = 16

export function createSealRecipient(): SealRecipient {
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
