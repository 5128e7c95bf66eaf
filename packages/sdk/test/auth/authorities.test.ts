import { createServer } from 'node:http'
import { McpError } from '@jackfield/sdk'
import { bearer, introspection, type JwtOptions, jwt, type VerifyToken } from '@jackfield/sdk/auth'
import { describe, expect, onTestFinished, test } from 'vitest'
import { adapters, modern } from '../serve/http-support.ts'
import { as, issuer, keys, mcp, mounted, shop, tokenOf } from './support.ts'

/** A fetch of an issuer whose metadata has this `jwks_uri`; records the requests. */
function issuerSaying(jwksUri: string) {
  const asked: string[] = []
  const fetch = async (url: string): Promise<Response> => {
    asked.push(url)
    return Response.json(url.includes('.well-known') ? { issuer, jwks_uri: jwksUri } : keys)
  }
  return { asked, fetch }
}

/** A web server that has the keys, whatever its name, and the hosts it was asked as. */
async function keyServer(answer: (origin: string) => object) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.headers.host}${request.url}`)
    const body = request.url === '/keys' ? keys : answer(`http://127.0.0.1:${port}`)
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  return { asked, port, origin: `http://127.0.0.1:${port}` }
}

describe('an issuer on the Internet whose metadata points its keys to', () => {
  const verified = async (jwksUri: string, options: Partial<JwtOptions> = {}) => {
    const { asked, fetch } = issuerSaying(jwksUri)
    const outcome = await jwt({ issuer, fetch, ...options })(await tokenOf()).catch((error) => error)
    return { asked: asked.filter((url) => !url.includes('.well-known')), outcome }
  }
  const at = (address: string) => ({
    lookup: async (name: string) => [name === 'as.example.com' ? '8.8.4.4' : address],
  })

  test.each([
    ['on this machine', 'https://127.0.0.1/keys', {}],
    ['on this machine, by name', 'https://localhost/keys', {}],
    ['on this machine, written as a number', 'https://2130706433/keys', {}],
    ['on this machine, by IPv6', 'https://[::1]/keys', {}],
    ['in a private network', 'https://10.0.0.7/keys', {}],
    ['in a private network, by name', 'https://vault.internal/keys', {}],
    ['at the metadata service of a cloud', 'https://169.254.169.254/latest', {}],
    ['at the metadata service of a cloud, by name', 'https://metadata.google.internal/', {}],
    ['at a name that resolves to this machine', 'https://keys.example.com/', at('127.0.0.1')],
    ['at a name of a private network', 'https://keys.example.com/', at('192.168.1.1')],
    [
      'at a name that does not resolve',
      'https://keys.example.com/',
      { lookup: () => Promise.reject(new Error()) },
    ],
  ])('%s gets no request for them', async (_, jwksUri, options) => {
    const { asked, outcome } = await verified(jwksUri, options)
    expect(outcome).toBeInstanceOf(McpError)
    expect(outcome).toMatchObject({
      code: 'PROTOCOL',
      message: expect.stringContaining('pass it to jwt as "jwksUri"'),
    })
    expect(asked).toEqual([])
  })

  test.each([
    ['at another name on the Internet', 'https://keys.example.net/', at('8.8.8.8')],
    ['at another name, with a fetch that knows the way', 'https://keys.example.net/', {}],
    ['on its own host', `${issuer}/keys`, { lookup: () => Promise.reject(new Error('no names here')) }],
  ])('%s is asked for them', async (_, jwksUri, options) => {
    const { asked, outcome } = await verified(jwksUri, options)
    expect(outcome).toMatchObject({ sub: 'alice' })
    expect(asked).toEqual([jwksUri])
  })

  test('in a private network is requested once its operator allows that', async () => {
    const { asked, fetch } = issuerSaying('')
    const verify = jwt({ issuer, jwksUri: 'https://10.0.0.7/keys', fetch })
    expect(await verify(await tokenOf())).toMatchObject({ sub: 'alice' })
    expect(asked).toEqual(['https://10.0.0.7/keys'])
  })
})

describe('an issuer on this machine', () => {
  test('may have its keys at another name of it, fetched from the checked address', async () => {
    const { origin, port, asked } = await keyServer((issuer) => ({
      issuer,
      jwks_uri: `http://keys.example.net:${port}/keys`,
    }))
    const looked: string[] = []
    const lookup = async (name: string): Promise<string[]> => {
      looked.push(name)
      return ['127.0.0.1']
    }
    const verify = jwt({ issuer: origin, lookup, dangerouslyAllowPlainHttp: true })
    expect(await verify(await tokenOf({ iss: origin }))).toMatchObject({ sub: 'alice' })
    expect(looked).toEqual(['keys.example.net'])
    expect(asked).toContain(`keys.example.net:${port}/keys`)
  })

  test('may have them on another machine over http if allowed, but not in a reserved network', async () => {
    const { fetch, asked } = issuerSaying('http://169.254.169.254/keys')
    const verify = jwt({ issuer, fetch, dangerouslyAllowPlainHttp: true })
    await expect(verify(await tokenOf())).rejects.toMatchObject({ code: 'PROTOCOL' })
    expect(asked.filter((url) => url.endsWith('/keys'))).toEqual([])
    const other = issuerSaying('http://keys.example.net/keys')
    const sound = jwt({ issuer, fetch: other.fetch, dangerouslyAllowPlainHttp: true })
    expect(await sound(await tokenOf())).toMatchObject({ sub: 'alice' })
  })
})

describe.each(adapters)('a request whose token cannot be verified at the moment, on %s,', (_, mount) => {
  const away = () => Promise.reject(new TypeError('fetch failed'))
  const failing = async () => new Response('maintenance', { status: 500 })
  const client = { clientId: 'shop', clientSecret: 's' }
  const noKeys = async () =>
    Response.json({ keys: [{ kty: 'EC', kid: 'one', crv: 'P-256', x: '!', y: '!' }] })
  const broken = async () =>
    new Response(new ReadableStream({ start: (stream) => stream.error(new Error('gone')) }), { status: 200 })
  const ways: readonly [string, VerifyToken][] = [
    ['keys that cannot be reached', jwt({ issuer, fetch: away })],
    ['keys whose server fails', jwt({ issuer, jwksUri: `${issuer}/keys`, fetch: failing })],
    ['keys that are none', jwt({ issuer, jwksUri: `${issuer}/keys`, fetch: noKeys })],
    ['keys that break off', jwt({ issuer, jwksUri: `${issuer}/keys`, fetch: broken })],
    ['keys where they must not be', jwt({ issuer, fetch: issuerSaying('https://10.0.0.7/').fetch })],
    ['an introspection that fails', introspection({ endpoint: `${issuer}/i`, ...client, fetch: failing })],
    [
      'an introspection that breaks off',
      introspection({ endpoint: `${issuer}/i`, ...client, fetch: broken }),
    ],
    ['a check of its own that says so', () => Promise.reject(new McpError('CONNECT_FAILED', 'away'))],
  ]

  test.each(ways)('for %s, is rejected with a retry time, and runs nothing', async (_, verify) => {
    const { server, ran } = shop()
    const reports: unknown[] = []
    const reporting = Object.create(server, { report: { value: (error: unknown) => reports.push(error) } })
    const authenticate = bearer({ resource: mcp, authorizationServers: [issuer], verify })
    const { send } = await mounted(mount, reporting, { authenticate })
    const token = await tokenOf({ scope: 'orders:write orders:read' })
    const answer = await send(modern('tools/call', { name: 'refund' }, as(token)))
    expect(answer.status).toBe(503)
    expect(Number(answer.header('retry-after'))).toBeGreaterThan(0)
    expect(answer.header('www-authenticate')).toBeUndefined()
    const body = await answer.text()
    expect(JSON.parse(body)).toMatchObject({ error: 'temporarily_unavailable' })
    expect(body).not.toMatch(/10\.0\.0\.7|maintenance|fetch failed/)
    expect(ran).toEqual([])
    expect(reports).toHaveLength(1)
    expect(reports[0]).toBeInstanceOf(McpError)
    expect(JSON.stringify(reports)).not.toContain(token)
  })

  test('is accepted once it can be verified again', async () => {
    let status = 500
    const fetch = async (): Promise<Response> =>
      Response.json({ active: true, sub: 'alice', aud: mcp }, { status })
    const verify = introspection({ endpoint: `${issuer}/i`, issuer, ...client, fetch })
    const { server } = shop()
    const quiet = Object.create(server, { report: { value: () => {} } })
    const { send } = await mounted(mount, quiet, {
      authenticate: bearer({ resource: mcp, authorizationServers: [issuer], verify }),
    })
    expect((await send(modern('tools/list', {}, as('opaque')))).status).toBe(503)
    status = 200
    expect((await send(modern('tools/list', {}, as('opaque')))).status).toBe(200)
  })
})
