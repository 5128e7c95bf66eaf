import { DuplexTransport } from '../../../packages/sdk/src/transports/client/duplex.ts'
import { isObject } from '../../setup/json.ts'

/** A scripted peer of a client: it sends the given messages, valid or not. */
export interface SchemaPeer {
  readonly link: DuplexTransport
  /** Its response to a request: the members besides the id. */
  answer: (method: string, message: object) => object | undefined
  /** Receives notifications and responses. */
  receive: (message: object) => void
  /** Sends a message of its own. */
  send(message: object): void
}

/** Makes the scripted peer of one connection. */
export function schemaPeer(answer: SchemaPeer['answer']): SchemaPeer {
  let send: SchemaPeer['send'] = () => {}
  const peer: SchemaPeer = {
    answer,
    receive: () => {},
    send: (message) => send(message),
    link: new DuplexTransport('memory', async (events) => {
      send = (message) => events.text(JSON.stringify(message))
      return {
        send: async (text) => queueMicrotask(() => receiveMessage(JSON.parse(text))),
        close: async () => {},
      }
    }),
  }
  const receiveMessage = (message: unknown): void => {
    if (!isObject(message)) return
    const { id, method } = message
    if (typeof method !== 'string' || id === undefined) {
      peer.receive(message)
      return
    }
    const response = peer.answer(method, message)
    if (response !== undefined) send({ jsonrpc: '2.0', id, ...response })
  }
  return peer
}
