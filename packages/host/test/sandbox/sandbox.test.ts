import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer as createHttp } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { machineVariables } from '../../src/servers/launch/machine-variables.ts'
import type { Sandbox, StdioServerConfig } from '../../src/types/index.ts'
import { folder, hostOf, started, textOf, until, type Watched } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { homeFolder, named, withoutSandbox } from './bubblewrap.ts'

const prying = fileURLToPath(new URL('../fixtures/prying-server.ts', import.meta.url))
const cli = { caller: 'cli' } as const
const allowAll = [{ id: 'all', verdict: 'allow' }] as const

/** The server that tries things, with a home folder of its own. */
function boxed(sandbox: boolean | Sandbox, more: Partial<StdioServerConfig> = {}): StdioServerConfig {
  return { command: process.execPath, args: [prying], sandbox, ...more }
}

function home(): string {
  const made = homeFolder()
  mkdirSync(join(made, '.ssh'))
  writeFileSync(join(made, '.ssh', 'id_ed25519'), 'canary')
  writeFileSync(join(made, '.netrc'), 'canary')
  writeFileSync(join(made, 'notes.txt'), 'notes')
  return made
}

async function hostWith(config: StdioServerConfig): Promise<Watched> {
  return started({ servers: { s: config }, rules: [...allowAll] })
}

async function tried(host: Watched, tool: string, args: Record<string, unknown> = {}): Promise<string> {
  return textOf(await host.call(`s__${tool}`, args, cli))
}

/** Of every process of this machine. */
function commandLines(): string[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      return [readFileSync(`/proc/${name}/cmdline`, 'utf8')]
    } catch {
      return []
    }
  })
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  onTestFinished(() => {
    server.close()
  })
  const address = server.address() as AddressInfo
  return address.port
}

/** Prints received data and the address of the sender. */
async function echo(): Promise<{ port: number; visits: () => number }> {
  let visits = 0
  const port = await listening(
    createServer((socket) => {
      visits++
      socket.on('error', () => {})
      socket.once('data', (chunk) => socket.end(`heard ${chunk}`))
    }),
  )
  return { port, visits: () => visits }
}

describe.skipIf(withoutSandbox !== undefined)(named('a server in a sandbox'), () => {
  it('works, and its state names the sandbox', async () => {
    home()
    const host = await hostWith(boxed(true))
    expect(host.connections.get('s')).toMatchObject({ state: 'ready', sandboxed: true })
    expect(JSON.parse(await tried(host, 'user'))).toBeTypeOf('string')
  })

  it('cannot read keys or other files of the user', async () => {
    const at = home()
    const host = await hostWith(boxed(true))
    expect(await tried(host, 'read', { path: join(at, '.ssh', 'id_ed25519') })).toMatch(/ENOENT/)
    expect(await tried(host, 'read', { path: join(at, 'notes.txt') })).toMatch(/ENOENT/)
    expect(await tried(host, 'read', { path: '/etc/shadow' })).toMatch(/ENOENT/)
  })

  it('sees keys in no open folder, unless they are named, whatever the folder is called', async () => {
    const at = home()
    const alias = join(folder(), 'alias')
    symlinkSync(at, alias)
    const host = await hostWith(boxed({ read: [alias] }))
    for (const place of [at, alias]) {
      expect(await tried(host, 'read', { path: join(place, 'notes.txt') })).toBe('"notes"')
      expect(await tried(host, 'read', { path: join(place, '.ssh', 'id_ed25519') })).toMatch(/ENOENT/)
      expect(await tried(host, 'read', { path: join(place, '.netrc') })).toMatch(/ENOENT/)
    }
    const named = await hostWith(boxed({ read: ['~', '~/.ssh'] }))
    expect(await tried(named, 'read', { path: join(at, '.ssh', 'id_ed25519') })).toBe('"canary"')
  })

  it.each([[['/']], [['/home', '/opt', '/run']], [['/tmp']]])(
    'starts for any open folder: %j',
    async (read) => {
      home()
      const { port } = await echo()
      const host = await hostWith(boxed({ read, network: [`127.0.0.1:${port}`] }))
      expect(host.connections.get('s')).toMatchObject({ state: 'ready' })
      const { HOME } = JSON.parse(await tried(host, 'environment'))
      expect(await tried(host, 'list', { path: HOME })).toMatch(/^\[/)
      expect(JSON.parse(await tried(host, 'processes')).length).toBeLessThan(8)
      const text = `CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\nhello`
      expect(await tried(host, 'proxy', { text })).toContain('heard hello')
    },
  )

  it('writes only to writable folders', async () => {
    home()
    const [open, closed] = [folder(), folder()]
    const host = await hostWith(boxed({ read: [closed], write: [open] }))
    const write = (path: string): Promise<string> => tried(host, 'write', { path, text: 'x' })
    expect(await write(join(open, 'new'))).toBe('"done"')
    expect(readFileSync(join(open, 'new'), 'utf8')).toBe('x')
    expect(await write(join(closed, 'new'))).toMatch(/EROFS/)
    expect(await write('/usr/new')).toMatch(/EROFS/)
    expect(await write('/new')).toMatch(/EROFS/)
    expect(await write(join(prying, '..', 'new'))).toMatch(/EROFS/)
    expect(await write('/tmp/new')).toBe('"done"')
    expect(() => statSync('/tmp/new')).toThrow(/ENOENT/)
  })

  it('has its configured variables, which are in no process list, and none of the user', async () => {
    home()
    vi.stubEnv('JACKFIELD_CANARY', 'canary')
    vi.stubEnv('USER', 'ada')
    const host = await hostWith(boxed(true, { env: { GIVEN: 'given-canary', LD_GIVEN: 'loader' } }))
    const variables = JSON.parse(await tried(host, 'environment'))
    expect(variables).toMatchObject({ GIVEN: 'given-canary', LD_GIVEN: 'loader', HOME: '/home/sandbox' })
    const usual = [
      'GIVEN',
      'HOME',
      'JACKFIELD_SERVER_ID',
      'LANG',
      'LC_ALL',
      'LC_CTYPE',
      'LD_GIVEN',
      'PATH',
      'PWD',
    ]
    const ofMachine = machineVariables(process.env).map(({ name }) => name)
    const others = Object.keys(variables).filter((name) => ![...usual, ...ofMachine].includes(name))
    expect(others).toEqual([])
    const lines = commandLines()
    expect(lines.filter((line) => line.includes('given-canary'))).toEqual([])
    expect(lines.some((line) => line.includes('bwrap') && line.includes(prying))).toBe(true)
  })

  it('sees no outside process', async () => {
    home()
    const host = await hostWith(boxed(true))
    expect(JSON.parse(await tried(host, 'processes')).length).toBeLessThan(5)
  })

  it('has no network, not even this machine', async () => {
    home()
    const { port, visits } = await echo()
    const host = await hostWith(boxed(true))
    expect(await tried(host, 'reach', { host: '127.0.0.1', port })).toMatch(/ECONNREFUSED/)
    expect(await tried(host, 'reach', { host: '192.0.2.1', port: 443 })).toMatch(/ENETUNREACH/)
    expect(visits()).toBe(0)
  })

  it('reaches a listed host through the proxy, and no other host or port', async () => {
    home()
    const [listed, other] = [await echo(), await echo()]
    const host = await hostWith(boxed({ network: [`127.0.0.1:${listed.port}`] }))
    const tunnel = (place: string): Promise<string> =>
      tried(host, 'proxy', { text: `CONNECT ${place} HTTP/1.1\r\nHost: ${place}\r\n\r\nhello` })
    expect(await tunnel(`127.0.0.1:${listed.port}`)).toMatch(/200 Connection established.*heard hello/s)
    expect(await tunnel(`127.0.0.1:${other.port}`)).toMatch(/403 Forbidden.*not listed/s)
    expect(await tunnel(`localhost:${listed.port}`)).toMatch(/403 Forbidden/)
    expect(await tunnel('nonsense')).toMatch(/403 Forbidden/)
    expect(await tried(host, 'reach', { host: '127.0.0.1', port: listed.port })).toMatch(/ECONNREFUSED/)
    expect([listed.visits(), other.visits()]).toEqual([1, 0])
    expect(host.events).toContainEqual({
      type: 'warning',
      server: 's',
      message: expect.stringContaining(`blocked access to 127.0.0.1:${other.port}`),
    })
  })

  it('fetches from a listed host as usual', async () => {
    home()
    const port = await listening(
      createHttp((asked, answer) => answer.end(`${asked.headers.host}${asked.url}`)),
    )
    const host = await hostWith(boxed({ network: [`127.0.0.1:${port}`] }))
    const url = `http://127.0.0.1:${port}/path?q=1`
    expect(await tried(host, 'fetch', { url })).toBe(`"200 127.0.0.1:${port}/path?q=1"`)
    expect(await tried(host, 'fetch', { url: 'http://127.0.0.2/' })).toMatch(/Error/)
    const ask = (url: string): Promise<string> =>
      tried(host, 'proxy', { text: `GET ${url} HTTP/1.1\r\nHost: else.example\r\nConnection: close\r\n\r\n` })
    expect(await ask(url)).toMatch(new RegExp(`200 OK.*127.0.0.1:${port}/path`))
    expect(await ask('http://127.0.0.2/')).toMatch(/403 Forbidden.*not listed/)
    expect(await ask('/path')).toMatch(/400 Bad Request/)
  })

  it('has the whole network if configured', async () => {
    home()
    const { port } = await echo()
    const host = await hostWith(boxed({ network: true }))
    expect(await tried(host, 'reach', { host: '127.0.0.1', port })).toBe('"reached"')
  })

  it.each([
    ['without a proxy', []],
    ['with a proxy', ['example.org']],
  ] as const)('leaves nothing behind when closed, %s', async (_name, network) => {
    home()
    const beats = folder()
    const host = await hostWith(boxed({ network: [...network], write: [beats] }))
    const path = join(beats, 'beats')
    await tried(host, 'child', { path })
    const size = (): number => statSync(path).size
    await until(() => size() > 3, 'the child beats')
    await host.close()
    await until(() => !commandLines().some((line) => line.includes(beats)), 'the child is gone', 1_000)
  })

  it.each([
    ['in no sandbox', false],
    ['without a proxy', []],
    ['with a proxy', ['example.org']],
  ] as const)('gets SIGTERM before it is killed, %s', async (_name, network) => {
    home()
    const out = folder()
    const file = join(out, 'said')
    const sandbox = network === false ? false : { network: [...network], write: [out] }
    const host = await hostWith(boxed(sandbox, { env: { LINGERS: file } }))
    await host.close()
    await until(() => readFileSync(file, 'utf8').endsWith('saved'), 'it ended in peace')
    expect(readFileSync(file, 'utf8')).toBe('input closed, asked to end, saved')
  })

  it('is killed if it ignores SIGTERM', async () => {
    home()
    const out = folder()
    const file = join(out, 'said')
    const host = await hostWith(boxed({ write: [out] }, { env: { LINGERS: file, DEAF: '1' } }))
    await host.close()
    await until(() => !commandLines().some((line) => line.includes(out)), 'it is gone', 3_000)
    expect(readFileSync(file, 'utf8')).toBe('input closed, asked to end, ')
  })

  it('reports why it ended', async () => {
    home()
    const host = await hostWith(boxed(true, { args: ['-e', 'process.exit(3)'] }))
    expect(host.connections.get('s')).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('exited with code 3'),
    })
  })
})

describe('an unavailable sandbox', () => {
  const failed = async (config: StdioServerConfig): Promise<unknown> => {
    const host = hostOf({ servers: { s: config } })
    await host.start()
    return host.connections.get('s')
  }

  it('prevents the start of the server, and says what to install', async () => {
    const marker = join(folder(), 'started')
    vi.stubEnv('PATH', folder())
    onTestFinished(() => {
      vi.unstubAllEnvs()
    })
    const args = ['-e', `require('node:fs').writeFileSync(${JSON.stringify(marker)}, '')`]
    expect(await failed({ command: process.execPath, args, sandbox: true })).toMatchObject({
      state: 'failed',
      reason: expect.stringMatching(/bubblewrap.*apt install bubblewrap/),
      error: { code: 'INVALID' },
    })
    expect(() => statSync(marker)).toThrow(/ENOENT/)
  })

  it('names the wrong entry', async () => {
    expect(await failed(boxed({ network: ['http://example.org/'] }))).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('"http://example.org/"'),
    })
  })

  it.skipIf(withoutSandbox !== undefined)(named('says which folder is missing'), async () => {
    expect(await failed(boxed({ read: ['/no/such/folder'] }))).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('/no/such/folder'),
    })
  })
})

describe.skipIf(withoutSandbox !== undefined)(named('approvals'), () => {
  it('are the same with and without a sandbox', async () => {
    home()
    const verdicts = async (sandbox: boolean): Promise<unknown> => {
      const surface = person({ approval: () => ({ verdict: 'deny' }) })
      const host = await started({
        servers: { s: boxed(sandbox) },
        rules: [
          { id: 'folder', tool: 'folder', verdict: 'allow' },
          { id: 'write', tool: 'write', verdict: 'deny' },
        ],
        surface,
      })
      const calls = await Promise.all(
        ['folder', 'write', 'user'].map((tool) =>
          host.call(`s__${tool}`, { path: '/x' }, { caller: 'chat' }),
        ),
      )
      return {
        verdicts: calls.map(({ decision, denied }) => ({ decision, denied })),
        asked: surface.asked.length,
      }
    }
    expect(await verdicts(true)).toEqual(await verdicts(false))
  })

  it('that were stored without a sandbox apply in one', async () => {
    home()
    const store = join(folder(), 'store.db')
    const surface = person({ approval: () => ({ verdict: 'allow', remember: { scope: 'always' } }) })
    const call = async (sandbox: boolean): Promise<string> => {
      const host = await started({ servers: { s: boxed(sandbox) }, surface, store })
      const { decision } = await host.call('s__user', {}, { caller: 'chat' })
      await host.close()
      return decision.verdict
    }
    await call(false)
    expect(await call(true)).toBe('allow')
    expect(surface.asked).toHaveLength(1)
  })
})
