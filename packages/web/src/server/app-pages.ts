import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AppPage, AppService } from '@jackfield/host'
import type { AppPermission } from '@jackfield/sdk/extensions/ui'
import { permissionsPolicy } from './headers.ts'

/** Both loopback addresses: browsers try either for `*.localhost`, and no other program may have one of them. */
const addresses = ['127.0.0.1', '::1'] as const
const maxConnections = 64
const requestMs = 10_000
/** Free ports that are tried. */
const maxTries = 8

/** What an app's frame may do: run, be an origin of its own, and use forms, whose submission the policy then refuses. */
export const appSandbox = 'allow-scripts allow-same-origin allow-forms'

/** Features of the browser by the names of `permissions` of an app. */
const features: Readonly<Record<AppPermission, string>> = {
  camera: 'camera',
  microphone: 'microphone',
  geolocation: 'geolocation',
  clipboardWrite: 'clipboard-write',
}

/** The feature names of what an app was given. */
export function featuresOf(page: Pick<AppPage, 'granted'>): string[] {
  return page.granted.map((name) => features[name])
}

export interface AppPagesOptions {
  readonly apps: Pick<AppService, 'document'>
  /** The origin of the page that may frame them. */
  readonly frameAncestor: string
}

/**
 * The pages of apps. Every server's pages have an origin that no other server's have (`a-<site>.localhost`), within a frame of
 * another origin (`p-<site>.localhost`) that passes messages on and keeps the page from being replaced by another one. Neither is
 * the origin of the web app.
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

  /** Whether a request is for the origin of an app, and not for another name that leads here. */
  isFor({ headers: { host = '' } }: IncomingMessage): boolean {
    const [, kind, site = ''] = /^([ap])-([0-9a-f]{32})\./.exec(host) ?? []
    if (kind !== 'a' && kind !== 'p') return false
    return new URL(this.#origin(kind, site)).host === host
  }

  serve(request: IncomingMessage, response: ServerResponse): void {
    const { host = '', 'sec-fetch-dest': destination = 'iframe' } = request.headers
    const [id] = /(?<=^\/)[0-9a-f-]{36}$/.exec(request.url ?? '') ?? []
    // Neither scripts nor workers are here, and a page is not opened outside its frame.
    const document =
      destination === 'iframe' && id !== undefined ? this.#options.apps.document(id) : undefined
    if (!this.isFor(request)) refuse(response, 421)
    else if (request.method !== 'GET') refuse(response, 405)
    else if (document === undefined || document.page.site !== host.slice(2, 34)) refuse(response, 404)
    else if (host.startsWith('p')) this.#sendFrame(response, document.page)
    else this.#sendPage(response, document.page, document.html)
  }

  /** The outer frame: the app in a sandbox, and its messages passed on in both directions. */
  #sendFrame(response: ServerResponse, page: AppPage): void {
    const { frameAncestor } = this.#options
    const nonce = randomBytes(16).toString('base64')
    const origin = this.#origin('a', page.site)
    const allow = featuresOf(page)
    const policy = [
      "default-src 'none'",
      `script-src 'nonce-${nonce}'`,
      `style-src 'nonce-${nonce}'`,
      // This page alone: wherever the app goes, its frame stays or is empty.
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
      reaches: [origin],
    })
  }

  /** The page as its server wrote it, with a policy of what the person agreed to. */
  #sendPage(response: ServerResponse, page: AppPage, html: string): void {
    const { frameAncestor } = this.#options
    const ancestors = `${frameAncestor} ${this.#origin('p', page.site)}`
    send(response, html, {
      policy: appPolicy(page, ancestors),
      permissions: permissionsFor(featuresOf(page), 'self'),
      reaches: Object.values(page.csp).flat(),
    })
  }
}

/** Serves the pages of apps on a port of their own, at `*.localhost`, which is another site than that of the web app. */
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

  /** `wanted`: the port of last time, so that apps find what they stored. @throws Error where no port is free */
  static async start(wanted: number | undefined, options: AppPagesOptions): Promise<AppPageServer> {
    for (let tries = 0; tries < maxTries; tries++) {
      const listening = await listenOnAll(tries === 0 ? (wanted ?? 0) : 0)
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
  const directive = (name: string, own: readonly string[], origins: readonly string[]): string =>
    [name, ...(own.length + origins.length === 0 ? ["'none'"] : [...own, ...origins])].join(' ')
  return [
    "default-src 'none'",
    // What is in the page already is the server's, so that no further script of it could do more.
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

/** Every feature is off but those given, which only `origin` has. */
function permissionsFor(given: readonly string[], origin: string): string {
  return permissionsPolicy((feature) => (given.includes(feature) ? origin : undefined))
}

/**
 * `reaches`: the only origins that a page may connect to by any means. Beside the content security policy this also stops WebRTC and
 * look-ups of names, in browsers that know it (Chromium).
 * @see https://wicg.github.io/connection-allowlists/
 */
function send(
  response: ServerResponse,
  body: string,
  {
    policy,
    permissions,
    reaches,
  }: { policy: readonly string[]; permissions: string; reaches: readonly string[] },
): void {
  response.writeHead(200, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'Content-Security-Policy': policy.join('; '),
    'Permissions-Policy': permissions,
    'Connection-Allowlist': `(${reaches.map((origin) => `"${origin}/*"`).join(' ')});webrtc=block`,
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

/** Listens on one port of all addresses; undefined where it is in use on one of them. */
async function listenOnAll(wanted: number): Promise<{ port: number; servers: Server[] } | undefined> {
  const servers: Server[] = []
  let port = wanted
  for (const host of addresses) {
    const server = createServer({ requestTimeout: requestMs, headersTimeout: requestMs })
    server.maxConnections = maxConnections
    const got = await listen(server, port, host)
    if (typeof got === 'number') {
      port = got
      servers.push(server)
    } else if (got === 'in use') {
      await Promise.all(servers.map(closeServer))
      return undefined
    }
  }
  return servers.length === 0 ? undefined : { port, servers }
}

/** `none`: this machine has no such address. */
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
