import { DuplexTransport } from '../../../packages/sdk/src/transports/client/duplex.ts'
import { isObject } from '../../setup/json.ts'

/** A scripted peer of a client: it sends the given messages, valid or not. */
export interface FarEnd {
  readonly link: DuplexTransport
  /** What it answers a request with: the members of a response besides its id. */
  answer: (method: string, message: object) => object | undefined
  /** Hears of notices and of answers. */
  receive: (message: object) => void
  /** Sends a message of its own. */
  say(message: object): void
}

/** Makes the scripted peer of one connection. */
export function farEnd(answer: FarEnd['answer']): FarEnd {
  let say: FarEnd['say'] = () => {}
  const end: FarEnd = {
    answer,
    receive: () => {},
    say: (message) => say(message),
    link: new DuplexTransport('memory', async (events) => {
      say = (message) => events.text(JSON.stringify(message))
      return { send: async (text) => queueMicrotask(() => take(JSON.parse(text))), close: async () => {} }
    }),
  }
  const take = (message: unknown): void => {
    if (!isObject(message)) return
    const { id, method } = message
    if (typeof method !== 'string' || id === undefined) {
      end.receive(message)
      return
    }
    const said = end.answer(method, message)
    if (said !== undefined) say({ jsonrpc: '2.0', id, ...said })
  }
  return end
}
