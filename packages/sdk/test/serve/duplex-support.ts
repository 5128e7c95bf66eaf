import type { JsonObject, JsonRpcMessage } from '@jackfield/sdk'
import { DuplexConnection, type DuplexOptions } from '../../src/transports/server/duplex-connection.ts'
import {
  ask,
  echo,
  hang,
  hung,
  initialize,
  initialized,
  meta,
  type Tool,
  testServer,
  until,
} from './support.ts'

/** One end of a channel: what was sent to it, and how to answer. */
export function open(tools: Record<string, Tool> = { echo, ask, hang, hung }, options: DuplexOptions = {}) {
  const server = testServer(tools)
  const sent: JsonRpcMessage[] = []
  const batches: JsonRpcMessage[][] = []
  const connection = new DuplexConnection(server, (message) => sent.push(message), {
    sendBatch: (responses) => batches.push(responses),
    ...options,
  })
  const receive = (value: unknown): void => {
    connection.receive(value)
  }
  const answerTo = async (id: unknown): Promise<JsonObject> => {
    const find = (): JsonRpcMessage | undefined =>
      sent.find((message) => !('method' in message) && message.id === id)
    await until(() => find() !== undefined)
    return { ...find() }
  }
  const request = async (message: JsonObject): Promise<JsonObject> => {
    receive({ jsonrpc: '2.0', ...message })
    return answerTo(message['id'])
  }
  const begin = async (version?: string): Promise<JsonObject> => {
    const response = await request(initialize(version))
    receive(initialized)
    return response
  }
  return { server, sent, batches, connection, receive, request, answerTo, begin }
}

export const call = (id: string | number, name: string, more: JsonObject = {}): JsonObject => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, ...more },
})

export const modernCall = (id: string | number, name: string, more: JsonObject = {}): JsonObject =>
  call(id, name, { _meta: meta(), ...more })

export const cancel = (requestId: unknown): JsonObject => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId },
})

export const text = (response: JsonObject): unknown => {
  const { result } = response as { result?: { content?: { text?: string }[] } }
  return result?.content?.[0]?.text
}
