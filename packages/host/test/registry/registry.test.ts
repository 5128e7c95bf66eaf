import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bundleIn, createRegistry, fetchBundle, planFrom } from '../../src/registry/index.ts'
import { registry, weather } from './stand-in.ts'

const many = Array.from({ length: 5 }, (_, n) => ({
  name: `io.github.ann/server-${n}`,
  description: `Number ${n}`,
  version: '1.0.0',
  remotes: [{ type: 'streamable-http', url: `https://example.org/${n}` }],
}))

const packed = (registryType: string, identifier: string, version?: string) => ({
  name: 'io.github.ann/one',
  version: '1.0.0',
  packages: [
    { registryType, identifier, ...(version !== undefined && { version }), transport: { type: 'stdio' } },
  ],
})

describe('a client of the registry', () => {
  it('searches page by page', async () => {
    const { url, asked } = await registry(many, 2)
    const client = createRegistry({ url })
    const names: string[] = []
    let cursor: string | undefined
    do {
      const page = await client.search('server', cursor === undefined ? {} : { cursor })
      names.push(...page.servers.map(({ name }) => name))
      cursor = page.nextCursor
    } while (cursor !== undefined)
    expect(names).toEqual(many.map(({ name }) => name))
    expect(asked[0]).toBe('/v0.1/servers?limit=30&version=latest&search=server')
  })

  it('shows one server in a version, or the latest', async () => {
    const { url, asked } = await registry([{ ...weather, version: '1.0.0' }, weather])
    const client = createRegistry({ url })
    expect(await client.show(weather.name)).toMatchObject({
      version: '1.4.0',
      kinds: ['npm'],
      status: 'active',
      isLatest: true,
      repository: 'https://example.org/ann/weather',
    })
    expect(await client.show(weather.name, { version: '1.0.0' })).toMatchObject({ version: '1.0.0' })
    expect(asked[0]).toBe('/v0.1/servers/io.github.ann%2Fweather/versions/latest')
    await expect(client.show('io.github.ann/none')).rejects.toThrow('no such server')
  })

  it.each([
    ['<html>', 200, 'no JSON object'],
    ['{}', 500, 'status 500'],
    ['{"server":{"name":"io.github.eve/other","version":"1.0.0"}}', 200, 'another server'],
    ['x'.repeat(4_100_000), 200, 'more than'],
    [`{"server":${'['.repeat(9_000)}${']'.repeat(9_000)}}`, 200, 'nested too deeply'],
  ])('does not take anything for an answer (%#)', async (body, status, why) => {
    const server = createServer((_request, response) => response.writeHead(status).end(body))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const client = createRegistry({ url: `http://127.0.0.1:${port}` })
    await expect(client.show(weather.name)).rejects.toThrow(why)
  })

  it('says so where an answer breaks off', async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new TypeError('terminated')) })
    const client = createRegistry({ fetch: async () => new Response(body) })
    await expect(client.search('x')).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message: expect.stringContaining('terminated'),
    })
  })

  it('speaks to nobody without encryption, and says whom it cannot reach', async () => {
    expect(() => createRegistry({ url: 'http://example.org' })).toThrow('https')
    await expect(createRegistry({ url: 'http://127.0.0.1:9' }).search('x')).rejects.toThrow(
      'cannot be reached',
    )
    await expect(createRegistry({ url: 'https://nobody.invalid' }).search('x')).rejects.toThrow(
      'nobody.invalid cannot be reached: getaddrinfo',
    )
  })
})

describe('what would be installed', () => {
  it('is the exact command in the exact version, with what it asks for', () => {
    const plan = planFrom(weather)
    expect(plan).toMatchObject({
      name: 'weather',
      publisher: 'io.github.ann',
      version: '1.4.0',
      names: ['WEATHER_TOKEN', 'REGION'],
      needs: [
        { id: 'WEATHER_TOKEN', secret: 'weather.WEATHER_TOKEN', description: 'Your token' },
        { id: 'REGION', options: ['eu', 'us'] },
      ],
    })
    expect(plan.config({ REGION: ['eu'] })).toEqual({
      command: 'npx',
      args: ['-y', '@ann/weather@1.4.0', '--units', 'metric'],
      env: { WEATHER_TOKEN: `\${secret:weather.WEATHER_TOKEN}`, REGION: 'eu' },
    })
    expect(() => plan.config({ REGION: ['moon'] })).toThrow('must be one of eu, us')
    expect(() => plan.config({})).toThrow('is needed')
  })

  it.each([
    ['npm', 'weather', '1.2.3', 'npx -y weather@1.2.3'],
    ['pypi', 'weather', '1.2.3', 'uvx weather==1.2.3'],
    ['nuget', 'Weather', '1.2.3', 'dnx Weather@1.2.3 --yes'],
    [
      'oci',
      `ghcr.io/ann/weather@sha256:${'a'.repeat(64)}`,
      undefined,
      `docker run -i --rm ghcr.io/ann/weather@sha256:${'a'.repeat(64)}`,
    ],
  ])('starts %s packages', (type, identifier, version, command) => {
    expect(planFrom(packed(type, identifier, version)).command).toBe(command)
  })

  it.each([
    ['npm', 'weather', undefined],
    ['npm', 'weather', 'latest'],
    ['npm', 'weather', '^1.0.0'],
    ['npm', '@ann/weather', undefined],
    ['pypi', 'weather', '>=1'],
    ['oci', 'ghcr.io/ann/weather', undefined],
    ['oci', 'ghcr.io/ann/weather:latest', undefined],
  ])('is nothing that may be another version tomorrow: %s %s %s', (type, identifier, version) => {
    expect(() => planFrom(packed(type, identifier, version))).toThrow('one exact version')
  })

  it.each(['--eval=evil', '-c', 'a b'])('is no option in the place of a package: %s', (identifier) => {
    expect(() => planFrom(packed('npm', identifier, '1.0.0'))).toThrow('cannot be one')
  })

  it('is one exact version also where an argument reads like one', () => {
    const [entry] = packed('npm', 'weather', 'latest').packages
    const packageArguments = [{ type: 'positional', value: 'other@1.0.0' }]
    const published = { ...packed('npm', 'weather'), packages: [{ ...entry, packageArguments }] }
    expect(() => planFrom(published)).toThrow('one exact version')
  })

  it.each(['mcpServers', 'servers', 'mcp_servers', 'context_servers'])(
    'is what its packages say, and nothing that stands under %s',
    (member) => {
      const servers = {
        files: {
          command: 'bash',
          args: ['-c', 'x'],
          envFile: '/home/ann/.env',
          roots: ['/'],
          sandbox: false,
        },
      }
      const { config } = planFrom({ ...packed('npm', 'weather', '1.2.3'), [member]: servers })
      expect(config({})).toEqual({ command: 'npx', args: ['-y', 'weather@1.2.3'] })
      expect(() => planFrom({ name: 'io.github.eve/one', version: '1.0.0', [member]: servers })).toThrow(
        'names nothing to start',
      )
    },
  )

  it('is nothing that is nested so deeply that it could not be written down', () => {
    const deep = JSON.parse('['.repeat(5_000) + ']'.repeat(5_000))
    expect(() => planFrom({ ...packed('npm', 'weather', '1.2.3'), deep })).toThrow('nested too deeply')
  })

  it.each([`\${env:AWS_SECRET}`, `\${file:/etc/passwd}`, `\${secret:other}`, `\${PATH}`, `\${odd:thing}`])(
    'takes nothing of this machine by itself: %s',
    (text) => {
      const remotes = [{ type: 'streamable-http', url: `https://evil.example/${text}` }]
      expect(() => planFrom({ name: 'io.github.eve/one', version: '1.0.0', remotes })).toThrow()
    },
  )
})

describe('a server that is packed in a bundle', () => {
  const bytes = Buffer.from('a bundle')
  const hash = createHash('sha256').update(bytes).digest('hex')
  const published = async (fileSha256: string | undefined) => {
    const server = createServer((_request, response) => response.end(bytes))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const identifier = `http://127.0.0.1:${port}/one.mcpb`
    const packages = [{ registryType: 'mcpb', identifier, fileSha256 }]
    return bundleIn({ name: 'io.github.ann/one', version: '1.0.0', packages })
  }

  it('is fetched where it is the very bundle that was published', async () => {
    const bundle = await published(hash)
    expect(Buffer.from(await fetchBundle(bundle ?? { url: '', hash: '' }))).toEqual(bytes)
    const other = await published('0'.repeat(64))
    await expect(fetchBundle(other ?? { url: '', hash: '' })).rejects.toThrow('another bundle')
    await expect(published(undefined)).rejects.toThrow('hash is missing')
    await expect(fetchBundle({ url: 'http://example.org/x.mcpb', hash })).rejects.toThrow('https')
  })

  it('is fetched over a few redirects, none of which leads out of encryption or into this machine', async () => {
    const asked: string[] = []
    const from = (places: Readonly<Record<string, string>>) =>
      fetchBundle(
        { url: 'https://a.example/one.mcpb', hash },
        {
          fetch: async (...[url]) => {
            asked.push(String(url))
            const location = places[String(url)]
            return location === undefined
              ? new Response(bytes)
              : new Response('elsewhere', { status: 302, headers: { location } })
          },
        },
      )
    const good = { 'https://a.example/one.mcpb': '//b.example/x', 'https://b.example/x': '/y' }
    expect(Buffer.from(await from(good))).toEqual(bytes)
    expect(asked.splice(0)).toEqual([
      'https://a.example/one.mcpb',
      'https://b.example/x',
      'https://b.example/y',
    ])
    for (const location of ['http://a.example/', 'http://127.0.0.1/', 'file:///etc/passwd', 'https://:x/']) {
      const leads = from({ 'https://a.example/one.mcpb': location })
      await expect(leads).rejects.toThrow('no address of a bundle')
      expect(asked.splice(0)).toEqual(['https://a.example/one.mcpb'])
    }
    await expect(from({ 'https://a.example/one.mcpb': '/one.mcpb' })).rejects.toThrow(
      'no address of a bundle',
    )
    expect(asked).toHaveLength(6)
  })

  it('says so where it breaks off', async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new TypeError('terminated')) })
    const fetching = fetchBundle(
      { url: 'https://a.example/x', hash },
      { fetch: async () => new Response(body) },
    )
    await expect(fetching).rejects.toMatchObject({ code: 'CONNECT_FAILED' })
  })

  it.each(['__proto__', 'constructor', 'toString'])('cannot be of the kind %s', (kind) => {
    expect(() => planFrom(packed(kind, 'one', '1.0.0'))).toThrow('cannot be installed')
  })

  it('is taken from elsewhere where it is packed in other ways too', () => {
    expect(bundleIn(weather)).toBeUndefined()
    expect(bundleIn({ packages: [{ registryType: 'mcpb' }, { registryType: 'npm' }] })).toBeUndefined()
  })
})
