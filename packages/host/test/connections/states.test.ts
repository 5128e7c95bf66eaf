import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import type { ConnectionState, HostQuestion, ServerConfig } from '../../src/types/index.ts'
import { folder, hostOf, rough, states, until } from '../fixtures/hosts.ts'

const program = programFile(new URL('../fixtures/era-server.ts', import.meta.url))

/** A server that a file of the working folder names. */
function ofFolder(): { config: ServerConfig; started: () => boolean } {
  const here = folder()
  const log = join(here, 'messages.log')
  return {
    config: {
      command: process.execPath,
      args: [program],
      env: { MODE: '2025-11-25', LOG: log },
      from: { file: join(here, '.mcp.json'), layer: 'project' },
    },
    started: () => existsSync(log),
  }
}

describe('every state', () => {
  it('has its start time, and for failures a reason and a fix', async () => {
    const before = Date.now()
    const host = hostOf({
      servers: {
        missing: { command: 'no-such-program-anywhere' },
        refused: { url: 'http://127.0.0.1:1/mcp' },
        late: { ...rough('silent'), connectTimeoutMs: 1_200 },
        off: { command: 'x', disabled: true },
        fine: rough('fine'),
      },
    })
    await host.start()
    for (const state of host.connections.values()) {
      expect(state.sinceMs).toBeGreaterThanOrEqual(before)
      expect(state.sinceMs).toBeLessThanOrEqual(Date.now())
    }
    const of = (name: string): ConnectionState | undefined => host.connections.get(name)
    expect(of('missing')).toMatchObject({
      state: 'failed',
      fixes: [
        { action: 'configure', server: 'missing', setting: 'command' },
        { action: 'diagnose', server: 'missing' },
      ],
    })
    expect(of('refused')).toMatchObject({
      state: 'failed',
      fixes: [
        { action: 'configure', server: 'refused', setting: 'url' },
        { action: 'diagnose', server: 'refused' },
      ],
    })
    expect(of('late')).toMatchObject({
      state: 'failed',
      fixes: [{ action: 'configure', server: 'late', setting: 'connectTimeoutMs' }, { action: 'diagnose' }],
    })
    expect(of('off')).toMatchObject({ state: 'disabled', reason: expect.stringContaining('configuration') })
    expect(of('fine')).toMatchObject({ state: 'ready' })
    expect(host.events).toContainEqual(
      expect.objectContaining({
        type: 'connection',
        server: 'fine',
        state: expect.objectContaining({ state: 'connecting', reason: 'the host starts it' }),
      }),
    )
  })
})

describe('a server in a file of the folder', () => {
  it('needs approval until the user agrees, and is started then', async () => {
    const { config, started } = ofFolder()
    const asked: HostQuestion[] = []
    const surface = {
      name: 'person',
      show: {
        start: async (question: HostQuestion) => {
          asked.push(question)
          return undefined
        },
      },
    }
    const host = hostOf({ servers: { s: config }, surface })
    const starting = host.start()
    await until(() => asked.length === 1, 'the question')
    expect(host.connections.get('s')).toMatchObject({
      state: 'needs-approval',
      fixes: [{ action: 'approve', server: 's' }],
    })
    expect(started()).toBe(false)
    host.inbox.answer(asked[0]?.id ?? '', { verdict: 'allow' }, 'person')
    await starting
    expect(states(host, 's')).toEqual(['connecting', 'needs-approval', 'connecting', 'ready'])
    expect(started()).toBe(true)
  })

  it('stays unapproved if they refuse, or no user can be asked', async () => {
    const refused = ofFolder()
    const surface = { name: 'person', show: { start: async () => ({ verdict: 'deny' as const }) } }
    const host = hostOf({ servers: { s: refused.config }, surface })
    await host.start()
    expect(host.connections.get('s')).toMatchObject({
      state: 'needs-approval',
      reason: expect.stringContaining('you refused it'),
    })
    const alone = ofFolder()
    const withoutSurface = hostOf({ servers: { s: alone.config } })
    await withoutSurface.start()
    expect(withoutSurface.connections.get('s')).toMatchObject({
      state: 'needs-approval',
      error: { code: 'INVALID' },
    })
    expect([refused.started(), alone.started()]).toEqual([false, false])
  })
})
