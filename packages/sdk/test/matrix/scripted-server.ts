import { type JsonObject, MetaKey, type ProtocolVersion, type RequestId } from '@jackfield/sdk'
import type { Client, ConnectOptions } from '@jackfield/sdk/client'
import { isObject } from '../../../../test/setup/json.ts'
import type { MessageHandler, Send } from '../transports/scripted-target.ts'
import type { Transcript } from './transcript.ts'

/** A request that a scripted server received. */
export interface ScriptedRequest {
  readonly id: RequestId
  readonly params: JsonObject
  /** Sends a message related to this request; over HTTP on its stream. */
  send(message: JsonObject): void
  /** Sends any JSON value. */
  sendValue(value: unknown): void
}

/** Returns the result, an error as `{ error }`, or undefined if the answer is sent otherwise or never. */
export type Answer = (request: ScriptedRequest) => JsonObject | undefined

/** The answers of a scripted server, by method. `capabilities` is what it declares. */
export interface Script {
  readonly capabilities?: JsonObject
  readonly methods?: Readonly<Record<string, Answer>>
  /** Receives everything else: notifications, responses, and invalid messages. */
  readonly other?: (value: unknown, send: (message: JsonObject) => void) => void
}

/** A scripted server, and the clients connected to it. */
export interface ScriptedServer {
  /** Connects a client of the revision, unless the options say otherwise. */
  connect(options?: ConnectOptions): Promise<Client>
  readonly transcript: Transcript
  /** Every JSON value that the server received. */
  readonly received: readonly unknown[]
  readonly warnings: readonly string[]
}

/** A client connected to a scripted server. */
export interface ScriptedConnection extends ScriptedServer {
  readonly client: Client
}

export const everyOffer: JsonObject = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  logging: {},
}

/** A handler that answers negotiation and pings of a revision, and other messages by the script. */
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
