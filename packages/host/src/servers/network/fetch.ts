import type { Fetch } from '@jackfield/sdk/client'
import type { NetworkOptions } from '@jackfield/sdk/client/auth'
import type { ConfigEnvironment } from '../../config/variables.ts'
import { namesProxy, proxyFor } from './env-proxy.ts'

export { type EnvProxy, proxyFor, shownProxy } from './env-proxy.ts'

/** The `fetch` of a host: through the proxy that the environment names for a URL, else the global one. */
export function fetchIn(env: ConfigEnvironment): Fetch {
  return async (url, init) => {
    const to = new URL(url)
    const proxy = proxyFor(to, env)
    if (proxy === undefined) return fetch(url, init)
    // Loaded where there is a proxy: it is much of Node.
    const { proxiedFetch } = await import('./proxied-fetch.ts')
    return proxiedFetch(proxy)(to, init)
  }
}

/**
 * How requests to authorization servers leave: through a proxy where one applies, which then resolves the name; else to the
 * addresses that were checked. Undefined where the environment names no proxy.
 */
export function authNetworkIn(env: ConfigEnvironment): NetworkOptions | undefined {
  if (!namesProxy(env)) return undefined
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
