import { createServer, type Socket } from 'node:net'
import { createGzip, gzipSync } from 'node:zlib'
import { zoneOfAddress } from '@jackfield/sdk/internal'
import { createFetchServer } from '@jackfield/server-fetch'
import { describe, expect, onTestFinished, test } from 'vitest'
import { article, clientFor, clientOf, contentOf, refusal, siteOf, textOf } from './fixture.ts'

describe('fetch refuses', () => {
  test.each([
    ['http://127.0.0.1/', 'loopback network'],
    ['http://localhost/', 'loopback network'],
    ['http://sub.localhost./', 'loopback network'],
    ['http://[::1]/', 'loopback network'],
    ['http://2130706433/', 'loopback network'],
    ['http://0x7f.1/', 'loopback network'],
    ['http://0177.0.0.1/', 'loopback network'],
    ['http://①②⑦.0.0.1/', 'loopback network'],
    ['http://[::ffff:127.0.0.1]/', 'loopback network'],
    ['http://[::ffff:7f00:1]/', 'loopback network'],
    ['http://127.0.0.1./', 'loopback network'],
    ['http://10.1.2.3/', 'private network'],
    ['http://172.31.255.255/', 'private network'],
    ['http://192.168.0.1/', 'private network'],
    ['http://100.64.0.1/', 'private network'],
    ['http://198.18.0.1/', 'private network'],
    ['http://[fd12::1]/', 'private network'],
    ['http://router/', 'private network'],
    ['http://nas.local/', 'private network'],
    ['http://169.254.169.254/latest/meta-data/', 'reserved network'],
    ['http://[::ffff:169.254.169.254]/', 'reserved network'],
    ['http://100.100.100.200/', 'reserved network'],
    ['http://168.63.129.16/', 'reserved network'],
    ['http://metadata.google.internal/', 'reserved network'],
    ['http://[fd00:ec2::254]/', 'reserved network'],
    ['http://0.0.0.0/', 'reserved network'],
    ['http://0/', 'reserved network'],
    ['http://[::]/', 'reserved network'],
    ['http://224.0.0.1/', 'reserved network'],
    ['http://255.255.255.255/', 'reserved network'],
    ['http://192.0.2.1/', 'reserved network'],
    ['http://[fe80::1]/', 'reserved network'],
    ['http://[ff02::1]/', 'reserved network'],
    ['http://[2001:db8::1]/', 'reserved network'],
    ['http://[2001::1]/', 'reserved network'],
    ['http://[64:ff9b::127.0.0.1]/', 'reserved network'],
    ['http://[64:ff9b:1::a00:1]/', 'reserved network'],
    ['http://[2002:7f00:1::]/', 'reserved network'],
    ['http://[2002:a9fe:a9fe::]/', 'reserved network'],
    ['http://[::127.0.0.1]/', 'reserved network'],
    ['http://example.org:22/', 'Port 22 is not fetched'],
    ['https://example.org:8443/', 'Port 8443 is not fetched'],
    ['http://user:secret@example.org/', 'user name or password'],
    ['http://user@example.org/', 'user name or password'],
    ['ftp://example.org/', 'Only http: and https:'],
    ['file:///etc/passwd', 'Only http: and https:'],
    ['data:text/html,hello', 'Only http: and https:'],
    ['javascript:alert(1)', 'Only http: and https:'],
    ['example.org/page', 'must be an absolute URL'],
  ])('%s', async (url, reason) => {
    const client = await clientOf({ lookup: () => Promise.reject(new Error('must not be resolved')) })
    const message = await refusal(client, url)
    expect(message).toContain(reason)
    expect(message).not.toContain('secret')
  })

  test.each([
    ['a private address', ['10.0.0.1'], 'private network'],
    ['a private one among public addresses', ['93.184.216.34', '127.0.0.1'], 'loopback network'],
    ['a mapped private address', ['::ffff:10.0.0.1'], 'private network'],
    ['what is no address', ['elsewhere'], 'reserved network'],
    ['no address', [], 'cannot be resolved'],
  ])('a name that resolves to %s', async (_title, addresses, reason) => {
    const client = await clientOf({ lookup: async () => addresses })
    expect(await refusal(client, 'http://rebind.example.org/')).toContain(reason)
  })

  test.each(['http://127.0.0.1:1/', 'http://[::1]:1/', 'http://localhost:1/'])(
    'with an argument that allows %s',
    async (url) => {
      const text = await refusal(await clientOf({}), url)
      const place = /--allow-private (\S+)\.$/.exec(text)?.[1] ?? ''
      // Nothing listens there: the address is allowed now.
      const allowed = await clientOf({ allowPrivate: [place], ignoreRobots: true })
      expect(await refusal(allowed, url)).not.toContain('is not fetched')
    },
  )

  test('a redirect to a forbidden address', async () => {
    const inner = await siteOf({ '/secret': 'secret' })
    const site = await siteOf({
      '/private': { status: 302, headers: { location: `${inner.url}/secret` } },
      '/metadata': { status: 307, headers: { location: 'http://169.254.169.254/' } },
      '/file': { status: 301, headers: { location: 'file:///etc/passwd' } },
      '/login': { status: 301, headers: { location: `http://a:b@${'127.0.0.1'}/` } },
    })
    const client = await clientFor(site)
    expect(await refusal(client, `${site.url}/private`)).toContain(`${inner.place} is in a loopback network`)
    expect(await refusal(client, `${site.url}/metadata`)).toContain('reserved network')
    expect(await refusal(client, `${site.url}/file`)).toContain('Only http: and https:')
    expect(await refusal(client, `${site.url}/login`)).toContain('user name or password')
    expect(inner.requests).toEqual([])
  })

  test('more than five redirects', async () => {
    const site = await siteOf({ '*': { status: 302, headers: { location: '/again' } } })
    const client = await clientOf({ allowPrivate: [site.place], ignoreRobots: true })
    expect(await refusal(client, site.url)).toContain('redirects more than 5 times')
    expect(site.requests).toHaveLength(6)
  })
})

describe('an address', () => {
  test.each([
    ['93.184.216.34', 'public'],
    ['1.1.1.1', 'public'],
    ['223.255.255.255', 'public'],
    ['100.63.255.255', 'public'],
    ['172.32.0.1', 'public'],
    ['2606:4700::1111', 'public'],
    ['2a00:1450:4001::200e', 'public'],
    ['::ffff:93.184.216.34', 'public'],
    ['64:ff9b::93.184.216.34', 'public'],
    ['2002:5db8:d822::1', 'public'],
    ['fe80::1%eth0', 'forbidden'],
    ['::1', 'loopback'],
    ['127.255.255.255', 'loopback'],
    ['10.0.0.0', 'private'],
    ['240.0.0.1', 'forbidden'],
    ['100::1', 'forbidden'],
    ['example.org', undefined],
    ['127.1', undefined],
  ])('%s is %s', (address, zone) => {
    expect(zoneOfAddress(address)).toBe(zone)
  })
})

describe('an option of fetch', () => {
  test.each([
    [{ allowPrivate: ['169.254.169.254'] }, 'cannot be allowed'],
    [{ allowPrivate: ['http://localhost'] }, 'is not a host'],
    [{ allowPrivate: ['10.0.0.0/8'] }, 'is not a host'],
    [{ allowPrivate: [''] }, 'is not a host'],
    [{ ports: [0] }, 'is not a port'],
    [{ timeoutSeconds: 0 }, '"timeoutSeconds"'],
    [{ userAgent: 'a\nb' }, '"userAgent"'],
  ])('%j is refused', (options, message) => {
    expect(() => createFetchServer(options)).toThrow(message)
  })

  test('allows one port of one host', async () => {
    const site = await siteOf({ '/': article('') })
    const other = await siteOf({ '/': article('') })
    const client = await clientFor(site)
    expect(await contentOf(client, site.url)).toContain('paragraph of the article')
    expect(await refusal(client, other.url)).toContain(`--allow-private ${other.place}`)
    expect(await refusal(client, `http://localhost:${site.port}/`)).toContain('loopback')
  })
})

describe('a request of fetch', () => {
  test('connects to the addresses that were checked: the name is resolved once', async () => {
    const site = await siteOf({ '/': article('<p>Pinned</p>') })
    const resolved: string[] = []
    const client = await clientOf({
      allowPrivate: [`pinned.example.org:${site.port}`],
      ignoreRobots: true,
      // The system's resolver does not know this name, and a second answer would be another address.
      lookup: async (hostname) => [resolved.push(hostname) === 1 ? '127.0.0.1' : '127.0.0.2'],
    })
    expect(await contentOf(client, `http://pinned.example.org:${site.port}/`)).toContain('Pinned')
    expect(resolved).toEqual(['pinned.example.org'])
    expect(site.requests[0]?.headers.host).toBe(`pinned.example.org:${site.port}`)
  })

  test('has no cookies, credentials or referrer, also after a redirect', async () => {
    const site = await siteOf({
      '/': { status: 302, headers: { location: '/next', 'set-cookie': 'a=b; Path=/' } },
      '/next': article(''),
    })
    const client = await clientOf({ allowPrivate: [site.place], ignoreRobots: true })
    await contentOf(client, site.url)
    await contentOf(client, `${site.url}/next`)
    for (const { headers } of site.requests) {
      expect(Object.keys(headers).toSorted()).toEqual([
        'accept',
        'accept-encoding',
        'connection',
        'host',
        'user-agent',
      ])
      expect(headers['user-agent']).toMatch(/^jackfield-fetch\/\d/)
    }
  })

  test('reads no more than the limit of a compressed body', async () => {
    let sent = 0
    const site = await siteOf({
      '/bomb': (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' })
        const gzip = createGzip()
        gzip.pipe(response)
        const zeros = Buffer.alloc(1_000_000, 'a')
        const write = (): void => {
          if (response.destroyed || sent > 2_000_000_000) return void gzip.end()
          sent += zeros.length
          gzip.write(zeros, write)
        }
        write()
      },
    })
    const client = await clientFor(site)
    const result = await client.call('fetch', { url: `${site.url}/bomb`, max_length: 10 })
    expect(result.structuredContent).toMatchObject({
      totalLength: 5_242_880,
      notes: ['Only the first 5 MiB were read.'],
    })
    expect(sent).toBeLessThan(2_000_000_000)
  })

  test.each([
    [
      'that is not compressed as it says',
      { headers: { 'content-encoding': 'gzip' }, body: 'plain' },
      'cannot be decompressed',
    ],
    [
      'that ends within its compression',
      { headers: { 'content-encoding': 'gzip' }, body: gzipSync('x'.repeat(999)).subarray(0, 20) },
      'cannot be decompressed',
    ],
    ['of an unknown encoding', { headers: { 'content-encoding': 'zip' }, body: 'x' }, 'encoding "zip"'],
  ])('reports a body %s', async (_title, page, reason) => {
    const site = await siteOf({ '/': page })
    expect(await refusal(await clientFor(site), site.url)).toContain(reason)
  })

  test.each([
    ['no response', (_socket: Socket) => {}, 'was not fetched within 1 s'],
    [
      'a response that does not end',
      (socket: Socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\na'),
      'was not fetched within 1 s',
    ],
    [
      'what is not HTTP',
      (socket: Socket) => void socket.end('SSH-2.0-OpenSSH\r\n'),
      'sent an invalid HTTP response',
    ],
    [
      'a body that is shorter than announced',
      (socket: Socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na'),
      'closed the connection',
    ],
    [
      'nothing but the end of the connection',
      (socket: Socket) => void socket.destroy(),
      'closed the connection',
    ],
  ])('reports %s', async (_title, behave, reason) => {
    const sockets = new Set<Socket>()
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.once('data', () => behave(socket))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
    const address = server.address()
    const place = `127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
    const client = await clientOf({ allowPrivate: [place], ignoreRobots: true, timeoutSeconds: 1 })
    expect(await refusal(client, `http://${place}/`)).toContain(reason)
  })

  test('reports a port that accepts no connection', async () => {
    const client = await clientOf({ allowPrivate: ['127.0.0.1:1'], ignoreRobots: true })
    expect(await refusal(client, 'http://127.0.0.1:1/')).toContain('refused the connection')
  })

  test('ends when the call is cancelled', async () => {
    let isOpen = false
    const site = await siteOf({
      '/slow': (_request, response) => {
        isOpen = true
        response.once('close', () => {
          isOpen = false
        })
      },
    })
    const client = await clientOf({ allowPrivate: [site.place], ignoreRobots: true })
    const cancel = new AbortController()
    const call = client.call('fetch', { url: `${site.url}/slow` }, { signal: cancel.signal })
    await expect.poll(() => isOpen).toBe(true)
    cancel.abort()
    await expect(call).rejects.toThrow()
    await expect.poll(() => isOpen).toBe(false)
  })

  test('waits while two others to the same host run', async () => {
    let open = 0
    let most = 0
    const site = await siteOf({
      '*': (_request, response) => {
        most = Math.max(most, ++open)
        setImmediate(() =>
          setImmediate(() => {
            open--
            response.setHeader('content-type', 'text/plain').end('ok')
          }),
        )
      },
    })
    const client = await clientOf({ allowPrivate: [site.place], ignoreRobots: true })
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, at) => client.call('fetch', { url: `${site.url}/${at}` })),
    )
    expect(results.map(textOf).every((text) => text.includes('ok'))).toBe(true)
    expect(most).toBe(2)
  })
})
