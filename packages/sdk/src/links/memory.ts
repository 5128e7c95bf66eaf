import { RpcError } from '../jsonrpc/error.ts'
import { parseJson } from '../jsonrpc/parse.ts'
import { type DuplexOptions, openConnection } from '../serve/duplex.ts'
import type { Server } from '../server/server.ts'
import { DuplexLink } from './duplex.ts'
import type { LinkFactory } from './link.ts'

/** A server value in this process. Messages become JSON text and back both ways, as they would on a wire. */
export function memory(server: Server, options?: Pick<DuplexOptions, 'caller' | 'limits'>): LinkFactory {
  return () =>
    new DuplexLink('memory', async (events) => {
      const connection = openConnection(
        server,
        (message) => {
          const text = JSON.stringify(message)
          queueMicrotask(() => events.text(text))
        },
        options,
      )
      const receive = (text: string): void => {
        try {
          connection.receive(parseJson(text))
        } catch (error) {
          if (!(error instanceof RpcError)) throw error
          connection.reject(error.code, error.message)
        }
      }
      return {
        send: async (text) => queueMicrotask(() => receive(text)),
        close: () => connection.close(),
      }
    })
}
