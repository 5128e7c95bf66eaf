// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders are what is tested.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../src/config/config.ts'
import { memorySecrets } from '../../src/config/secrets/store.ts'
import type { ConfigLayer, HostOptions, StdioServerConfig } from '../../src/types/index.ts'
import { folder, started } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { named, withoutSandbox } from '../sandbox/bubblewrap.ts'

/** Starts a program that writes its environment down, on a machine with these variables. */
async function given(
  env: Record<string, string>,
  more: Partial<HostOptions> & { server?: Partial<StdioServerConfig>; layer?: ConfigLayer } = {},
) {
  const { server, layer, ...options } = more
  const at = folder()
  const out = join(at, 'environment.json')
  const code = `require('node:fs').writeFileSync(${JSON.stringify(out)}, JSON.stringify(process.env))`
  const entry = { command: process.execPath, args: ['-e', code], ...server }
  const servers =
    layer === undefined
      ? { s: entry }
      : parseConfig(JSON.stringify({ mcpServers: { s: entry } }), {
          file: join(at, 'c.json'),
          layer,
          env: {},
        }).servers
  const host = await started({ servers, env: { PATH: process.env['PATH'], ...env }, home: at, ...options })
  await host.close()
  const seen: Record<string, string> = existsSync(out) ? JSON.parse(readFileSync(out, 'utf8')) : {}
  const warnings = host.events.flatMap((event) => (event.type === 'warning' ? [event.message] : []))
  return { seen, warnings, host }
}

const reaching = {
  HTTP_PROXY: 'http://proxy.corp.example:3128',
  https_proxy: 'http://proxy.corp.example:3128',
  NO_PROXY: 'localhost,.corp.example',
  ALL_PROXY: 'socks5://proxy.corp.example:1080',
  NODE_EXTRA_CA_CERTS: '/etc/ssl/corp@example.pem',
  SSL_CERT_FILE: '/etc/ssl/corp.pem',
  SSL_CERT_DIR: '/etc/ssl/certs',
  REQUESTS_CA_BUNDLE: '/etc/ssl/corp.pem',
  CURL_CA_BUNDLE: '/etc/ssl/corp.pem',
  npm_config_registry: 'https://npm.corp.example/',
  NPM_CONFIG_CAFILE: '/etc/ssl/corp.pem',
  PIP_INDEX_URL: 'https://pypi.corp.example/simple',
  UV_INDEX_URL: 'https://pypi.corp.example/simple',
  UV_DEFAULT_INDEX: 'corp=https://pypi.corp.example/simple',
}
const secret = {
  HTTPS_PROXY: 'http://ann:hunter2-hunter2@proxy.corp.example:3128',
  http_proxy: 'ann:hunter2-hunter2@proxy.corp.example:3128',
  'npm_config_//npm.corp.example/:_authToken': 'npm_hunter2-hunter2',
  'npm_config_//npm.corp.example/:_password': 'hunter2-hunter2',
  UV_EXTRA_INDEX_URL: 'https://a.example/simple https://__token__:hunter2-hunter2@b.example/simple',
  UV_INDEX_CORP_USERNAME: 'ann',
  UV_INDEX_CORP_PASSWORD: 'hunter2-hunter2',
  PIP_INDEX_URL: 'https://hunter2-hunter2@pypi.corp.example/simple',
  GOPROXY: 'https://go.example/?token=hunter2-hunter2',
}

describe('a started server', () => {
  it("gets the machine's proxies, certificates and package registries, and nothing else of its environment", async () => {
    const { seen, warnings } = await given({
      ...reaching,
      GITHUB_TOKEN: 'x',
      EDITOR: 'vi',
      AWS_PROFILE: 'prod',
    })
    expect(seen).toMatchObject(reaching)
    for (const name of ['GITHUB_TOKEN', 'EDITOR', 'AWS_PROFILE']) expect(seen).not.toHaveProperty([name])
    expect(warnings).toEqual([])
  })

  it.each(Object.entries(secret))(
    'does not get %s with credentials if the user cannot be asked, and a warning names it',
    async (name, value) => {
      const { seen, warnings, host } = await given({ [name]: value })
      expect(Object.keys(seen)).not.toContain(name)
      expect(warnings).toEqual([expect.stringContaining(`${name} of your environment was not passed to it`)])
      expect(JSON.stringify([host.events, host.secrets.redact(value)])).not.toContain('hunter2')
    },
  )

  it('gets one with credentials after the user agreed, asked once', async () => {
    const asked: string[] = []
    const secrets = memorySecrets()
    const surface = person({
      input({ input: { id, description, options } }) {
        asked.push(id)
        expect(description).not.toContain('hunter2')
        expect(options).toEqual(['no', 'yes'])
        return { verdict: 'allow', value: id === 'HTTPS_PROXY' ? 'yes' : 'no' }
      },
    })
    const env = { HTTPS_PROXY: secret.HTTPS_PROXY, UV_EXTRA_INDEX_URL: secret.UV_EXTRA_INDEX_URL }
    for (const run of [1, 2]) {
      const { seen, warnings } = await given(env, { surface, secrets })
      expect({ run, proxy: seen['HTTPS_PROXY'], warnings }).toEqual({
        run,
        proxy: env.HTTPS_PROXY,
        warnings: [],
      })
      expect(seen).not.toHaveProperty('UV_EXTRA_INDEX_URL')
    }
    expect(asked).toEqual(['HTTPS_PROXY', 'UV_EXTRA_INDEX_URL'])
  })

  it('of a project file is asked about separately', async () => {
    const asked: string[] = []
    const secrets = memorySecrets()
    await secrets.set('pass on HTTPS_PROXY', 'yes')
    const surface = person({
      start: () => ({ verdict: 'allow' }),
      input({ input: { id, description } }) {
        asked.push(`${id} ${description?.includes('c.json')}`)
        return { verdict: 'deny' }
      },
    })
    const { seen } = await given({ HTTPS_PROXY: secret.HTTPS_PROXY }, { secrets, surface, layer: 'project' })
    expect(asked).toEqual(['HTTPS_PROXY true'])
    expect(seen).toHaveProperty('PATH')
    expect(seen).not.toHaveProperty('HTTPS_PROXY')
  })

  it('keeps the variables of its configuration, ignoring case', async () => {
    const own = { http_proxy: 'http://own.example', HTTPS_PROXY: '${CORP_PROXY}' }
    const { seen, warnings } = await given(
      { ...reaching, HTTPS_PROXY: secret.HTTPS_PROXY, CORP_PROXY: secret.HTTPS_PROXY },
      { server: { env: own }, layer: 'user' },
    )
    expect(seen).toMatchObject({ http_proxy: 'http://own.example', HTTPS_PROXY: secret.HTTPS_PROXY })
    expect(seen).not.toHaveProperty('HTTP_PROXY')
    expect(seen).not.toHaveProperty('https_proxy')
    expect(warnings).toEqual([])
  })

  it('is shown by doctor with the variables that it gets and does not get', async () => {
    const at = folder()
    writeFileSync(join(at, 'x'), '')
    const { host } = await given(reaching, { server: { env: { MODE: 'a' } } })
    const again = await started({
      servers: { s: { command: process.execPath, args: ['-e', '0'], env: { MODE: 'a' } } },
      env: reaching,
    })
    await host.close()
    const { steps } = await again.diagnose('s')
    const message = steps.find(({ step }) => step === 'environment')?.message
    expect(message).toMatch(/^given: .*\bMODE\b.*\bNO_PROXY\b.*\bPATH\b.*; withheld: .*\bVITEST\b/)
    expect(message).not.toContain('corp.example')
  })
})

describe.skipIf(withoutSandbox !== undefined)(named('a started server in a sandbox'), () => {
  it('in a sandbox gets readable certificates and registries, but neither proxies nor folders of the user', async () => {
    const at = folder()
    const certificates = join(at, 'corp.pem')
    writeFileSync(certificates, 'a certificate')
    const out = folder()
    const code = `const { readFileSync, writeFileSync } = require('node:fs')
      const text = readFileSync(process.env.NODE_EXTRA_CA_CERTS, 'utf8')
      writeFileSync(${JSON.stringify(join(out, 'seen.json'))}, JSON.stringify({ text, env: process.env }))`
    const env = { ...reaching, NODE_EXTRA_CA_CERTS: certificates, npm_config_cache: at }
    const server: Partial<StdioServerConfig> = { args: ['-e', code], sandbox: { write: [out] } }
    await given(env, { server })
    const { text, env: seen } = JSON.parse(readFileSync(join(out, 'seen.json'), 'utf8'))
    expect(text).toBe('a certificate')
    expect(seen).toMatchObject({ npm_config_registry: reaching.npm_config_registry })
    for (const name of ['HTTP_PROXY', 'ALL_PROXY', 'npm_config_cache'])
      expect(seen).not.toHaveProperty([name])
    await given(env, { server: { args: ['-e', code], sandbox: { write: [out], network: true } } })
    expect(JSON.parse(readFileSync(join(out, 'seen.json'), 'utf8')).env).toHaveProperty('HTTP_PROXY')
  })
})
