import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import type { ConnectionState, ServerConfig } from '../../src/types/index.ts'
import { eraHttp } from '../fixtures/era-http.ts'
import { folder, hostOf, started } from '../fixtures/hosts.ts'

const program = programFile(new URL('../fixtures/era-server.ts', import.meta.url))

function overStdio(mode: string): { config: ServerConfig; messages: () => string[] } {
  const log = join(folder(), 'messages.log')
  return {
    config: { command: process.execPath, args: [program], env: { MODE: mode, LOG: log } },
    messages: () => readFileSync(log, 'utf8').trim().split('\n'),
  }
}

type Expected = Partial<ConnectionState> | { error: { code: string } }

const session = (revision: string): Expected => ({ state: 'ready', era: 'session', revision })
const failed = (code: string): Expected => ({ state: 'failed', error: { code } }) as Expected

const both: [mode: string, Expected][] = [
  ['2026-07-28', { state: 'ready', era: 'stateless', revision: '2026-07-28' }],
  ['2025-11-25', session('2025-11-25')],
  ['2025-06-18', session('2025-06-18')],
  ['2025-03-26', session('2025-03-26')],
  ['2024-11-05', session('2024-11-05')],
  ['silent-on-probe', session('2025-11-25')],
  ['invalid-params', session('2025-11-25')],
  ['exits-on-probe', session('2025-11-25')],
  ['silent', failed('TIMEOUT')],
]
const stdioOnly: [string, Expected][] = [
  ['noise', session('2025-11-25')],
  ['exits', failed('CONNECT_FAILED')],
  ['malformed', failed('TIMEOUT')],
]
const httpOnly: [string, Expected][] = [
  ['status-400', session('2025-11-25')],
  ['status-404', session('2025-11-25')],
  ['status-405', session('2025-11-25')],
  ['sse-only', session('2024-11-05')],
  ['status-401', { state: 'needs-sign-in', error: { code: 'UNAUTHORIZED' } }],
  ['malformed', failed('PROTOCOL')],
]

describe('every server is ready, or failed with a code, within 8 seconds', () => {
  it.for([
    ['stdio', [...both, ...stdioOnly]],
    ['http', [...both, ...httpOnly]],
  ] as const)('over %s', { timeout: 20_000 }, async ([transport, modes]) => {
    const servers: Record<string, ServerConfig> = {}
    for (const [mode] of modes) {
      servers[mode] = transport === 'stdio' ? overStdio(mode).config : { url: (await eraHttp(mode)).url }
    }
    const host = hostOf({ servers })
    const since = performance.now()
    await host.start()
    expect(performance.now() - since).toBeLessThan(16_000)
    for (const [mode, expected] of modes) {
      expect({ mode, ...host.connections.get(mode) }).toMatchObject({ mode, ...expected })
    }
    for (const [mode, state] of host.connections) {
      if (state.state === 'ready') expect(host.tools().map(({ server }) => server)).toContain(mode)
      else
        expect(state).toMatchObject({
          reason: expect.any(String),
          fixes: expect.arrayContaining([expect.objectContaining({ server: mode })]),
        })
    }
  })
})

describe('the era of a server', () => {
  it('is detected although its command downloads the program first, which is started once', async () => {
    const here = folder()
    const [command, started] = [join(here, 'npx'), join(here, 'started')]
    writeFileSync(command, `#!/bin/sh\necho >> '${started}'\nsleep 9\nexec "$@"\n`, { mode: 0o700 })
    const env = { MODE: '2026-07-28', LOG: join(here, 'messages.log') }
    const late = { command, args: [process.execPath, program], env }
    const host = hostOf({ servers: { late } })
    await host.start()
    expect(host.connections.get('late')).toMatchObject({ state: 'ready', era: 'stateless' })
    expect(readFileSync(started, 'utf8')).toBe('\n')
  })

  it('is detected once and remembered, until its version changes', async () => {
    const store = join(folder(), 'store.db')
    const { config, messages } = overStdio('exits-on-probe')
    for (const _ of [1, 2]) {
      const host = await started({ servers: { s: config }, store })
      expect(host.connections.get('s')).toMatchObject({ state: 'ready', era: 'session' })
      await host.close()
    }
    expect(messages().filter((line) => line.endsWith('server/discover'))).toHaveLength(1)
    expect(new Set(messages().map((line) => line.split(' ')[0])).size).toBe(3)
  })

  it('is detected again if the remembered one fails', async () => {
    const store = join(folder(), 'store.db')
    const server = await eraHttp('2025-11-25')
    const before = await started({ servers: { s: { url: server.url } }, store })
    expect(before.connections.get('s')).toMatchObject({ era: 'session' })
    await before.close()
    const modern = await eraHttp('2026-07-28')
    server.intercept = (message, response, request) => {
      if (request.method !== 'POST') return false
      fetch(modern.url, { method: 'POST', body: JSON.stringify(message) }).then(async (answer) =>
        response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text()),
      )
      return true
    }
    const after = await started({ servers: { s: { url: server.url } }, store })
    expect(after.connections.get('s')).toMatchObject({ state: 'ready', era: 'stateless' })
  })

  it('can be configured', async () => {
    const server = await eraHttp('2025-11-25')
    const host = await started({
      servers: { old: { url: server.url, era: 'legacy' }, new: { url: server.url, era: 'modern' } },
    })
    expect(host.connections.get('old')).toMatchObject({ state: 'ready', era: 'session' })
    expect(host.connections.get('new')).toMatchObject({
      state: 'failed',
      error: { code: 'VERSION_MISMATCH' },
      fixes: [{ action: 'configure', server: 'new', setting: 'era' }],
    })
    expect(server.methods.filter((method) => method === 'server/discover')).toHaveLength(1)
  })
})
