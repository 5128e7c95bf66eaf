import { lookup } from 'node:dns/promises'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { McpError } from '@jackfield/sdk'
import type { Fetch } from '@jackfield/sdk/client'
import type { ConfigEnvironment } from '../../config/variables.ts'
import { type EnvProxy, proxyFor, shownProxy } from '../network/fetch.ts'
import { openTunnel } from '../network/tunnel.ts'
import { type Finding, StepFailure } from './steps.ts'

const stepTimeoutMs = 8_000

/** The parsed URL for the steps. */
interface Endpoint {
  url: URL
  host: string
  port: number
  /** The proxy that is used. */
  proxy?: EnvProxy
}

/** The step `address`. */
export function readAddress(text: string, env: ConfigEnvironment): { finding: Finding; found: Endpoint } {
  const url = URL.parse(text)
  if (url === null) throw new StepFailure(`"${text}" is not an address`, 'Write it as https://host/path.')
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const proxy = proxyFor(url, env)
  const isUnencrypted = url.protocol === 'http:' && !/^(?:localhost|127\..*|::1)$/.test(host)
  return {
    finding: {
      message: url.href,
      ...(isUnencrypted && {
        note: true,
        advice: 'Anyone on the network path can read the traffic. Use https where the server offers it.',
      }),
    },
    found: { url, host, port, ...(proxy !== undefined && { proxy }) },
  }
}

/** The step `dns`. */
export async function resolveName({ host }: Endpoint): Promise<{ finding: Finding; found: string }> {
  if (isIP(host) !== 0) return { finding: { message: `${host} is an IP address` }, found: host }
  try {
    const results = await lookup(host, { all: true })
    const addresses = results.map(({ address }) => address)
    return { finding: { message: addresses.slice(0, 4).join(', ') }, found: addresses[0] ?? host }
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOTFOUND')
      throw new StepFailure(
        `there is no host "${host}"`,
        'Check the address for a typing error, or connect to the network (VPN) in which it exists.',
      )
    throw new StepFailure(
      `the name service does not answer (${code})`,
      'Check whether this machine is online.',
    )
  }
}

/** The step `tcp`, through the proxy if one applies. */
export async function openPort(
  { url, host, port, proxy }: Endpoint,
  signal: AbortSignal,
): Promise<{ finding: Finding; found: true }> {
  if (proxy !== undefined) {
    const proxyText = `through the proxy ${shownProxy(proxy)} (${proxy.variable})`
    if (url.protocol === 'http:') return { finding: { message: proxyText }, found: true }
    const tunnel = await openTunnel(proxy, { host, port }, withTimeout(signal))
    tunnel.destroy()
    return { finding: { message: `port ${port} is open ${proxyText}` }, found: true }
  }
  const socket = connectTcp({ host, port })
  try {
    await waitForEvent(socket, 'connect', signal)
    return { finding: { message: `port ${port} is open` }, found: true }
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ECONNREFUSED')
      throw new StepFailure(
        `nothing listens on port ${port} of ${host}`,
        'Start the server, or correct the port in the address.',
      )
    throw new StepFailure(
      `port ${port} of ${host} cannot be reached (${code})`,
      'Check for a firewall, proxy or VPN between this machine and the server.',
    )
  } finally {
    socket.destroy()
  }
}

/** The step `tls`. */
export async function startTls(
  { host, port, proxy }: Endpoint,
  signal: AbortSignal,
): Promise<{ finding: Finding; found: true }> {
  const tunnel =
    proxy === undefined ? undefined : await openTunnel(proxy, { host, port }, withTimeout(signal))
  const socket: TLSSocket = connectTls({
    ...(tunnel === undefined ? { host, port } : { socket: tunnel, host }),
    ...(isIP(host) === 0 && { servername: host }),
  })
  try {
    await waitForEvent(socket, 'secureConnect', signal)
    const { valid_to: validTo } = socket.getPeerCertificate()
    return {
      finding: { message: `${socket.getProtocol() ?? 'TLS'}, certificate good until ${validTo}` },
      found: true,
    }
  } catch (error) {
    const code = codeOf(error)
    throw new StepFailure(`the TLS connection failed (${code})`, tlsAdvice(code, proxy))
  } finally {
    socket.destroy()
    tunnel?.destroy()
  }
}

function tlsAdvice(code: string, proxy: EnvProxy | undefined): string {
  const isUnknown = /SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER/.test(code)
  if (isUnknown && proxy !== undefined)
    return 'Its authority is unknown here; it may be that of a proxy that inspects connections. Add the authority with NODE_EXTRA_CA_CERTS=FILE if you trust it.'
  if (isUnknown)
    return 'It signed its own certificate, or its authority is unknown here. Add the authority with NODE_EXTRA_CA_CERTS=FILE if you trust it.'
  if (code === 'CERT_HAS_EXPIRED')
    return 'The operator has to renew the certificate. Check the clock of this machine too.'
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return 'The certificate is for another host: correct the address.'
  return 'Does the server speak https on this port? If not, write http.'
}

/** How the URL responds to a protocol message. */
interface PingResponse {
  status: number
  type: string
  /** Only the HTTP+SSE transport responds here. */
  older: boolean
  challenge: string | null
}

/** The step `http`: sends a ping, and tries the HTTP+SSE transport if that is refused. */
export async function sendPing(
  { url }: Endpoint,
  headers: Readonly<Record<string, string>>,
  fetch: Fetch,
  signal: AbortSignal,
): Promise<{ finding: Finding; found: PingResponse }> {
  const combinedSignal = AbortSignal.any([signal, AbortSignal.timeout(stepTimeoutMs)])
  const answer = await request(url, 'POST', headers, fetch, combinedSignal)
  const { status } = answer
  if (status === 404 || status === 405 || status === 400) {
    const stream = await request(url, 'GET', headers, fetch, combinedSignal)
    if (stream.status === 200 && stream.type.startsWith('text/event-stream')) {
      const message = 'it speaks only the older HTTP+SSE transport'
      const advice = 'It works. Ask its operator for Streamable HTTP, which replaced this in 2025.'
      return { finding: { message, note: true, advice }, found: { ...answer, older: true } }
    }
  }
  if (status === 404)
    throw new StepFailure(
      `${url.pathname} does not exist there (404)`,
      'Correct the path: it is often /mcp, or /sse for older servers.',
    )
  if (status === 405)
    throw new StepFailure(
      `${url.pathname} does not accept messages (405)`,
      'Correct the path: this one is for something else.',
    )
  if (status >= 500)
    throw new StepFailure(`the server fails (${status})`, 'Report it to its operator, or try again later.')
  if (status >= 300 && status < 400)
    throw new StepFailure(
      `it redirects to ${answer.location ?? 'somewhere else'} (${status})`,
      'Write that address instead.',
    )
  return { finding: { message: `answers with ${status}` }, found: { ...answer, older: false } }
}

async function request(
  url: URL,
  method: 'POST' | 'GET',
  headers: Readonly<Record<string, string>>,
  fetch: Fetch,
  signal: AbortSignal,
): Promise<{ status: number; type: string; challenge: string | null; location: string | null }> {
  try {
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      signal,
      headers: {
        ...headers,
        accept: method === 'POST' ? 'application/json, text/event-stream' : 'text/event-stream',
        ...(method === 'POST' && { 'content-type': 'application/json' }),
      },
      ...(method === 'POST' && { body: JSON.stringify({ jsonrpc: '2.0', id: 'doctor', method: 'ping' }) }),
    })
    await response.body?.cancel()
    return {
      status: response.status,
      type: response.headers.get('content-type') ?? '',
      challenge: response.headers.get('www-authenticate'),
      location: response.headers.get('location'),
    }
  } catch (error) {
    if (signal.aborted)
      throw new StepFailure(
        'the server accepts the message but does not respond',
        'Report it to its operator.',
      )
    if (error instanceof McpError)
      throw new StepFailure(error.message, 'Follow this message, then diagnose it again.')
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
    throw new StepFailure(
      `the service on this port does not speak HTTP (${codeOf(cause)})`,
      'Correct the port: another service listens there.',
    )
  }
}

/** What to do first about a request without credentials, and why a sign-in does not work. */
export interface LoginChance {
  readonly first: 'sign-in' | 'client' | 'token'
  readonly problem?: string
}

const tokenAdvice = `put it into "headers": { "Authorization": "Bearer \${secret:NAME}" } and set that secret.`

/** The step `auth`: the first fix or, without one, the advice is what fits this server. */
export function checkAccess(
  { status, challenge }: PingResponse,
  { server, hasCredentials, login }: { server: string; hasCredentials: boolean; login: LoginChance },
): { finding: Finding; found: true } {
  if (status === 401) {
    if (hasCredentials)
      throw new StepFailure('it does not accept the credentials in "headers" (401)', undefined, [
        { action: 'configure', server, setting: 'headers' },
      ])
    const scheme = challenge?.split(/\s/)[0] ?? 'no scheme'
    const { first, problem } = login
    const message = `it requires authentication (401, ${scheme})${problem === undefined ? '' : `, and ${problem}`}`
    if (first === 'token') throw new StepFailure(message, `Get a token from its operator and ${tokenAdvice}`)
    throw new StepFailure(message, `Or, if you have a token: ${tokenAdvice}`, [
      first === 'sign-in' ? { action: 'sign-in', server } : { action: 'configure', server, setting: 'auth' },
    ])
  }
  if (status === 403)
    throw new StepFailure(
      'it accepts the credentials but denies access (403)',
      'Ask its operator for access, or for a token with more scopes.',
    )
  return {
    finding: { message: hasCredentials ? 'the credentials are accepted' : 'open to everyone' },
    found: true,
  }
}

function withTimeout(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(stepTimeoutMs)])
}

function waitForEvent(socket: Socket, event: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    withTimeout(signal).addEventListener('abort', () =>
      reject(Object.assign(new Error('no answer'), { code: 'no answer' })),
    )
    socket.once(event, () => resolve())
    socket.once('error', reject)
  })
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  if (error instanceof Error && 'code' in error) return String(error.code)
  return error instanceof Error ? error.message : String(error)
}
