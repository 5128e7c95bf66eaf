import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import { invalid, McpError } from '../../../jsonrpc/error.ts'
import { orAborted } from '../../../jsonrpc/promises.ts'
import { withoutInheritedDescriptors } from '../../../transports/client/process-tree.ts'
import { isLoopback } from '../network.ts'
import type { Redirect, RedirectSession } from '../redirect.ts'

const openers: Partial<Record<NodeJS.Platform, readonly [command: string, ...args: string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/**
 * Opens a page in the user's browser without a shell. Resolves once the browser was started.
 * @throws McpError 'INVALID' for anything but an https: URL, or an http: one on this machine
 * @throws McpError 'CONNECT_FAILED' where no browser can be started
 */
export async function openBrowser(url: URL): Promise<void> {
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url))) {
    throw invalid(`Only https: URLs are opened in the browser, not ${url.protocol} ones`)
  }
  const [command, ...args] = openers[process.platform] ?? ['xdg-open']
  try {
    const child = withoutInheritedDescriptors(['ignore', 'ignore', 'ignore'], (stdio) =>
      spawn(command, [...args, url.href], { detached: true, stdio, shell: false, windowsHide: true }),
    )
    await once(child, 'spawn')
    child.unref()
  } catch (cause) {
    throw new McpError('CONNECT_FAILED', `No browser could be opened: ${command} failed`, { cause })
  }
}

/** Options of `loopback`. All have defaults. */
export interface LoopbackOptions {
  /**
   * The port to listen on. Default: that of the last registration if free, else any free port. Pre-registered clients
   * and clients with a metadata document may require a fixed one.
   */
  port?: number
  /** The path of the redirect URI. Default `/callback`. */
  path?: string
  /** The host of the redirect URI. Default `127.0.0.1`, the address of the listener in either case. */
  host?: '127.0.0.1' | 'localhost'
  /** Opens the login page. Default: `openBrowser`. With `onUrl`, its failure is ignored. */
  open?: (url: URL) => Promise<void>
  /** Called with the URL of the login page, to print it for a browser on another machine. */
  onUrl?: (url: URL) => void
  /** Milliseconds to wait for the user. Default 300 000. */
  timeoutMs?: number
}

/** Limits of the listener, which any program on this machine can connect to. */
const maxConnections = 100
const requestTimeoutMs = 10_000

/** Adapts to small screens and dark mode without styles, which the content security policy would block. */
const page = (text: string): string =>
  '<!doctype html><html lang="en"><meta charset="utf-8"><title>Login</title>' +
  '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">' +
  `<h1>Login</h1><p>${text}</p></html>`
const done = page('Done. You can close this window and go back to the application.')
const notExpected = page('This page only accepts the response to a login in progress.')

/** A login in the user's browser, with a listener on 127.0.0.1 for the duration of the login. */
export function loopback(options: LoopbackOptions = {}): Redirect {
  const { path = '/callback', host = '127.0.0.1' } = options
  return {
    async begin(last) {
      const { createServer } = await import('node:http')
      const server = createServer({
        headersTimeout: requestTimeoutMs,
        requestTimeout: requestTimeoutMs,
        connectionsCheckingInterval: requestTimeoutMs / 2,
      })
      server.maxConnections = maxConnections
      const port = await listen(server, options.port, portIn(last, host, path))
      return loginAt(server, `http://${host}:${port}${path}`, options)
    },
  }
}

function loginAt(server: Server, uri: string, options: LoopbackOptions): RedirectSession {
  const { timeoutMs = 300_000, onUrl, open = openBrowser } = options
  const own = new URL(uri)
  let awaited: { state: string | null; resolve: (url: URL) => void } | undefined
  // Only a callback with the `state` of this login is accepted; any other request gets 400.
  server.on('request', (request, response) => {
    const url = URL.canParse(request.url ?? '', own) ? new URL(request.url ?? '', own) : undefined
    const ours =
      request.method === 'GET' &&
      request.headersDistinct['host']?.join() === own.host &&
      url?.origin === own.origin &&
      url.pathname === own.pathname &&
      url.searchParams.get('state') === awaited?.state
    send(response, ours ? 200 : 400, ours ? done : notExpected)
    if (ours) awaited?.resolve(url)
  })
  return {
    uri,
    async open(url, signal) {
      const late = new AbortController()
      const timer = setTimeout(() => {
        late.abort(
          new McpError(
            'UNAUTHORIZED',
            `The login was not finished within ${Math.round(timeoutMs / 1_000)} s. Try again, and finish the login in the browser`,
          ),
        )
      }, timeoutMs)
      const answer = new Promise<URL>((resolve) => {
        awaited = { state: url.searchParams.get('state'), resolve }
      })
      try {
        onUrl?.(url)
        await open(url).catch((error) => {
          if (onUrl === undefined) throw error
        })
        return await orAborted(answer, AbortSignal.any([signal, late.signal]))
      } finally {
        clearTimeout(timer)
      }
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
        // The browser may keep its connection open, and must still receive the page.
        setTimeout(() => server.closeAllConnections(), 1_000).unref()
      }),
  }
}

/** The page never contains data of the request. */
function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  })
  response.end(body)
}

function portIn(last: string | undefined, host: string, path: string): number | undefined {
  if (last === undefined || !URL.canParse(last)) return undefined
  const { protocol, hostname, port, pathname } = new URL(last)
  return protocol === 'http:' && hostname === host && pathname === path && port !== ''
    ? Number(port)
    : undefined
}

async function listen(server: Server, fixed: number | undefined, last: number | undefined): Promise<number> {
  for (const port of fixed === undefined ? [...(last === undefined ? [] : [last]), 0] : [fixed]) {
    try {
      return await tryListen(server, port)
    } catch (cause) {
      if (port === last && fixed === undefined) continue
      throw new McpError(
        'CONNECT_FAILED',
        `The login cannot listen on port ${port}. Close the program that uses it, or choose another port`,
        { cause },
      )
    }
  }
  throw new McpError('CONNECT_FAILED', 'The login cannot listen on any port of this machine')
}

async function tryListen(server: Server, port: number): Promise<number> {
  server.listen({ port, host: '127.0.0.1', exclusive: true })
  await once(server, 'listening')
  const address = server.address()
  if (address !== null && typeof address === 'object') return address.port
  throw new Error('not a TCP port')
}
