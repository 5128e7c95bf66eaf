import { RpcError } from '../../jsonrpc/error.ts'
import { parseJson } from '../../jsonrpc/parse.ts'
import type { Server } from '../../server/server.ts'
import { DuplexConnection, type DuplexOptions } from '../server/duplex-connection.ts'
import { DuplexTransport } from './duplex.ts'
import type { ClientTransportFactory } from './transport.ts'

/** A transport to a server in this process. Messages are serialized both ways, as on any other transport. */
export function memory(
  server: Server,
  options?: Pick<DuplexOptions, 'caller' | 'limits'>,
): ClientTransportFactory {
  return () =>
    new DuplexTransport('memory', async (events) => {
      const connection = new DuplexConnection(
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
