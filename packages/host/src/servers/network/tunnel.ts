import { request as plainRequest } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { Socket } from 'node:net'
import { McpError } from '@jackfield/sdk'
import { type EnvProxy, shownProxy } from './fetch.ts'

const connectTimeoutMs = 30_000

/** The host and port to connect to through a proxy. */
interface Destination {
  host: string
  port: number
}

/**
 * Opens a connection through a proxy with `CONNECT`; the proxy resolves the name.
 * @throws McpError 'CONNECT_FAILED' that names the proxy, the reason and a fix
 */
export function openTunnel(
  proxy: EnvProxy,
  { host, port }: Destination,
  signal?: AbortSignal,
): Promise<Socket> {
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const { url } = proxy
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? secureRequest : plainRequest
    const connectRequest = send({
      ...hostOf(url),
      method: 'CONNECT',
      path: authority,
      headers: { host: authority, ...proxyCredentials(url) },
      agent: false,
      timeout: connectTimeoutMs,
      ...(signal !== undefined && { signal }),
    })
    connectRequest.once('connect', ({ statusCode = 0 }, socket: Socket, head) => {
      if (statusCode < 200 || statusCode > 299) {
        socket.destroy()
        reject(refusalError(proxy, statusCode, authority))
        return
      }
      socket.setTimeout(0)
      if (head.length > 0) socket.unshift(head)
      resolve(socket)
    })
    // Some proxies respond to CONNECT with an ordinary response and a body.
    connectRequest.once('response', (response) => {
      response.destroy()
      reject(refusalError(proxy, response.statusCode ?? 0, authority))
    })
    connectRequest.once('timeout', () =>
      connectRequest.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })),
    )
    connectRequest.once('error', (error) =>
      reject(signal?.aborted ? signal.reason : unreachableError(proxy, error)),
    )
    connectRequest.end()
  })
}

/** The proxy's address, as request options. */
export function hostOf({ hostname, port, protocol }: URL): {
  host: string
  port: number
  servername?: string
} {
  const host = hostname.replace(/^\[|\]$/g, '')
  if (protocol === 'http:') return { host, port: port === '' ? 80 : Number(port) }
  return { host, port: port === '' ? 443 : Number(port) }
}

/** The header with the credentials in the proxy's URL. */
export function proxyCredentials({ username, password }: URL): { 'proxy-authorization'?: string } {
  if (username === '' && password === '') return {}
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { 'proxy-authorization': `Basic ${Buffer.from(text).toString('base64')}` }
}

/** The meaning of a proxy's refusal. */
export function refusalError(proxy: EnvProxy, status: number, authority: string): McpError {
  const name = `The proxy ${shownProxy(proxy)} (${proxy.variable})`
  const text =
    status === 407
      ? proxy.url.username === ''
        ? `${name} requires credentials (407). Write them into ${proxy.variable}: ${proxy.url.protocol}//USER:PASSWORD@${proxy.url.host}`
        : `${name} does not accept the credentials in ${proxy.variable} (407). Correct them there`
      : status === 502 || status === 503 || status === 504
        ? `${name} cannot connect to ${authority} (${status}). Check the address, and whether the proxy knows the host`
        : `${name} refused to connect to ${authority} (${status}). Ask its operator to allow it, or list the host in NO_PROXY if it can be reached directly`
  return new McpError('CONNECT_FAILED', text, { details: { code: `PROXY_${status}` } })
}

/** The meaning of a failed connection to a proxy. */
export function unreachableError(proxy: EnvProxy, error: unknown): McpError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'no answer'
  return new McpError(
    'CONNECT_FAILED',
    `Could not reach the proxy ${shownProxy(proxy)} (${code}), which ${proxy.variable} names. Start it, correct ${proxy.variable}, or list the host in NO_PROXY if it can be reached directly`,
    { cause: error, details: { code } },
  )
}
