import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import type { Backplane } from './backplane.ts'
import { canonical, digest } from './canonical.ts'
import type { Exchange } from './exchange.ts'
import type { Journal } from './journal.ts'
import { limits } from './limits.ts'
import type { Sealer } from './seal.ts'

interface Claims {
  /** Milliseconds since 1970 when the state goes bad. */
  exp: number
  aud: string
  sub: string
  /** Digest of the method, name and arguments the state belongs to. */
  req: string
  /** One-time id. */
  jti: string
  /** The process that alone knows whether the state was used; absent where others know too. */
  at?: string | undefined
  journal: Journal
}

const unknownUse =
  'sealed by another process, or by this one before it was started anew, so whether it was used is not known. ' +
  'Give all of them one backplane that outlives a process'

/** Turns journals into `requestState` and back. */
export interface StateKeeper {
  seal(exchange: Exchange, journal: Journal): Promise<string>
  /** Rejects with one and the same RpcError whatever is wrong; only `onRefused` hears the reason. */
  open(exchange: Exchange, state: unknown): Promise<Journal>
  /** Keeps what is remembered so far while the handler runs; absent where a run that breaks off is over. */
  keep?(exchange: Exchange, journal: Journal): Promise<void>
}

export function createStateKeeper(options: {
  sealer: Sealer
  backplane: Backplane
  audience: string
  ttlMs?: number
  acceptUnknown?: boolean
  /** Called whenever a state is sealed. */
  onSealed?: () => void
  onRefused?: (reason: string) => void
  /** Hears why the backplane failed; the peer is only told that it did. */
  onFailed?: (error: unknown) => void
}): StateKeeper {
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
      const why = isFull(error) ? 'does not fit in what is kept for all' : 'cannot be reached'
      throw new RpcError(
        ErrorCode.InternalError,
        `What this request needs to remember ${why} now. Try again later; if the requestState is refused then, start the request over.`,
      )
    }
  }

  const forget = (key: string): Promise<void> =>
    backplane.delete(key).catch((error) => options.onFailed?.(error))

  const unseal = async ({ limits }: Exchange, state: unknown): Promise<unknown> => {
    if (typeof state !== 'string') throw refuse('not a string')
    if (state.length > limits.stateChars) throw refuse('too long')
    const opened = await sealer.open(state)
    if (opened === undefined) throw refuse('not sealed by a key of this server')
    return opened.value
  }

  const mayBeKnown = ({ at }: Claims): boolean =>
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
      await shared(backplane.set(storedAt(handle), sealed, ttlMs, exchange.peer.quotaKey))
      return sealer.seal({ handle })
    },

    async open(exchange, state) {
      const outer = await unseal(exchange, state)
      const claims = isStored(outer) ? await fetchStored(outer.handle) : outer
      if (!isClaims(claims)) throw refuse('not a request state')
      if (claims.exp <= Date.now()) throw refuse('expired')
      if (claims.aud !== audience) throw refuse('sealed for another audience')
      if (claims.sub !== (exchange.peer.principal ?? '')) throw refuse('sealed for another principal')
      if (claims.req !== (await digestOf(exchange))) throw refuse('sealed for another request')
      if (!mayBeKnown(claims)) throw refuse(unknownUse)
      const goodMs = claims.exp - Date.now() + 1000
      const firstUse = await shared(backplane.add(`used:${claims.jti}`, '1', goodMs, exchange.peer.quotaKey))
      if (!firstUse) throw refuse('used before')
      if (isStored(outer)) await forget(storedAt(outer.handle))
      return claims.journal
    },
  }

  async function fetchStored(handle: string): Promise<unknown> {
    const sealed = await shared(backplane.get(storedAt(handle)))
    if (sealed === undefined) throw refuse('no longer stored')
    const opened = await sealer.open(sealed)
    if (opened === undefined) throw refuse('not sealed by a key of this server')
    return opened.value
  }
}

function storedAt(handle: string): string {
  return `state:${handle}`
}

function isFull(error: unknown): boolean {
  return error instanceof McpError && error.code === 'LIMIT'
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
