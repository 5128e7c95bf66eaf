import { BlockList, isIP } from 'node:net'
import { McpError } from '@jackfield/sdk'
import type { Fetch } from '@jackfield/sdk/client'
import type { NetworkOptions } from '@jackfield/sdk/client/auth'
import type { ConfigEnvironment } from '../../config/variables.ts'

/** The `fetch` of a host: through the proxy that the environment sets for a URL, else the global one. */
export function fetchIn(env: ConfigEnvironment): Fetch {
  return async (url, init) => {
    const target = new URL(url)
    const proxy = proxyFor(target, env)
    if (proxy === undefined) return fetch(url, init)
    // Loaded only if there is a proxy, because it is a large part of Node.
    const { proxiedFetch } = await import('./proxied-fetch.ts')
    return proxiedFetch(proxy)(target, init)
  }
}

/**
 * How requests to authorization servers are sent: through a proxy if one applies, which then resolves the name; else to the
 * checked addresses. Undefined if the environment sets no proxy.
 */
export function authNetworkIn(env: ConfigEnvironment): NetworkOptions | undefined {
  if (!setsProxy(env)) return undefined
  return {
    async fetch(url, init, addresses) {
      const proxy = proxyFor(url, env)
      if (proxy !== undefined) {
        const { proxiedFetch } = await import('./proxied-fetch.ts')
        return proxiedFetch(proxy)(url, init)
      }
      const { pinnedFetch } = await import('@jackfield/sdk/client/auth/node')
      return pinnedFetch(url, init, addresses)
    },
    async lookup(hostname, url) {
      if (proxyFor(url, env) !== undefined) return undefined
      const { lookup } = await import('node:dns/promises')
      return (await lookup(hostname, { all: true })).map(({ address }) => address)
    },
  }
}

/** A proxy, and the variable that sets it. */
export interface EnvProxy {
  readonly url: URL
  readonly variable: string
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')
/** The name and the digits of an IPv4 address in IPv6 form count as the IPv4 address. */
const mappedAddress = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/**
 * The proxy for a URL: `https_proxy` or `http_proxy` by its scheme, in lower or upper case, unless `no_proxy` lists its host.
 * Loopback addresses never use a proxy.
 * @throws McpError 'INVALID' if the variable is no HTTP proxy URL
 */
export function proxyFor(url: URL, env: ConfigEnvironment): EnvProxy | undefined {
  const name = url.protocol === 'https:' ? 'https_proxy' : 'http_proxy'
  const variable = env[name] ? name : name.toUpperCase()
  const value = env[variable]
  if (value === undefined || value === '') return undefined
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port
  if (isLoopback(host) || isExcluded(host, port, env['no_proxy'] || env['NO_PROXY'] || '')) return undefined
  const proxy = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`)
  if (proxy === null || proxy.hostname === '')
    throw new McpError('INVALID', `${variable} is not the URL of a proxy. Write it as http://HOST:PORT`)
  if (proxy.protocol !== 'http:' && proxy.protocol !== 'https:')
    throw new McpError(
      'INVALID',
      `${variable} names a proxy of the kind ${proxy.protocol}//, and only http:// and https:// are supported`,
    )
  return { url: proxy, variable }
}

/** A proxy for display: without user and password. */
export function shownProxy({ url }: EnvProxy): string {
  return `${url.protocol}//${url.host}`
}

/** Whether any variable of the environment sets a proxy. */
function setsProxy(env: ConfigEnvironment): boolean {
  return ['https_proxy', 'http_proxy', 'HTTPS_PROXY', 'HTTP_PROXY'].some((name) => Boolean(env[name]))
}

function isLoopback(host: string): boolean {
  if (host === 'localhost' || host.endsWith('.localhost')) return true
  const address = mappedAddress.exec(host)?.[1] ?? host
  const family = isIP(address)
  return family !== 0 && loopback.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

/** A name excludes itself and its subdomains; `*.name` and `.name` exclude subdomains; `*` everything. */
function isExcluded(host: string, port: string, list: string): boolean {
  const family = isIP(host)
  return list.split(/[\s,]+/).some((value) => {
    const entry = value.toLowerCase()
    if (entry === '') return false
    if (entry === '*') return true
    const [, subnet = '', bits] = /^(.+)\/(\d{1,3})$/.exec(entry) ?? []
    if (bits !== undefined) return family !== 0 && isWithin(host, subnet, Number(bits))
    const [, bracketed, bareHost, onlyPort] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(entry) ?? []
    if (onlyPort !== undefined && onlyPort !== port) return false
    const name = (bracketed ?? bareHost ?? entry).replace(/^\*(?=\.)/, '')
    if (name.startsWith('.')) return host.endsWith(name)
    return host === name || (family === 0 && host.endsWith(`.${name}`))
  })
}

function isWithin(host: string, subnet: string, bits: number): boolean {
  const family = isIP(subnet)
  if (family === 0 || family !== isIP(host) || bits > (family === 6 ? 128 : 32)) return false
  const type = family === 6 ? 'ipv6' : 'ipv4'
  const list = new BlockList()
  list.addSubnet(subnet, bits, type)
  return list.check(host, type)
}
