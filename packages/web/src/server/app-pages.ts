import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AppPage, AppService } from '@jackfield/host'
import type { AppPermission } from '@jackfield/sdk/extensions/ui'
import { permissionsPolicy } from './headers.ts'

/** Both loopback addresses: browsers try either for `*.localhost`, and no other program may have one of them. */
const addresses = ['127.0.0.1', '::1'] as const
const maxConnections = 64
const requestMs = 10_000
/** Attempts to find a port that is free on both addresses. */
const maxAttempts = 8

/** What an app's frame may do: run, be an origin of its own, and use forms, whose submission the policy then refuses. */
export const appSandbox = 'allow-scripts allow-same-origin allow-forms'

/** Browser features by the permission names of the MCP Apps extension. */
const features: Readonly<Record<AppPermission, string>> = {
  camera: 'camera',
  microphone: 'microphone',
  geolocation: 'geolocation',
  clipboardWrite: 'clipboard-write',
}

/** The browser features that an app was granted. */
export function featuresOf(page: Pick<AppPage, 'granted'>): string[] {
  return page.granted.map((name) => features[name])
}

export interface AppPagesOptions {
  readonly apps: Pick<AppService, 'document'>
  /** The origin of the page that may frame them. */
  readonly frameAncestor: string
}

/**
 * Serves the pages of apps. The pages of each server have an origin of their own (`a-<site>.localhost`), in a frame of another
 * origin (`p-<site>.localhost`) that forwards messages and prevents navigation to another page. Neither is the origin of the web
 * app.
 */
export class AppPages {
  /** The origins of all pages, as policies name them: `http://*.localhost:7421`. */
  readonly pattern: string
  readonly #options: AppPagesOptions

  constructor(pattern: string, options: AppPagesOptions) {
    this.pattern = pattern
    this.#options = options
  }

  #origin(kind: 'a' | 'p', site: string): string {
    return this.pattern.replace('*', `${kind}-${site}`)
  }

  /** Whether the `Host` of a request is the origin of an app. */
  isFor({ headers: { host = '' } }: IncomingMessage): boolean {
    const [, kind, site = ''] = /^([ap])-([0-9a-f]{32})\./.exec(host) ?? []
    if (kind !== 'a' && kind !== 'p') return false
    return new URL(this.#origin(kind, site)).host === host
  }

  serve(request: IncomingMessage, response: ServerResponse): void {
    const { host = '', 'sec-fetch-dest': destination = 'iframe' } = request.headers
    const [id] = /(?<=^\/)[0-9a-f-]{36}$/.exec(request.url ?? '') ?? []
    // Pages are served to iframes only: not as scripts or workers, and not as a tab of their own.
    const document =
      destination === 'iframe' && id !== undefined ? this.#options.apps.document(id) : undefined
    if (!this.isFor(request)) refuse(response, 421)
    else if (request.method !== 'GET') refuse(response, 405)
    else if (document === undefined || document.page.site !== host.slice(2, 34)) refuse(response, 404)
    else if (host.startsWith('p')) this.#sendFrame(response, document.page)
    else this.#sendPage(response, document.page, document.html)
  }

  /** Sends the outer frame, which sandboxes the app and forwards messages in both directions. */
  #sendFrame(response: ServerResponse, page: AppPage): void {
    const { frameAncestor } = this.#options
    const nonce = randomBytes(16).toString('base64')
    const origin = this.#origin('a', page.site)
    const allow = featuresOf(page)
    const policy = [
      "default-src 'none'",
      `script-src 'nonce-${nonce}'`,
      `style-src 'nonce-${nonce}'`,
      // Only this page: an app that navigates elsewhere gets an empty frame.
      `frame-src ${origin}/${page.id}`,
      "base-uri 'none'",
      "form-action 'none'",
      `frame-ancestors ${frameAncestor}`,
    ]
    const body = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>App</title>
<style nonce="${nonce}">html,body{margin:0;height:100%;overflow:hidden}iframe{display:block;border:0;width:100%;height:100%}</style>
<body><script nonce="${nonce}">
const [host, app] = ${JSON.stringify([frameAncestor, origin])}
const frame = document.createElement('iframe')
frame.title = 'App'
frame.setAttribute('sandbox', ${JSON.stringify(appSandbox)})
frame.allow = ${JSON.stringify(allow.join('; '))}
frame.src = app + '/${page.id}'
addEventListener('message', ({ source, origin, data }) => {
  if (source === parent && origin === host) frame.contentWindow.postMessage(data, app)
  else if (source === frame.contentWindow && origin === app) parent.postMessage(data, host)
})
document.body.append(frame)
</script></body></html>
`
    send(response, body, {
      policy,
      permissions: permissionsFor(allow, `self "${origin}"`),
      connectOrigins: [origin],
    })
  }

  /** Sends the page as its server wrote it, with a policy of what the user agreed to. */
  #sendPage(response: ServerResponse, page: AppPage, html: string): void {
    const { frameAncestor } = this.#options
    const ancestors = `${frameAncestor} ${this.#origin('p', page.site)}`
    send(response, html, {
      policy: appPolicy(page, ancestors),
      permissions: permissionsFor(featuresOf(page), 'self'),
      connectOrigins: Object.values(page.csp).flat(),
    })
  }
}

/** Serves the pages of apps on a port of their own at `*.localhost`, which is not the site of the web app. */
export class AppPageServer {
  readonly port: number
  readonly pages: AppPages
  readonly #servers: readonly Server[]

  private constructor(port: number, servers: readonly Server[], options: AppPagesOptions) {
    this.port = port
    this.pages = new AppPages(`http://*.localhost:${port}`, options)
    this.#servers = servers
    for (const server of servers)
      server.on('request', (request, response) => this.pages.serve(request, response))
  }

  /**
   * Starts the server. `preferredPort`: tried first; with the same port as before, apps find what they stored in the browser.
   * @throws Error if no port is free
   */
  static async start(preferredPort: number | undefined, options: AppPagesOptions): Promise<AppPageServer> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const listening = await listenOnAll(attempt === 0 ? (preferredPort ?? 0) : 0)
      if (listening !== undefined) return new AppPageServer(listening.port, listening.servers, options)
    }
    throw new Error(`The web server cannot listen on a second port of ${addresses[0]} for apps.`)
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map(closeServer))
  }
}

/** The content security policy of an app. */
function appPolicy({ csp }: AppPage, ancestors: string): string[] {
  const { connectDomains = [], resourceDomains = [], frameDomains = [], baseUriDomains = [] } = csp
  const directive = (name: string, keywords: readonly string[], origins: readonly string[]): string =>
    [name, ...(keywords.length + origins.length === 0 ? ["'none'"] : [...keywords, ...origins])].join(' ')
  return [
    "default-src 'none'",
    // Inline scripts are allowed: the whole page is already written by the server.
    directive('script-src', ["'unsafe-inline'", "'unsafe-eval'", 'blob:', 'data:'], resourceDomains),
    directive('style-src', ["'unsafe-inline'"], resourceDomains),
    directive('img-src', ['data:', 'blob:'], resourceDomains),
    directive('font-src', ['data:'], resourceDomains),
    directive('media-src', ['data:', 'blob:'], resourceDomains),
    directive('connect-src', [], connectDomains),
    directive('worker-src', ['blob:'], []),
    directive('frame-src', [], frameDomains),
    directive('base-uri', [], baseUriDomains),
    "object-src 'none'",
    "form-action 'none'",
    `frame-ancestors ${ancestors}`,
    `sandbox ${appSandbox}`,
  ]
}

/** The permissions policy that allows these features to `origin` and no others. */
function permissionsFor(allowed: readonly string[], origin: string): string {
  return permissionsPolicy((feature) => (allowed.includes(feature) ? origin : undefined))
}

/**
 * Sends a page. `connectOrigins`: the only origins that it may connect to. Unlike the content security policy, `Connection-Allowlist`
 * also blocks WebRTC and DNS lookups (Chromium).
 * @see https://wicg.github.io/connection-allowlists/
 */
function send(
  response: ServerResponse,
  body: string,
  {
    policy,
    permissions,
    connectOrigins,
  }: { policy: readonly string[]; permissions: string; connectOrigins: readonly string[] },
): void {
  response.writeHead(200, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'Content-Security-Policy': policy.join('; '),
    'Permissions-Policy': permissions,
    'Connection-Allowlist': `(${connectOrigins.map((origin) => `"${origin}/*"`).join(' ')});webrtc=block`,
    ...commonHeaders,
  })
  response.end(body)
}

const commonHeaders = {
  'Cache-Control': 'no-store',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Origin-Agent-Cluster': '?1',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-DNS-Prefetch-Control': 'off',
} as const

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { ...commonHeaders, 'Content-Length': 0 })
  response.end()
}

/** Listens on one port of all addresses; undefined if it is in use on one of them. 0: any free port. */
async function listenOnAll(requestedPort: number): Promise<{ port: number; servers: Server[] } | undefined> {
  const servers: Server[] = []
  let port = requestedPort
  for (const host of addresses) {
    const server = createServer({ requestTimeout: requestMs, headersTimeout: requestMs })
    server.maxConnections = maxConnections
    const result = await listen(server, port, host)
    if (typeof result === 'number') {
      port = result
      servers.push(server)
    } else if (result === 'in use') {
      await Promise.all(servers.map(closeServer))
      return undefined
    }
  }
  return servers.length === 0 ? undefined : { port, servers }
}

/** Returns the port. `in use`: also if it is not permitted; `none`: the machine has no such address. */
function listen(server: Server, port: number, host: string): Promise<number | 'in use' | 'none'> {
  return new Promise((resolve) => {
    server.once('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(code === 'EADDRINUSE' || code === 'EACCES' ? 'in use' : 'none'),
    )
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 'none')
    })
  })
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
