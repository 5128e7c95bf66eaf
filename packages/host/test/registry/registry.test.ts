import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { planFrom } from '../../src/servers/install/plan.ts'
import { bundleIn, createRegistry, fetchBundle } from '../../src/servers/install/registry.ts'
import { orAborted } from '../../src/shared/signals.ts'
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
    ['<html>', 200, 'not a JSON object'],
    ['{}', 500, 'status 500'],
    ['{"server":{"name":"io.github.eve/other","version":"1.0.0"}}', 200, 'another server'],
    ['x'.repeat(4_100_000), 200, 'more than'],
    [`{"server":${'['.repeat(9_000)}${']'.repeat(9_000)}}`, 200, 'nested too deeply'],
  ])('rejects invalid responses (%#)', async (body, status, why) => {
    const server = createServer((_request, response) => response.writeHead(status).end(body))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const client = createRegistry({ url: `http://127.0.0.1:${port}` })
    await expect(client.show(weather.name)).rejects.toThrow(why)
  })

  it('reports a response that breaks off', async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new TypeError('terminated')) })
    const client = createRegistry({ fetch: async () => new Response(body) })
    await expect(client.search('x')).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message: expect.stringContaining('terminated'),
    })
  })

  it('contacts no registry without encryption, and names an unreachable one', async () => {
    expect(() => createRegistry({ url: 'http://example.org' })).toThrow('https')
    const failureOf = (work: Promise<unknown>) => work.then(String, (error: Error) => error.message)
    const advice = 'Check the network connection, or use another registry.'
    const closed = 'http://127.0.0.1:1025'
    expect(await failureOf(createRegistry({ url: closed }).search('x'))).toBe(
      `Could not reach ${closed}: nothing listens on this port (ECONNREFUSED). ${advice}`,
    )
    expect(await failureOf(createRegistry({ url: 'https://nobody.invalid' }).search('x'))).toMatch(
      /^Could not reach https:\/\/nobody\.invalid: (?:there is no host of this name \(ENOTFOUND\)|names cannot be resolved now \(EAI_AGAIN\))\. Check/,
    )
    expect(await failureOf(fetchBundle({ url: `${closed}/x.mcpb`, hash: '' }))).toBe(
      `Could not reach ${closed}: nothing listens on this port (ECONNREFUSED). Check the network connection, or try again later.`,
    )
    const silent = createRegistry({
      timeoutMs: 1,
      fetch: (_url, init) => orAborted(new Promise(() => {}), init?.signal ?? AbortSignal.abort()),
    })
    expect(await failureOf(silent.search('x'))).toBe(
      `${new URL(silent.url).origin} did not respond in time. ${advice}`,
    )
  })
})

describe('an installation plan', () => {
  it('has the exact command in the exact version, with its inputs', () => {
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
  ])('rejects anything that may be another version tomorrow: %s %s %s', (type, identifier, version) => {
    expect(() => planFrom(packed(type, identifier, version))).toThrow('one exact version')
  })

  it.each(['--eval=evil', '-c', 'a b'])('rejects an option in place of a package: %s', (identifier) => {
    expect(() => planFrom(packed('npm', identifier, '1.0.0'))).toThrow('is not valid')
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
  ])('accepts only a package name of a registry: %s %s', (...given) => {
    expect(() => planFrom(packed(...given))).toThrow(/is not valid.*(Ask its publisher|add it by hand)/)
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
  ])('rejects options that change what is fetched or run: %s %s', (type, name, value) => {
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
  ])('uses the named package, and none before it: %s', (type, value) => {
    const runtimeArguments = [{ type: 'positional', value }]
    expect(() => planFrom(withMore(type, { runtimeArguments }))).toThrow('is not the package it publishes')
  })

  it('accepts options that do not change what runs', () => {
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

  it("passes the package's arguments to the package, not to its launcher", () => {
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

  it('sets variables without an effect on what runs', () => {
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

  it("fetches from the publisher's registry, or not at all", () => {
    expect(planFrom(withMore('npm', { registryBaseUrl: 'https://registry.npmjs.org' })).command).toBe(
      'npx -y one@1.2.3',
    )
    expect(() => planFrom(withMore('npm', { registryBaseUrl: 'https://npm.corp.example' }))).toThrow(
      'is published at https://npm.corp.example',
    )
  })

  it('rejects a published checksum that cannot be compared', () => {
    expect(() => planFrom(withMore('npm', { fileSha256: 'a'.repeat(64) }))).toThrow('checksum')
  })

  it('has one exact version even if an argument looks like one', () => {
    const [entry] = packed('npm', 'weather', 'latest').packages
    const packageArguments = [{ type: 'positional', value: 'other@1.0.0' }]
    const published = { ...packed('npm', 'weather'), packages: [{ ...entry, packageArguments }] }
    expect(() => planFrom(published)).toThrow('one exact version')
  })

  it.each(['mcpServers', 'servers', 'mcp_servers', 'context_servers'])(
    'uses the packages of the document, and ignores anything under %s',
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
        'has nothing to start',
      )
    },
  )

  it('rejects nesting that is too deep to be stored', () => {
    const deep = JSON.parse('['.repeat(5_000) + ']'.repeat(5_000))
    expect(() => planFrom({ ...packed('npm', 'weather', '1.2.3'), deep })).toThrow('nested too deeply')
  })

  it.each([`\${env:AWS_SECRET}`, `\${file:/etc/passwd}`, `\${secret:other}`, `\${PATH}`, `\${odd:thing}`])(
    'reads nothing of this machine: %s',
    (text) => {
      const remotes = [{ type: 'streamable-http', url: `https://evil.example/${text}` }]
      expect(() => planFrom({ name: 'io.github.eve/one', version: '1.0.0', remotes })).toThrow()
    },
  )
})

describe('a server published as a bundle', () => {
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

  it('is downloaded if it is exactly the published one', async () => {
    const bundle = await published(hash)
    expect(Buffer.from(await fetchBundle(bundle ?? { url: '', hash: '' }))).toEqual(bytes)
    const other = await published('0'.repeat(64))
    await expect(fetchBundle(other ?? { url: '', hash: '' })).rejects.toThrow('not the published bundle')
    await expect(published(undefined)).rejects.toThrow('the hash of its bundle is missing')
    await expect(fetchBundle({ url: 'http://example.org/x.mcpb', hash })).rejects.toThrow('https')
  })

  it('is downloaded through a few redirects, only with encryption and outside this machine', async () => {
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
      await expect(leads).rejects.toThrow('not an address of a bundle')
      expect(asked.splice(0)).toEqual(['https://a.example/one.mcpb'])
    }
    await expect(from({ 'https://a.example/one.mcpb': '/one.mcpb' })).rejects.toThrow(
      'not an address of a bundle',
    )
    expect(asked).toHaveLength(6)
  })

  it('reports an interrupted download', async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new TypeError('terminated')) })
    const fetching = fetchBundle(
      { url: 'https://a.example/x', hash },
      { fetch: async () => new Response(body) },
    )
    await expect(fetching).rejects.toMatchObject({ code: 'CONNECT_FAILED' })
  })

  it.each(['__proto__', 'constructor', 'toString'])('rejects the type %s', (kind) => {
    expect(() => planFrom(packed(kind, 'one', '1.0.0'))).toThrow('cannot be installed')
  })

  it('uses another package if there is one', () => {
    expect(bundleIn(weather)).toBeUndefined()
    expect(bundleIn({ packages: [{ registryType: 'mcpb' }, { registryType: 'npm' }] })).toBeUndefined()
  })
})
