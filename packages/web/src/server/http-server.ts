import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { RequestServer } from './requests.ts'
import { refuse, refuseRaw } from './responses.ts'
import type { SocketServer } from './sockets.ts'

const maxHeaderBytes = 16_384
const headersMs = 10_000
const requestMs = 60_000
const keepAliveMs = 5_000
const connectionsCheckMs = 5_000
/** Milliseconds that browsers have to complete the closing handshake of their sockets. */
const closeMs = 500

/** Creates an HTTP server with limits on headers, time and connections. It does not listen yet. */
export function createHttpServer({ maxConnections }: { maxConnections: number }): Server {
  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    keepAliveTimeout: keepAliveMs,
    connectionsCheckingInterval: connectionsCheckMs,
    // A request without `Host` gets the same answer as one with a wrong one.
    requireHostHeader: false,
  })
  server.maxConnections = maxConnections
  return server
}

/**
 * Handles the requests and WebSocket handshakes of a server. `serveOther`: called first; returns true if it has served a request
 * that is not for the page.
 */
export function serveRequests(
  server: Server,
  requests: RequestServer,
  serveOther: (request: IncomingMessage, response: ServerResponse) => boolean = () => false,
): void {
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    if (!serveOther(request, response)) void requests.serve(request, response)
  }
  server.on('request', serve)
  server.on('checkContinue', serve)
  server.on('checkExpectation', (_request, response) =>
    refuse(response, 417, 'The server meets no such expectation.', { Connection: 'close' }),
  )
  server.on('upgrade', (request, stream, head) => requests.upgrade(request, stream, head))
  server.on('clientError', (error: NodeJS.ErrnoException, stream) => {
    // A refusal that is written after the beginning of a response would become part of it.
    if (stream instanceof Socket && stream.bytesWritten > 0) stream.destroy()
    else refuseRaw(stream, statusOf(error))
  })
}

/** Closes a server and its sockets. `closeServices`: closes what the sockets use, before connections are cut after 500 ms. */
export async function closeHttpServer(
  server: Server,
  sockets: SocketServer,
  closeServices: () => Promise<void> | undefined,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  sockets.close()
  await closeServices()
  server.closeIdleConnections()
  const timer = setTimeout(() => {
    sockets.terminate()
    server.closeAllConnections()
  }, closeMs)
  await closed
  clearTimeout(timer)
}

function statusOf({ code }: NodeJS.ErrnoException): number {
  if (code === 'HPE_HEADER_OVERFLOW') return 431
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400
}
