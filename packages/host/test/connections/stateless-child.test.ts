import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ServerConfig } from '../../src/types/index.ts'
import { folder, started, textOf, until } from '../fixtures/hosts.ts'

const program = `
  import { appendFileSync } from 'node:fs'
  import { createInterface } from 'node:readline'
  const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    appendFileSync(process.env.LOG, process.pid + ' ' + method + '\\n')
    const reply = (result) => send({ id, result: { resultType: 'complete', ...result } })
    if (method === 'server/discover') {
      reply({ supportedVersions: ['2026-07-28'], capabilities: { tools: { listChanged: true } }, ttlMs: 0, cacheScope: 'private' })
    } else if (method === 'subscriptions/listen') {
      const _meta = { 'io.modelcontextprotocol/subscriptionId': id }
      send({ method: 'notifications/subscriptions/acknowledged', params: { notifications: params.notifications, _meta } })
    } else if (method === 'tools/list') {
      const tool = { name: 'pid', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }
      reply({ tools: [tool], ttlMs: 0, cacheScope: 'private' })
    } else if (method === 'tools/call') reply({ content: [{ type: 'text', text: String(process.pid) }] })
  })`

function stateless(): { config: ServerConfig; messages: () => string[] } {
  const log = join(folder(), 'messages.log')
  return {
    config: {
      command: process.execPath,
      args: ['--input-type=module', '-e', program],
      env: { LOG: log },
    },
    messages: () => readFileSync(log, 'utf8').trim().split('\n'),
  }
}

const allow = [{ id: 'all', verdict: 'allow' as const }]

describe('a stateless server in a child process', () => {
  it('is subscribed to again by every replacement process', async () => {
    const { config, messages } = stateless()
    const host = await started({ servers: { s: config }, rules: allow })
    const listens = () => messages().filter((line) => line.endsWith(' subscriptions/listen'))
    await until(() => listens().length === 1, 'listening')
    process.kill(Number(textOf(await host.call('s__pid', {}, { caller: 'cli' }))), 'SIGKILL')
    await until(() => listens().length === 2, 'listening again')
    expect(new Set(listens()).size).toBe(2)
  })

  it('serves every conversation with one process', async () => {
    const { config, messages } = stateless()
    const host = await started({ servers: { s: config }, rules: allow })
    const turns = ['first', 'second'].map((summary) =>
      host.record({
        kind: 'model',
        server: null,
        summary,
        outcome: 'ok',
        durationMs: 1,
        cause: null,
        detail: {},
      }),
    )
    const pids = await Promise.all(
      turns.map(async (cause) => textOf(await host.call('s__pid', {}, { caller: 'chat', cause }))),
    )
    expect(new Set(pids).size).toBe(1)
    expect(messages().filter((line) => line.endsWith(' server/discover'))).toHaveLength(1)
  })

  it('is asked about although its tool claims to be read-only', async () => {
    const asked: unknown[] = []
    const { config } = stateless()
    const host = await started({
      servers: { s: config },
      surface: {
        name: 'person',
        show: {
          approval: async ({ cause }) => {
            asked.push(cause.tool)
            return { verdict: 'deny' }
          },
        },
      },
    })
    expect(await host.call('s__pid', {}, { caller: 'chat' })).toMatchObject({ denied: true })
    expect(asked).toEqual(['pid'])
  })
})
