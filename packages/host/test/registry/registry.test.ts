import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { planFrom } from '../../src/servers/install/plan.ts'
import { bundleIn, createRegistry, fetchBundle } from '../../src/servers/install/registry.ts'
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
      given: [
        { name: 'WEATHER_TOKEN', value: `\${input:WEATHER_TOKEN}` },
        { name: 'REGION', value: `\${input:REGION}` },
      ],
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
    ['npm', 'weather', '1'],
    ['npm', 'weather', '1.4'],
    ['npm', 'weather', '1.x'],
    ['npm', 'weather', '1.4.x'],
    ['npm', 'weather', '1.0.0 || 2.0.0'.replaceAll(' ', '')],
    ['pypi', 'weather', '1.*'],
    ['pypi', 'weather', '1.x'],
    ['nuget', 'Weather', '1.*'],
    ['nuget', 'Weather', '1.x'],
    ['oci', 'ghcr.io/ann/weather:1', undefined],
    ['oci', 'ghcr.io/ann/weather:1.x', undefined],
    ['oci', 'ghcr.io/ann/weather:stable', undefined],
    ['oci', 'ghcr.io:443/ann/weather', undefined],
  ])('is nothing that may be another version tomorrow: %s %s %s', (type, identifier, version) => {
    expect(() => planFrom(packed(type, identifier, version))).toThrow('one exact version')
  })

  it.each(['--eval=evil', '-c', 'a b'])('is no option in the place of a package: %s', (identifier) => {
    expect(() => planFrom(packed('npm', identifier, '1.0.0'))).toThrow('cannot be one')
  })

  it.each([
    ['npm', 'https://evil.example/one-1.0.0.tgz', '1.0.0'],
    ['npm', 'git+https://evil.example/one', '1.0.0'],
    ['npm', 'github:eve/one', '1.0.0'],
    ['npm', 'eve/one', '1.0.0'],
    ['npm', 'file:./one', '1.0.0'],
    ['npm', './one', '1.0.0'],
    ['npm', 'one@npm:other', '1.0.0'],
    ['pypi', 'https://evil.example/one.whl', '1.0.0'],
    ['pypi', 'git+https://evil.example/one', '1.0.0'],
    ['pypi', 'one[extra]', '1.0.0'],
    ['nuget', 'https://evil.example/one', '1.0.0'],
    ['oci', 'https://evil.example/one', '1.0.0'],
  ])('is the name of a package in a registry, and nothing else that could be fetched: %s %s', (...given) => {
    expect(() => planFrom(packed(...given))).toThrow(/cannot be one.*(Ask its publisher|add it by hand)/)
  })

  /** A package with more members. */
  const withMore = (registryType: string, more: object) => {
    const identifier = registryType === 'oci' ? 'ghcr.io/ann/one:1.2.3' : 'one'
    const version = registryType === 'oci' ? undefined : '1.2.3'
    const document = packed(registryType, identifier, version)
    return { ...document, packages: [{ ...document.packages[0], ...more }] }
  }

  it.each([
    ['npm', '--registry', 'https://evil.example'],
    ['npm', '--registry=https://evil.example', undefined],
    ['npm', '--package', 'evil@1.0.0'],
    ['npm', '-p', 'evil@1.0.0'],
    ['npm', '--call', 'evil'],
    ['npm', '--userconfig', '/tmp/npmrc'],
    ['npm', '--prefix', '/tmp'],
    ['npm', '--node-options', '--require=/tmp/x.js'],
    ['pypi', '--index-url', 'https://evil.example'],
    ['pypi', '--default-index=https://evil.example', undefined],
    ['pypi', '--from', 'evil==1.0.0'],
    ['pypi', '--with', 'evil==1.0.0'],
    ['pypi', '--python', './evil'],
    ['pypi', '--config-file', '/tmp/uv.toml'],
    ['nuget', '--add-source', 'https://evil.example'],
    ['oci', '--runtime', 'evil'],
    ['oci', '--context', 'evil'],
  ])('takes no option that changes what is fetched or run: %s %s', (type, name, value) => {
    const runtimeArguments = [{ type: 'named', name, ...(value !== undefined && { value }) }]
    const at = name.split('=')[0] ?? ''
    const plan = (): unknown => planFrom(withMore(type, { runtimeArguments }))
    expect(plan).toThrow(`its runtime argument "${at}" is not accepted`)
    expect(plan).toThrow('add it by hand')
  })

  it.each([
    ['npm', 'evil@1.0.0'],
    ['pypi', 'evil==1.0.0'],
    ['oci', 'evil/image:1.0.0'],
  ])('is the package that it names, and none that stands before it: %s', (type, value) => {
    const runtimeArguments = [{ type: 'positional', value }]
    expect(() => planFrom(withMore(type, { runtimeArguments }))).toThrow('is not the package it publishes')
  })

  it('takes options that only say how it runs', () => {
    const named = (name: string, value?: string) => [{ type: 'named', name, ...(value && { value }) }]
    expect(planFrom(withMore('npm', { runtimeArguments: named('--quiet') })).command).toBe(
      'npx --quiet -y one@1.2.3',
    )
    expect(planFrom(withMore('pypi', { runtimeArguments: named('--python', '3.12') })).command).toBe(
      'uvx --python 3.12 one==1.2.3',
    )
    const mount = 'type=bind,src=/srv/one,dst=/data'
    expect(planFrom(withMore('oci', { runtimeArguments: named('--mount', mount) })).command).toBe(
      `docker run -i --rm --mount ${mount} ghcr.io/ann/one:1.2.3`,
    )
  })

  it('gives the arguments of a package to the package, also where its launcher would read options among them', () => {
    const packageArguments = [{ type: 'named', name: '--add-source', value: 'https://evil.example' }]
    expect(planFrom(withMore('nuget', { packageArguments })).command).toBe(
      'dnx one@1.2.3 --yes -- --add-source https://evil.example',
    )
  })

  it.each([
    'npm_config_registry',
    'NPM_CONFIG_USERCONFIG',
    'UV_INDEX_URL',
    'PIP_EXTRA_INDEX_URL',
    'PATH',
    'HOME',
    'NODE_OPTIONS',
    'LD_PRELOAD',
    'PYTHONPATH',
    'HTTPS_PROXY',
    'NODE_EXTRA_CA_CERTS',
    'DOCKER_HOST',
    'odd name',
  ])('sets no variable that changes what runs: %s', (name) => {
    const environmentVariables = [{ name, value: 'https://evil.example' }]
    const plan = (): unknown => planFrom(withMore('npm', { environmentVariables }))
    expect(plan).toThrow(name)
    expect(plan).toThrow('cannot be installed')
  })

  it('sets variables that change nothing about what runs', () => {
    const environmentVariables = [
      { name: 'PYTHONUNBUFFERED', value: '1' },
      { name: 'LOG_LEVEL', value: 'debug' },
      { name: 'HTTPS_PROXY', description: 'Where you have one' },
    ]
    expect(planFrom(withMore('pypi', { environmentVariables })).given).toEqual([
      { name: 'PYTHONUNBUFFERED', value: '1' },
      { name: 'LOG_LEVEL', value: 'debug' },
    ])
  })

  it('is fetched from where it was published, or not at all', () => {
    expect(planFrom(withMore('npm', { registryBaseUrl: 'https://registry.npmjs.org' })).command).toBe(
      'npx -y one@1.2.3',
    )
    expect(() => planFrom(withMore('npm', { registryBaseUrl: 'https://npm.corp.example' }))).toThrow(
      'is published at https://npm.corp.example',
    )
  })

  it('is nothing whose published checksum could not be compared', () => {
    expect(() => planFrom(withMore('npm', { fileSha256: 'a'.repeat(64) }))).toThrow('checksum')
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
