import { createHash, randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { TLSSocket } from 'node:tls'
import { defineServer, tool } from '@jackfield/sdk'
import { bearer } from '@jackfield/sdk/auth'
import { serveHttp } from '@jackfield/sdk/http'
import { onTestFinished } from 'vitest'
import { tempFolder } from './jackfield.ts'

/** A certificate of `shop.example` and `auth.shop.example` that signed itself; it guards nothing. */
const certificate = `-----BEGIN CERTIFICATE-----
MIIBsTCCAVegAwIBAgIUL2iPYknFeafgUyrBvhcOKpuy2x0wCgYIKoZIzj0EAwIw
FzEVMBMGA1UEAwwMc2hvcC5leGFtcGxlMCAXDTI2MTEyMzE5MTc1MVoYDzIxMjYx
MDMwMTkxNzUxWjAXMRUwEwYDVQQDDAxzaG9wLmV4YW1wbGUwWTATBgcqhkjOPQIB
BggqhkjOPQMBBwNCAAS8OyMyPltgX/4w/gip0wKdAWDSvisJhxsdR/N+5pCsbKFU
Wxj1VOzX7I+Ond6am0UUqIiVwSjgq9xYFBrN7PQeo38wfTAdBgNVHQ4EFgQUXl42
PXxC4A0qYBQcTgX6R94g9D0wHwYDVR0jBBgwFoAUXl42PXxC4A0qYBQcTgX6R94g
9D0wDwYDVR0TAQH/BAUwAwEB/zAqBgNVHREEIzAhggxzaG9wLmV4YW1wbGWCEWF1
dGguc2hvcC5leGFtcGxlMAoGCCqGSM49BAMCA0gAMEUCIQDB1gUZ3dONT2uTLCv4
1sBOjgXCKUv11a96VhwYc/JshAIgU58N/vrJBB92Zr8yXhjC1lBnzi7EN0bcdcY/
mCYA2CU=
-----END CERTIFICATE-----
`
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgZaNm5h9gcpoCpDK1
y033bbiLYOxhF3gIj2L5IfWhTv2hRANCAAS8OyMyPltgX/4w/gip0wKdAWDSvisJ
hxsdR/N+5pCsbKFUWxj1VOzX7I+Ond6am0UUqIiVwSjgq9xYFBrN7PQe
-----END PRIVATE KEY-----
`

const issuer = 'https://auth.shop.example'
const resource = 'https://shop.example/private'

export interface CorporateProxy {
  url: string
  /** What it was asked for: the places of CONNECT, and whole URLs. */
  readonly asked: string[]
  /** The file of the authority that signs what it inspects. */
  readonly authority: string
  /** Variables of a machine behind it. */
  readonly env: Record<string, string>
}

/**
 * A proxy that is the only way out and inspects TLS, as companies have one. Behind it is `shop.example`, whose name resolves
 * nowhere else: an MCP server at `/mcp`, and at `/private` one that wants a login at `auth.shop.example`. Every other path is
 * answered by `site`.
 */
export async function corporateProxy(
  options: { credentials?: string; status?: number; site?: RequestListener } = {},
): Promise<CorporateProxy> {
  const asked: string[] = []
  const tools = { echo: tool({ description: 'Echo', run: () => 'through the proxy' }) }
  const open = serveHttp(defineServer({ name: 'shop', version: '1', tools }), {
    allowedHosts: ['shop.example'],
    keys: [Buffer.alloc(32, 7)],
    path: '/mcp',
  })
  const tokens = new Set<string>()
  const closed = serveHttp(defineServer({ name: 'private', version: '1', tools }), {
    allowedHosts: ['shop.example'],
    keys: [Buffer.alloc(32, 7)],
    path: '/private',
    authenticate: bearer({
      resource,
      authorizationServers: [issuer],
      verify: async (token) =>
        tokens.has(token)
          ? { iss: issuer, sub: 'ann', aud: resource, exp: Math.floor(Date.now() / 1000) + 600 }
          : undefined,
    }),
  })
  const authority = authorizationServer(tokens)
  const behind: RequestListener = (given, answer) => {
    if (given.headers.host === 'auth.shop.example') authority(given, answer)
    else if (given.url?.startsWith('/mcp')) open.node(given, answer)
    else if (given.url?.startsWith('/private') || options.site === undefined) closed.node(given, answer)
    else options.site(given, answer)
  }
  const inner = createServer(behind)
  const server = createServer((given, answer) => {
    // The page of the authorization server, for the person's browser.
    if (given.url?.startsWith('/authorize')) return authority(given, answer)
    asked.push(given.url ?? '')
    given.url = new URL(given.url ?? '').pathname
    behind(given, answer)
  })
  const sockets = new Set<Duplex>()
  server.on('connect', (given: IncomingMessage, socket: Duplex, head: Buffer) => {
    sockets.add(socket)
    socket.on('error', () => {})
    asked.push(given.url ?? '')
    const wanted = options.credentials
    const basic = `Basic ${Buffer.from(wanted ?? '').toString('base64')}`
    if (wanted !== undefined && given.headers['proxy-authorization'] !== basic)
      return socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
    if (options.status !== undefined) return socket.end(`HTTP/1.1 ${options.status} No\r\n\r\n`)
    if (!/^(?:auth\.)?shop\.example:443$/.test(given.url ?? ''))
      return socket.end('HTTP/1.1 503 Service Unavailable\r\n\r\n')
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    if (head.length > 0) socket.unshift(head)
    const secure = new TLSSocket(socket, { isServer: true, key, cert: certificate })
    secure.on('error', () => {})
    inner.emit('connection', secure)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const file = join(tempFolder(), 'authority.pem')
  writeFileSync(file, certificate)
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    asked,
    authority: file,
    env: { HTTPS_PROXY: url, HTTP_PROXY: url, NODE_EXTRA_CA_CERTS: file },
  }
}

function authorizationServer(tokens: Set<string>): RequestListener {
  const codes = new Map<string, string | null>()
  return async (given, answer) => {
    const url = new URL(given.url ?? '', issuer)
    const json = (status: number, value: object): void => {
      answer.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
      answer.end(JSON.stringify(value))
    }
    const body = await text(given)
    if (url.pathname.startsWith('/.well-known/oauth-authorization-server')) {
      return json(200, {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        registration_endpoint: `${issuer}/register`,
        response_types_supported: ['code'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
        authorization_response_iss_parameter_supported: true,
      })
    }
    if (url.pathname === '/register')
      return json(201, { ...JSON.parse(body), client_id: `client-${randomUUID()}` })
    if (url.pathname === '/authorize') {
      const code = randomUUID()
      codes.set(code, url.searchParams.get('code_challenge'))
      const back = new URL(url.searchParams.get('redirect_uri') ?? '')
      back.searchParams.set('code', code)
      back.searchParams.set('state', url.searchParams.get('state') ?? '')
      back.searchParams.set('iss', issuer)
      return answer.writeHead(302, { location: back.href }).end()
    }
    if (url.pathname === '/token') {
      const given = new URLSearchParams(body)
      const challenge = createHash('sha256')
        .update(given.get('code_verifier') ?? '')
        .digest('base64url')
      if (codes.get(given.get('code') ?? '') !== challenge) return json(400, { error: 'invalid_grant' })
      const token = randomUUID()
      tokens.add(token)
      return json(200, { access_token: token, token_type: 'Bearer', expires_in: 600 })
    }
    json(404, { error: 'not found' })
  }
}
