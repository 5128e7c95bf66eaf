import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect, http } from '@jackfield/sdk/client'
import { oauth } from '@jackfield/sdk/client/auth'
import { pinnedFetch } from '@jackfield/sdk/client/auth/node'
import { describe, expect, it, onTestFinished } from 'vitest'
import { agreeing, open, person, protectedServer } from './support/protected-server.ts'
import { json } from './support/server.ts'

interface Web {
  /** Documents by URL; a text is where a URL redirects to. */
  pages: Record<string, object | string>
  /** The addresses that host names resolve to. Default: a public address. */
  names?: Record<string, string[]>
  server?: string
  /** The `WWW-Authenticate` of the server. */
  challenge?: string
}

/** Connects to a server on a web that exists only here, and returns which other URLs were requested. */
async function connectTo({
  pages,
  names = {},
  server = 'https://mcp.example/mcp',
  challenge = 'Bearer',
}: Web) {
  const asked: string[] = []
  const redirect = agreeing()
  const answer = async (url: URL): Promise<Response> => {
    asked.push(url.href)
    const page = pages[url.href]
    if (page === undefined) return new Response('{}', { status: 404 })
    if (typeof page === 'string') return new Response(null, { status: 302, headers: { location: page } })
    return Response.json(page)
  }
  const auth = oauth({
    client: { name: 'test' },
    redirect,
    fetch: answer,
    lookup: async (name) => names[name] ?? ['93.184.215.14'],
  })
  const refusing = async (): Promise<Response> =>
    new Response('', { status: 401, headers: { 'www-authenticate': challenge } })
  const error = await connect(http(server, { auth, fetch: refusing })).catch((reason: unknown) => reason)
  return { asked, error, opened: redirect.opened }
}

const prm = 'https://mcp.example/.well-known/oauth-protected-resource/mcp'
const described = (issuer: string): object => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  registration_endpoint: `${issuer}/register`,
  code_challenge_methods_supported: ['S256'],
})
const as = 'https://as.example'
const asPlace = `${as}/.well-known/oauth-authorization-server`
const sound: Record<string, object | string> = {
  [prm]: { resource: 'https://mcp.example/mcp', authorization_servers: [as] },
  [asPlace]: described(as),
}

const inside = [
  'https://127.0.0.1',
  'https://127.1',
  'https://2130706433',
  'https://0x7f000001',
  'https://0177.0.0.1',
  'https://localhost',
  'https://localhost.',
  'https://a.localhost',
  'https://[::1]',
  'https://[0:0:0:0:0:0:0:1]',
  'https://[::ffff:127.0.0.1]',
  'https://[::ffff:7f00:1]',
  'https://[::127.0.0.1]',
  'https://0.0.0.0',
  'https://0',
  'https://[::]',
  'https://10.0.0.1',
  'https://172.16.0.1',
  'https://172.31.255.255',
  'https://192.168.1.1',
  'https://100.64.0.1',
  'https://198.18.0.1',
  'https://169.254.169.254',
  'https://0xa9fea9fe',
  'https://2852039166',
  'https://[::ffff:169.254.169.254]',
  'https://[64:ff9b::169.254.169.254]',
  'https://[64:ff9b:1::1]',
  'https://[2002:a9fe:a9fe::]',
  'https://[2002:7f00:1::1]',
  'https://[2001::1]',
  'https://[fe80::1]',
  'https://[fec0::1]',
  'https://[fc00::1]',
  'https://[fd00:ec2::254]',
  'https://[ff02::1]',
  'https://[100::1]',
  'https://100.100.100.200',
  'https://168.63.129.16',
  'https://192.0.0.192',
  'https://224.0.0.1',
  'https://255.255.255.255',
  'https://metadata.google.internal',
]
const wrongScheme = [
  'http://as.example',
  'ftp://as.example',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'data:,x',
]

describe('a server on the Internet cannot make the client request', () => {
  it.each([...inside, ...wrongScheme])('%s', async (base) => {
    const reached = (urls: string[]): string[] =>
      urls.filter((url) => !/^https:\/\/(?:mcp|as)\.example\//.test(url))
    const at = base.startsWith('http') ? `${base}/x` : base

    const byChallenge = await connectTo({ pages: {}, challenge: `Bearer resource_metadata="${at}"` })
    expect(byChallenge.error).toMatchObject({ code: 'UNAUTHORIZED' })
    expect(byChallenge.asked).toEqual([])

    const byIssuer = await connectTo({
      pages: { [prm]: { resource: 'https://mcp.example/mcp', authorization_servers: [at] } },
    })
    expect(byIssuer.error).toMatchObject({ code: 'UNAUTHORIZED' })
    expect(byIssuer.asked).toEqual([prm])

    for (const name of ['authorization_endpoint', 'token_endpoint', 'registration_endpoint']) {
      const one = await connectTo({ pages: { ...sound, [asPlace]: { ...described(as), [name]: at } } })
      expect(one.error).toMatchObject({ code: 'UNAUTHORIZED' })
      expect(reached(one.asked)).toEqual([])
      expect(one.opened).toEqual([])
    }

    const byRedirect = await connectTo({ pages: { [prm]: at } })
    expect(byRedirect.error).toMatchObject({ code: 'UNAUTHORIZED' })
    expect(byRedirect.asked).toEqual([prm])
  })

  it.each([
    ['a private', ['10.1.2.3']],
    ['a loopback', ['127.0.0.1']],
    ['a metadata', ['169.254.169.254']],
    ['a mapped private', ['::ffff:10.0.0.1']],
    ['one private and one public', ['93.184.215.14', '10.0.0.1']],
    ['no', []],
  ])('a name that resolves to %s address', async (_, addresses) => {
    const { asked, error } = await connectTo({ pages: sound, names: { 'as.example': addresses } })
    expect(error).toMatchObject({ code: 'UNAUTHORIZED', message: expect.stringContaining('as.example') })
    expect(asked).toEqual([prm])
  })
})

describe("a name that resolves to another owner's address", () => {
  const inner = 'https://inner.corp.example/x'
  /** Addresses as its owner gives them; no private address has a certificate for the name. */
  async function rebound(names: Record<string, string[]>, certified: boolean) {
    const asked: string[] = []
    const auth = oauth({
      client: { name: 'test' },
      redirect: agreeing(),
      lookup: async (name) => names[name] ?? [],
      async fetch(url, _init, [address]) {
        if (url.host === 'mcp.example' && address?.startsWith('10.') && !certified)
          throw new TypeError('fetch failed')
        asked.push(url.href)
        return new Response('{}', { status: 404 })
      },
    })
    const challenge = { 'www-authenticate': `Bearer resource_metadata="${inner}"` }
    const refusing = async (): Promise<Response> => new Response('', { status: 401, headers: challenge })
    await connect(http('https://mcp.example/mcp', { auth, fetch: refusing })).catch(() => {})
    return asked
  }

  it('a name resolved elsewhere, as by a proxy, is judged by itself', async () => {
    const asked: string[] = []
    const auth = oauth({
      client: { name: 'test' },
      redirect: agreeing(),
      lookup: async () => undefined,
      async fetch(url, _init, addresses) {
        asked.push(`${url.href} ${addresses.length}`)
        return new Response('{}', { status: 404 })
      },
    })
    const led = async (to: string): Promise<void> => {
      const challenge = { 'www-authenticate': `Bearer resource_metadata="${to}"` }
      const refusing = async (): Promise<Response> => new Response('', { status: 401, headers: challenge })
      await connect(http('https://mcp.example/mcp', { auth, fetch: refusing })).catch(() => {})
    }
    for (const to of ['https://10.0.0.9/x', 'https://169.254.169.254/x', 'https://localhost/x']) await led(to)
    expect(asked).toEqual([])
    await led('https://mcp.example/x')
    expect(asked[0]).toBe('https://mcp.example/x 0')
  })

  it.each([
    ['the address alone', ['10.0.0.7'], false],
    ['the address beside its own', ['93.184.215.14', '10.0.0.7'], true],
  ])('does not open a private network: %s', async (_, own, certified) => {
    const asked = await rebound({ 'mcp.example': own, 'inner.corp.example': ['10.0.0.9'] }, certified)
    expect(asked).toEqual([])
  })

  it('is on this machine if a server responds under it', async () => {
    const names = { 'mcp.example': ['10.0.0.7'], 'inner.corp.example': ['10.0.0.9'] }
    expect(await rebound(names, true)).toEqual(['https://mcp.example/', inner])
  })
})

describe('a server in a private network', () => {
  const server = 'https://mcp.corp.example/mcp'
  const place = 'https://mcp.corp.example/.well-known/oauth-protected-resource/mcp'
  const pages = (issuer: string): Record<string, object | string> => ({
    [place]: { resource: server, authorization_servers: [issuer] },
    [`${issuer}/.well-known/oauth-authorization-server`]: described(issuer),
  })

  it.each([
    ['its own network', '10.9.9.9', true],
    ['the Internet', '93.184.215.14', true],
    ['this machine', '127.0.0.1', false],
    ['a metadata service', '169.254.169.254', false],
  ])('may have its authorization server in %s: %s is %s', async (_, address, may) => {
    const names = { 'mcp.corp.example': ['10.0.0.7'], 'as.corp.example': [address] }
    const { asked } = await connectTo({ server, pages: pages('https://as.corp.example'), names })
    expect(asked.some((url) => url.startsWith('https://as.corp.example/'))).toBe(may)
  })
})

it('a server at a reserved address cannot make the client request anything', async () => {
  const names = { 'mcp.example': ['169.254.1.1'], 'as.example': ['169.254.169.254'] }
  const { asked, error } = await connectTo({ pages: sound, names })
  expect(error).toMatchObject({ code: 'UNAUTHORIZED' })
  expect(asked).toEqual([])
})

describe('the metadata of a server', () => {
  it('is followed over three redirects at most', async () => {
    const hops = (count: number): Record<string, object | string> => ({
      ...sound,
      [prm]: 'https://mcp.example/1',
      ...Object.fromEntries(
        Array.from({ length: count - 1 }, (_, at) => [`https://mcp.example/${at + 1}`, `/${at + 2}`]),
      ),
      [`https://mcp.example/${count}`]: sound[prm] ?? '',
    })
    expect((await connectTo({ pages: hops(3) })).asked).toContain(asPlace)
    const four = await connectTo({ pages: hops(4) })
    expect(four.error).toMatchObject({ message: expect.stringContaining('redirects too often') })
    expect(four.asked).not.toContain(asPlace)
  })

  it.each([
    ['another host', 'https://as.example/moved'],
    ['a host of the same name below', 'https://www.mcp.example/moved'],
    ['another port', 'https://mcp.example:8443/moved'],
  ])('is not followed to %s, and nothing is requested there', async (_where, moved) => {
    const { asked, error, opened } = await connectTo({
      pages: { ...sound, [prm]: '/1', 'https://mcp.example/1': moved, [moved]: sound[prm] ?? '' },
    })
    expect(error).toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining(`redirects to another origin, ${new URL(moved).origin}`),
    })
    expect(asked).toEqual([prm, 'https://mcp.example/1'])
    expect(opened).toEqual([])
  })

  it('is read up to 64 kB', async () => {
    const one = await protectedServer()
    one.resource = { ...one.resource, more: 'x'.repeat(70_000) }
    await expect(open(one, person().auth)).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('65536 bytes'),
    })
  })

  it('may be invalid in any way', async () => {
    for (const nonsense of [[], 'x', 1, null, { resource: 1 }, { authorization_servers: 'x' }]) {
      const { error } = await connectTo({ pages: { [prm]: Object(nonsense) } })
      expect(error).toMatchObject({ code: 'UNAUTHORIZED' })
    }
  })

  it('is ignored if the server itself is used over plain http', async () => {
    const { error, asked } = await connectTo({ server: 'http://mcp.example/mcp', pages: {} })
    expect(error).toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('Use its https: URL'),
    })
    expect(asked).toEqual([])
  })
})

describe('credentials', () => {
  it('are not sent to another origin', async () => {
    const one = await protectedServer()
    const two = await protectedServer()
    const { auth } = person()
    await open(one, auth)
    await expect(open(two, auth)).rejects.toThrow(/are not sent to/)
    expect(two.seen).toEqual([])
  })

  it('are not sent along a redirect of the token endpoint', async () => {
    const one = await protectedServer()
    const other = await protectedServer()
    one.as.onToken = ({ res }) => {
      res.writeHead(307, { location: `${other.as.issuer}/token` }).end()
      return true
    }
    await expect(open(one, person().auth)).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
    expect(other.as.seen).toEqual([])
  })
})

describe('the pinned fetch', () => {
  it('connects to the checked address whatever the name resolves to by then', async () => {
    const hosts: (string | undefined)[] = []
    const server = createServer((req, res) => {
      hosts.push(req.headers.host)
      json(res, { ok: true })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    const url = new URL(`http://nobody.invalid:${port}/x`)
    const response = await pinnedFetch(url, { headers: { accept: 'application/json' } }, ['127.0.0.1'])
    expect(await response.json()).toEqual({ ok: true })
    expect(hosts).toEqual([`nobody.invalid:${port}`])
  })

  it.each([
    ['changes the protocol', 101, /the connection was closed/],
    ['resets a form', 205, /registered this client without an id/],
    ['is of no known kind', 999, /Try again later/],
  ])('fails with a response that %s', async (_, status, why) => {
    const one = await protectedServer()
    one.as.onRegister = ({ res }) => {
      res.writeHead(status, { connection: 'upgrade', upgrade: 'x' }).end()
      return true
    }
    const all = [pinnedFetch, ...(status === 205 ? [(url: URL, init: RequestInit) => fetch(url, init)] : [])]
    for (const send of all) {
      await expect(open(one, person({ fetch: send }).auth)).rejects.toMatchObject({
        code: 'UNAUTHORIZED',
        message: expect.stringMatching(why),
      })
    }
  })

  it('completes a whole login', async () => {
    const one = await protectedServer()
    const client = await open(one, person({ fetch: pinnedFetch }).auth)
    await client.call('x')
    expect(one.calls).toHaveLength(1)
  })

  it('ends when its signal aborts', async () => {
    const server = createServer((_, res) => res.write('{'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    const stop = new AbortController()
    const response = await pinnedFetch(new URL(`http://127.0.0.1:${port}`), { signal: stop.signal }, [])
    const body = response.text()
    stop.abort()
    await expect(body).rejects.toThrow()
  })
})
