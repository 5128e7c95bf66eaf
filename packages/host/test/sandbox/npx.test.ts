import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Sandbox, StdioServerConfig } from '../../src/types/index.ts'
import { folder, started, textOf, until } from '../fixtures/hosts.ts'
import { withoutSandbox } from './bubblewrap.ts'

const without =
  withoutSandbox ?? (spawnSync('npx', ['--version']).status === 0 ? undefined : 'needs npx on the path')

/** A server of a revision with sessions, in plain JavaScript, as a package has it. */
const program = `#!/usr/bin/env node
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const results = {
    initialize: () => ({
      protocolVersion: params.protocolVersion,
      serverInfo: { name: 'stand-in', version: '1.0.0' },
      capabilities: { tools: {} },
    }),
    'tools/list': () => ({ tools: [{ name: 'hello', inputSchema: { type: 'object' } }] }),
    'tools/call': () => ({ content: [{ type: 'text', text: 'from the registry' }] }),
  }
  const made = results[method]
  const answer = made ? { result: made() } : { error: { code: -32601, message: 'Method not found' } }
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
})
`

interface Registry {
  /** With its port. */
  readonly place: string
  readonly asked: string[]
}

/** An npm registry with one package. */
async function registry(): Promise<Registry> {
  const at = folder()
  mkdirSync(join(at, 'package'))
  const manifest = { name: 'stand-in-server', version: '1.0.0', bin: { 'stand-in-server': 'server.js' } }
  writeFileSync(join(at, 'package', 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(at, 'package', 'server.js'), program, { mode: 0o755 })
  const packed = spawnSync('tar', ['-czf', 'package.tgz', 'package'], { cwd: at })
  if (packed.status !== 0) throw new Error(`tar failed: ${packed.stderr}`)
  const tarball = readFileSync(join(at, 'package.tgz'))
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    if (request.url === '/stand-in-server/-/stand-in-server-1.0.0.tgz') return void response.end(tarball)
    if (request.url !== '/stand-in-server') return void response.writeHead(404).end('{}')
    const dist = { tarball: `http://${place}/stand-in-server/-/stand-in-server-1.0.0.tgz`, integrity }
    const about = { name: manifest.name, 'dist-tags': { latest: '1.0.0' } }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ ...about, versions: { '1.0.0': { ...manifest, dist } } }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const place = `127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
  return { place, asked }
}

function fetched({ place }: Registry, sandbox: Sandbox): StdioServerConfig {
  const env = { npm_config_registry: `http://${place}/`, npm_config_update_notifier: 'false' }
  return { command: 'npx', args: ['-y', 'stand-in-server@1.0.0'], env, sandbox, connectTimeoutMs: 60_000 }
}

function home(): string {
  const made = realpathSync(folder())
  vi.stubEnv('HOME', made)
  onTestFinished(() => {
    vi.unstubAllEnvs()
  })
  return made
}

describe.skipIf(without !== undefined)(
  `npx in a sandbox${without === undefined ? '' : ` [left out: it ${without}]`}`,
  { timeout: 90_000 },
  () => {
    it('fetches its package through the proxy if its registry is listed, and runs it', async () => {
      home()
      const npm = await registry()
      const config = fetched(npm, { network: [npm.place] })
      const host = await started({ servers: { s: config }, defaultVerdict: 'allow' })
      expect(host.connections.get('s')).toMatchObject({ state: 'ready', sandboxed: true })
      expect(textOf(await host.call('s__hello', {}, { caller: 'cli' }))).toBe('from the registry')
      expect(npm.asked).toContain('GET /stand-in-server')
      expect(npm.asked).toContain('GET /stand-in-server/-/stand-in-server-1.0.0.tgz')
    })

    it.each([
      ['no network', []],
      ['another host', ['example.org']],
    ])(
      'that may contact %s reports the host it needs, and the file it does not read',
      async (_name, network) => {
        const own = join(home(), '.npmrc')
        writeFileSync(own, '')
        const npm = await registry()
        const host = await started({ servers: { s: fetched(npm, { network }) } })
        await until(() => host.connections.get('s')?.state === 'failed', 'it failed', 60_000)
        const state = host.connections.get('s')
        const reason = state !== undefined && 'reason' in state ? state.reason : ''
        expect(reason).toContain('npx fetches what it runs at every start')
        expect(reason).toContain(`set "network": ["${npm.place}"]`)
        expect(reason).toContain(
          `${own} is not read in the sandbox: name the registry in npm_config_registry`,
        )
        expect(npm.asked).toEqual([])
      },
    )
  },
)
