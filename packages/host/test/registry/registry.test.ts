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
  ])('does not take anything for an answer (%#)', async (body, status, why) => {
    const server = createServer((_request, response) => response.writeHead(status).end(body))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const client = createRegistry({ url: `http://127.0.0.1:${port}` })
    await expect(client.show(weather.name)).rejects.toThrow(why)
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

  it.each(['__proto__', 'constructor', 'toString'])('cannot be of the kind %s', (kind) => {
    expect(() => planFrom(packed(kind, 'one', '1.0.0'))).toThrow('cannot be installed')
  })

  it('is taken from elsewhere where it is packed in other ways too', () => {
    expect(bundleIn(weather)).toBeUndefined()
    expect(bundleIn({ packages: [{ registryType: 'mcpb' }, { registryType: 'npm' }] })).toBeUndefined()
  })
})
