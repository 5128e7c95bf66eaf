import { type ClientRequest, type IncomingMessage, type RequestOptions, request } from 'node:http'
import { Agent, request as secureRequest } from 'node:https'
import { isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect } from 'node:tls'
import { McpError } from '@jackfield/sdk'
import { fetchWith } from '@jackfield/sdk/client/auth/node'
import { type EnvProxy, shownProxy } from './fetch.ts'
import { hostOf, openTunnel, proxyCredentials, refusalError, unreachableError } from './tunnel.ts'

const idleTimeoutMs = 4_000

/** Connections through one proxy, kept open for a short time after each request. */
class TunnelAgent extends Agent {
  readonly #proxy: EnvProxy

  constructor(proxy: EnvProxy) {
    super({ keepAlive: true, timeout: idleTimeoutMs })
    this.#proxy = proxy
  }

  override createConnection(
    options: RequestOptions,
    done?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    const host = String(options.host)
    const onTunnel = (tunnel: Socket): void => {
      const socket = connect({ socket: tunnel, host, ...(isIP(host) === 0 && { servername: host }) })
      tunnel.once('error', (error) => socket.destroy(error))
      done?.(null, socket)
    }
    const onError = (error: Error): void => {
      // Its type declares a socket even if there is none.
      if (done !== undefined) Reflect.apply(done, undefined, [error])
    }
    openTunnel(this.#proxy, { host, port: Number(options.port) }).then(onTunnel, onError)
    return undefined
  }
}

const agents = new Map<string, TunnelAgent>()

/** A `fetch` through one proxy: `CONNECT` for https, the whole URL for http. It follows no redirects; bodies are texts. */
export function proxiedFetch(proxy: EnvProxy): (url: URL, init: RequestInit) => Promise<Response> {
  const agent = agents.get(proxy.url.href) ?? new TunnelAgent(proxy)
  agents.set(proxy.url.href, agent)
  const send = fetchWith({
    plain: (url, options, answered) => plainProxyRequest(proxy, url, options, answered),
    secure: (url, options, answered) => secureRequest(url, { ...options, agent }, answered),
  })
  return async (url, init) => {
    const authority = `${url.hostname}:${url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : url.port}`
    try {
      const response = await send(url, init, [])
      if (url.protocol === 'https:' || response.status !== 407) return response
      await response.body?.cancel()
      throw refusalError(proxy, 407, authority)
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined
      if (cause instanceof McpError) throw cause
      if (url.protocol === 'http:' && isUnreachable(cause)) throw unreachableError(proxy, cause)
      throw withCertificateHint(error, url, proxy)
    }
  }
}

function plainProxyRequest(
  proxy: EnvProxy,
  url: URL,
  options: RequestOptions,
  answered: (incoming: IncomingMessage) => void,
): ClientRequest {
  const send = proxy.url.protocol === 'https:' ? secureRequest : request
  const headers = { ...options.headers, host: url.host, ...proxyCredentials(proxy.url) }
  return send({ ...options, ...hostOf(proxy.url), path: url.href, headers }, answered)
}

function isUnreachable(error: unknown): boolean {
  return (
    error instanceof Error && 'syscall' in error && /^(?:connect|getaddrinfo)$/.test(String(error.syscall))
  )
}

/** An unknown certificate authority is reported with a fix; every other failure is rethrown. */
function withCertificateHint(error: unknown, { host }: URL, proxy: EnvProxy | undefined): unknown {
  const cause = error instanceof Error ? error.cause : undefined
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  if (!/SELF_SIGNED_CERT|UNABLE_TO_(?:VERIFY|GET_ISSUER)/.test(code)) return error
  const proxyHint =
    proxy === undefined
      ? ''
      : `, which is what the proxy ${shownProxy(proxy)} gives where it inspects connections`
  return new McpError(
    'CONNECT_FAILED',
    `The certificate of ${host} is signed by an authority that is unknown here (${code})${proxyHint}. If you trust that authority, name its file in NODE_EXTRA_CA_CERTS`,
    { cause: error, details: { code } },
  )
}
