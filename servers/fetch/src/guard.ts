import { lookup as dnsLookup } from 'node:dns/promises'
import { ToolError } from '@jackfield/sdk'
import { hostOf, type Zone, zoneOfAddress, zoneOfName } from '@jackfield/sdk/internal'
import { type FetchOptions, type Lookup, limits } from './types.ts'

/**
 * Decides where a request may go. Every URL, of a redirect too, is checked on its own: scheme, credentials, port, name, and all
 * addresses that the name resolves to. The request is then sent to these addresses only, so that a second answer of the name
 * server cannot lead elsewhere.
 */

/** How to reach a URL that may be fetched. */
export type Route =
  | { readonly via: 'direct'; readonly addresses: readonly string[] }
  | { readonly via: 'proxy'; readonly proxy: string }

const defaultPorts = [80, 443]

/** Checks URLs. */
export class Guard {
  readonly #allowed: ReadonlySet<string>
  readonly #ports: readonly number[]
  readonly #lookup: Lookup
  readonly #env: Readonly<Record<string, string | undefined>>

  /** @throws TypeError for an option that cannot be used */
  constructor({ allowPrivate = [], ports = defaultPorts, lookup, env = process.env }: FetchOptions) {
    this.#allowed = new Set(allowPrivate.flatMap(allowedHostsOf))
    this.#ports = ports.map(requirePort)
    this.#lookup = lookup ?? resolveName
    this.#env = env['NODE_USE_ENV_PROXY'] === '1' ? env : {}
    if (this.#proxyFor(new URL('http://example.org/')) !== undefined) requireProxySupport()
  }

  /**
   * The route to a URL.
   * @throws ToolError if it must not be fetched, or its name cannot be resolved
   */
  async route(url: URL, signal: AbortSignal): Promise<Route> {
    const host = hostOf(url)
    const port = portOf(url)
    if (url.protocol !== 'http:' && url.protocol !== 'https:') {
      throw new ToolError(`Only http: and https: URLs are fetched, not ${url.protocol}`)
    }
    if (url.username !== '' || url.password !== '') {
      throw new ToolError('URLs with a user name or password are not fetched. Remove it from the URL.')
    }
    const isAllowed = this.#allowed.has(`${host}:${port}`)
    const literal = zoneOfAddress(host)
    const known = literal ?? zoneOfName(host)
    if (known !== undefined) requireZone(url, known, isAllowed)
    if (!isAllowed && !this.#ports.includes(port)) {
      throw new ToolError(
        `Port ${port} is not fetched; allowed are ${this.#ports.join(', ')}. The operator of this server can allow it with --port.`,
      )
    }
    const proxy = this.#proxyFor(url)
    if (proxy !== undefined) return { via: 'proxy', proxy }
    if (literal !== undefined) return { via: 'direct', addresses: [host] }
    const addresses = await this.#resolve(host, signal)
    for (const address of addresses) requireZone(url, zoneOfAddress(address) ?? 'forbidden', isAllowed)
    return { via: 'direct', addresses }
  }

  async #resolve(host: string, signal: AbortSignal): Promise<readonly string[]> {
    const combined = AbortSignal.any([signal, AbortSignal.timeout(limits.lookupMs)])
    try {
      const addresses = await Promise.race([this.#lookup(host), rejectOnAbort(combined)])
      if (addresses.length > 0) return addresses
    } catch (error) {
      if (signal.aborted) throw error
    }
    throw new ToolError(`The host ${host} cannot be resolved. Check the URL, or try again later.`)
  }

  #proxyFor(url: URL): string | undefined {
    const read = (name: string): string => this.#env[name] || this.#env[name.toUpperCase()] || ''
    const proxy = read(url.protocol === 'https:' ? 'https_proxy' : 'http_proxy')
    return proxy === '' || isExcluded(url, read('no_proxy')) ? undefined : proxy
  }
}

/** The port of a URL with http: or https:. */
export function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
}

function requireZone(url: URL, zone: Zone, isAllowed: boolean): void {
  if (zone === 'public' || (isAllowed && zone !== 'forbidden')) return
  throw new ToolError(
    zone === 'forbidden'
      ? `${url.host} is in a reserved network, which is never fetched.`
      : `${url.host} is in a ${zone} network, which is not fetched. The operator of this server can allow it with --allow-private ${url.hostname}:${portOf(url)}.`,
  )
}

/** The `host:port` values that an entry of `allowPrivate` allows. */
function allowedHostsOf(entry: string): string[] {
  const url = URL.parse(`http://${entry}/`)
  const hasPort = /:\d+$/.test(entry.replace(/^\[.*\]/, 'x'))
  const host = url === null ? '' : hostOf(url)
  if (url === null || host === '' || url.pathname !== '/' || url.search !== '' || url.username !== '') {
    throw new TypeError(
      `"${entry}" in "allowPrivate" is not a host: write a host name or an address, with or without a port, such as 127.0.0.1:8080 or [::1]:8080`,
    )
  }
  if ((zoneOfAddress(host) ?? zoneOfName(host)) === 'forbidden') {
    throw new TypeError(`"${entry}" is in a reserved network, which cannot be allowed`)
  }
  return (hasPort ? [portOf(url)] : defaultPorts).map((port) => `${host}:${port}`)
}

function requirePort(port: number): number {
  if (Number.isInteger(port) && port > 0 && port <= 65_535) return port
  throw new TypeError(`"${port}" is not a port from 1 to 65535`)
}

/** Whether `NO_PROXY` lists the host of a URL: `*`, `name` and what is below it, `.name`, each with a port or without. */
function isExcluded(url: URL, list: string): boolean {
  const host = hostOf(url)
  return list.split(/[\s,]+/).some((written) => {
    const [, name = '', port] = /^(.*?)(?::(\d+))?$/.exec(written.toLowerCase().replace(/^\*\./, '.')) ?? []
    if (name === '' || (port !== undefined && Number(port) !== portOf(url))) return false
    return name === '*' || host === name || host.endsWith(name.startsWith('.') ? name : `.${name}`)
  })
}

/** @throws TypeError for a Node whose agents would ignore the proxy and connect directly */
function requireProxySupport(): void {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 24 || (major === 24 && minor >= 5) || (major === 22 && minor >= 21)) return
  throw new TypeError(
    `Proxies need Node 22.21, 24.5 or later; this is ${process.version}. Update Node, or unset NODE_USE_ENV_PROXY`,
  )
}

async function resolveName(hostname: string): Promise<readonly string[]> {
  return (await dnsLookup(hostname, { all: true })).map(({ address }) => address)
}

/** Rejects when the signal aborts. Never resolves. */
function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.throwIfAborted()
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
