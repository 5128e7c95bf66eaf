import { type JsonObject, MetaKey, type ProtocolVersion, type RequestId } from '@jackfield/sdk'
import type { Client, ConnectOptions } from '@jackfield/sdk/client'
import { isObject } from '../../../../test/setup/json.ts'
import type { MessageHandler, Send } from '../transports/scripted-target.ts'
import type { Transcript } from './transcript.ts'

/** A request as the server played by hand takes it. */
export interface ScriptedRequest {
  readonly id: RequestId
  readonly params: JsonObject
  /** Says something about this request; over HTTP on its stream. */
  send(message: JsonObject): void
  /** Says any JSON value. */
  sendValue(value: unknown): void
}

/** Gives the result, an error as `{ error }`, or nothing where the answer comes otherwise or never. */
export type Answer = (request: ScriptedRequest) => JsonObject | undefined

/** What a server played by hand answers, by method. `capabilities` is what it declares. */
export interface Script {
  readonly capabilities?: JsonObject
  readonly methods?: Readonly<Record<string, Answer>>
  /** Hears whatever else comes: notices, responses, and what is no message at all. */
  readonly other?: (value: unknown, send: (message: JsonObject) => void) => void
}

/** A server played by hand, and those who meet it. */
export interface ScriptedServer {
  /** Connects a client of the revision, unless the options say otherwise. */
  connect(options?: ConnectOptions): Promise<Client>
  readonly transcript: Transcript
  /** Every JSON value that reached the server, as it came. */
  readonly received: readonly unknown[]
  readonly warnings: readonly string[]
}

/** A client that met a server played by hand. */
export interface ScriptedConnection extends ScriptedServer {
  readonly client: Client
}

export const everyOffer: JsonObject = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  logging: {},
}

/** The part of a server of one revision that answers greetings and pings, and all else as the script has it. */
export function handlerOf(version: ProtocolVersion, script: Script, received: unknown[]): MessageHandler {
  const { methods = {}, other = () => {} } = script
  const own = new Map(Object.entries({ ...handshakeAnswers(version, script), ...methods }))
  return (value, send) => {
    received.push(value)
    const answer = isRequest(value) ? own.get(value.method) : undefined
    if (!isRequest(value) || answer === undefined) {
      other(value, (message) => send({ jsonrpc: '2.0', ...message }))
      return
    }
    const answered = answer(requestOf(value, send))
    if (answered === undefined) return
    const outcome = isObject(answered['error']) ? answered : { result: answered }
    send({ jsonrpc: '2.0', id: value.id, ...outcome })
  }
}

function requestOf({ id, params }: Request, send: Send): ScriptedRequest {
  return {
    id,
    params: isObject(params) ? params : {},
    send: (message) => send({ jsonrpc: '2.0', ...message }),
    sendValue: send,
  }
}

function handshakeAnswers(
  version: ProtocolVersion,
  { capabilities = everyOffer }: Script,
): Record<string, Answer> {
  const serverInfo = { name: 'played', version: '1' }
  if (version === '2026-07-28') {
    return {
      'server/discover': () => ({
        resultType: 'complete',
        supportedVersions: [version],
        capabilities,
        ttlMs: 0,
        cacheScope: 'private',
        _meta: { [MetaKey.serverInfo]: serverInfo },
      }),
    }
  }
  return {
    initialize: () => ({ protocolVersion: version, capabilities, serverInfo }),
    ping: () => ({}),
    'resources/subscribe': () => ({}),
    'resources/unsubscribe': () => ({}),
    'logging/setLevel': () => ({}),
  }
}

interface Request {
  readonly id: RequestId
  readonly method: string
  readonly params?: unknown
}

function isRequest(value: unknown): value is Request {
  return isObject(value) && typeof value['method'] === 'string' && 'id' in value
}

/** Results as a server of the revision sends them. */
export function resultsOf(version: ProtocolVersion): {
  called(text: string, more?: JsonObject): JsonObject
  listed(result: JsonObject): JsonObject
} {
  const complete = version === '2026-07-28' ? { resultType: 'complete' } : {}
  const fresh = version === '2026-07-28' ? { ttlMs: 0, cacheScope: 'private' } : {}
  return {
    called: (text, more = {}) => ({ ...complete, content: [{ type: 'text', text }], ...more }),
    listed: (result) => ({ ...complete, ...fresh, ...result }),
  }
}
