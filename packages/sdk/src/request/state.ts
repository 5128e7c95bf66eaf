import { utf8 } from '../jsonrpc/bytes.ts'
import { ErrorCode, internalError, kindOf, McpError, RpcError } from '../jsonrpc/error.ts'
import { readJson } from '../jsonrpc/exact-json.ts'
import type { InputRequests } from '../protocol/server-requests.ts'
import type { Backplane } from './backplane.ts'
import { canonical, digest, fromBase64Url, toBase64Url } from './encoding.ts'
import type { Exchange } from './exchange.ts'
import { limits } from './limits.ts'

interface Claims {
  /** Expiry in milliseconds since 1970. */
  exp: number
  aud: string
  sub: string
  /** Digest of the method, name and arguments the state belongs to. */
  req: string
  /** One-time id. */
  jti: string
  /** The process that records whether the state was used; absent if the record is shared. */
  at?: string | undefined
  journal: Journal
}

const useNotRecorded =
  'sealed by another process, or by this one before a restart, so it is not known whether it was used. ' +
  'Configure one persistent backplane for all processes'

/** Turns journals into `requestState` and back. */
export interface StateCodec {
  seal(exchange: Exchange, journal: Journal): Promise<string>
  /** Rejects with the same RpcError for every reason, which only `onRefused` receives. */
  open(exchange: Exchange, state: unknown): Promise<Journal>
  /** Stores the journal while the handler runs; absent if an interrupted run is not continued. */
  save?(exchange: Exchange, journal: Journal): Promise<void>
}

export interface StateCodecOptions {
  sealer: Sealer
  /** Records used states, and stores large ones. */
  backplane: Backplane
  /** The audience of the state: one sealed for another audience is rejected. */
  audience: string
  /** Lifetime of a state in milliseconds. Default 30 minutes. */
  ttlMs?: number
  /**
   * Accepts states of processes whose used states the backplane does not know. Default false: a state could be used once in
   * each process.
   */
  acceptUnknown?: boolean
  /** Called whenever a state is sealed. */
  onSealed?: () => void
  /** Called with the reason for which a state was refused, which the client does not get. */
  onRefused?: (reason: string) => void
  /** Called with an error of the backplane, whose details the client does not get. */
  onFailed?: (error: unknown) => void
}

export function createStateCodec(options: StateCodecOptions): StateCodec {
  const { sealer, backplane, audience } = options
  const ttlMs = options.ttlMs ?? limits.stateTtlMs

  const refuse = (reason: string): RpcError => {
    options.onRefused?.(reason)
    return new RpcError(
      ErrorCode.InvalidParams,
      'The requestState is not valid here. Start the request over.',
    )
  }

  const shared = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (error) {
      options.onFailed?.(error)
      const isFull = error instanceof McpError && error.code === 'LIMIT'
      const reason = isFull ? 'is full' : 'cannot be reached'
      throw internalError(
        `The store for the state of this request ${reason}. Try again later; if the requestState is then refused, start the request over.`,
      )
    }
  }

  const unseal = async (state: string): Promise<unknown> => {
    const opened = await sealer.open(state)
    if (opened === undefined) throw refuse('not sealed by a key of this server')
    return opened.value
  }

  const isUseRecorded = ({ at }: Claims): boolean =>
    backplane.instance === undefined || options.acceptUnknown === true || at === backplane.instance

  return {
    async seal(exchange, journal) {
      options.onSealed?.()
      const claims: Claims = {
        exp: Date.now() + ttlMs,
        aud: audience,
        sub: exchange.peer.principal ?? '',
        req: await digestOf(exchange),
        jti: crypto.randomUUID(),
        at: backplane.instance,
        journal,
      }
      const sealed = await sealer.seal(claims)
      if (sealed.length <= exchange.limits.stateChars) return sealed
      const handle = crypto.randomUUID()
      await shared(backplane.set(storageKey(handle), sealed, ttlMs, exchange.peer.quotaKey))
      return sealer.seal({ handle })
    },

    async open(exchange, state) {
      if (typeof state !== 'string') throw refuse('not a string')
      if (state.length > exchange.limits.stateChars) throw refuse('too long')
      const outer = await unseal(state)
      let claims = outer
      if (isStored(outer)) {
        const stored = await shared(backplane.get(storageKey(outer.handle)))
        if (stored === undefined) throw refuse('no longer stored')
        claims = await unseal(stored)
      }
      if (!isClaims(claims)) throw refuse('not a request state')
      if (claims.exp <= Date.now()) throw refuse('expired')
      if (claims.aud !== audience) throw refuse('sealed for another audience')
      if (claims.sub !== (exchange.peer.principal ?? '')) throw refuse('sealed for another principal')
      if (claims.req !== (await digestOf(exchange))) throw refuse('sealed for another request')
      if (!isUseRecorded(claims)) throw refuse(useNotRecorded)
      const validMs = claims.exp - Date.now() + 1000
      const firstUse = await shared(backplane.add(`used:${claims.jti}`, '1', validMs, exchange.peer.quotaKey))
      if (!firstUse) throw refuse('used before')
      if (isStored(outer)) {
        await backplane.delete(storageKey(outer.handle)).catch((error) => options.onFailed?.(error))
      }
      return claims.journal
    },
  }
}

function storageKey(handle: string): string {
  return `state:${handle}`
}

function isStored(value: unknown): value is { handle: string } {
  return typeof value === 'object' && value !== null && 'handle' in value && typeof value.handle === 'string'
}

function isClaims(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null && 'jti' in value && 'journal' in value
}

function digestOf(exchange: Exchange): Promise<string> {
  const { name, uri, arguments: args } = exchange.params
  return digest(canonical([exchange.method, name, uri, args]))
}

const minKeyBytes = 32

/** @throws TypeError for secrets that cannot encrypt states, such as one of less than 32 bytes */
export function requireStateKeys(keys: readonly (string | Uint8Array)[] | undefined): void {
  stateKeys(keys)
}

/** Not exported: older versions of TypeScript cannot read the type. */
function stateKeys(keys: readonly (string | Uint8Array)[] = []): Uint8Array<ArrayBuffer>[] {
  if (!Array.isArray(keys)) {
    throw new TypeError(
      `"keys" must be a list of secrets, not ${typeof keys === 'string' ? 'one string' : kindOf(keys)}: write keys: [secret]`,
    )
  }
  const secrets = keys.map((secret: unknown, at) => {
    if (typeof secret === 'string') return utf8(secret)
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

/** Encrypts and authenticates small JSON values, so that they can be sent through the client. */
export interface Sealer {
  seal(value: unknown): Promise<string>
  /** The value, or undefined if the text was not sealed by one of these keys. */
  open(text: string): Promise<{ value: unknown } | undefined>
}

const version = 'v1'
const ivBytes = 12

interface Key {
  id: string
  key: CryptoKey
}

/**
 * AES-256-GCM under keys derived by HKDF-SHA-256. The first key seals, every key opens: rotate keys by inserting a new one in
 * front. Without keys a random one is used.
 * @param keys secrets of at least 32 bytes each
 * @throws TypeError for a shorter secret
 */
export function createSealer(keys?: readonly (string | Uint8Array)[]): Sealer {
  const bytes = stateKeys(keys)
  let ring: Promise<Key[]> | undefined
  const load = (): Promise<Key[]> => {
    // Created on first use: workers have no randomness before the first request.
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
      const plain = utf8(JSON.stringify(value))
      const cipher = new Uint8Array(
        await crypto.subtle.encrypt({ name: 'AES-GCM', iv, additionalData: utf8(head) }, first.key, plain),
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
            additionalData: utf8(`${version}.${id}`),
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
    info: utf8(info),
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

/** The state of a request between its rounds. It is sent encrypted through the client, as `requestState`. */
export interface Journal {
  /** Identifies the request across its rounds; the prefix of its idempotency keys. */
  flow: string
  /** Number of completed rounds. */
  round: number
  /** Identities of the questions of the last round, by their key on the wire. */
  asked: Record<string, string>
  /** Checked answers, by the identity of their question. */
  answers: Record<string, unknown>
  /** Results of finished steps, by name with a number. */
  steps: Record<string, { value?: unknown }>
  /** How often the question of a key was answered and then differed in the next run. */
  drifts: Record<string, number>
  /** Whether the explicit form was used, with the author's state and the answers so far by key. */
  carries: boolean
  state: unknown
  carried: Record<string, unknown>
  /** The explicit form's last questions, to check their answers against. */
  required: InputRequests
}

export function emptyJournal(): Journal {
  return {
    flow: crypto.randomUUID(),
    round: 0,
    asked: {},
    answers: {},
    steps: {},
    drifts: {},
    carries: false,
    state: undefined,
    carried: {},
    required: {},
  }
}
