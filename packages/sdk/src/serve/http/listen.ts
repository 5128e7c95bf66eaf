import type { IncomingMessage, ServerResponse } from 'node:http'
import { McpError } from '../../jsonrpc/error.ts'
import type { Bounds } from '../bounds.ts'

/** A server that listens on a port of its own. */
export interface Listener {
  /** Where clients connect, with the path. */
  readonly url: string
  readonly port: number
  /** Stops listening and ends the handler: streams are ended, what handlers answer within 1 s is sent. */
  close(): Promise<void>
}

/** Longer than clients and proxies keep an idle connection, so that it is they who close it. */
const keepAliveTimeoutMs = 75_000
/** Milliseconds between two looks for requests that take too long to come. */
const slowestCheckMs = 30_000

/**
 * Serves a handler on a port of this machine.
 * @throws McpError CONNECT_FAILED when the port cannot be had
 */
export async function listenOn(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  options: { port: number; host: string; path: string; bounds: Bounds; onClose(): Promise<void> },
): Promise<Listener> {
  const { createServer } = await import('node:http')
  const { host, path, bounds, onClose } = options
  const { headersMs, requestMs } = bounds
  const timeouts = {
    keepAliveTimeout: keepAliveTimeoutMs,
    headersTimeout: Math.min(headersMs, requestMs),
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.max(100, Math.min(slowestCheckMs, headersMs / 2, requestMs / 2)),
  }
  const server = createServer(timeouts, handle)
  server.maxConnections = bounds.httpConnections
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new McpError('CONNECT_FAILED', `Cannot listen on ${host} port ${options.port}: ${cause.message}`, {
          cause,
        }),
      ),
    )
    server.listen(options.port, host, resolve)
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : options.port
  const name = host.includes(':') ? `[${host}]` : host
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    await onClose()
    server.closeIdleConnections()
    setTimeout(() => server.closeAllConnections(), 100).unref()
    await closed
  }
  return {
    url: `http://${name}:${port}${path}`,
    port,
    close: () => {
      closing ??= close()
      return closing
    },
  }
}
