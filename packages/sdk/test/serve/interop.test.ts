import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
} from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, it } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import { nodeAdapter } from './http-support.ts'
import { ask, echo, settle, type Tool, testServer, until } from './support.ts'

const program = programFile(new URL('./stdio-program.ts', import.meta.url))
const command = { command: process.execPath, args: ['--no-warnings', program] }
const reports = {
  ...command,
  args: ['--no-warnings', programFile(new URL('./progress-program.ts', import.meta.url))],
}
const info = { name: 'official', version: '1.0.0' }
const capabilities = { elicitation: {} }
const answer = { action: 'accept' as const, content: { name: 'Ada' } }
const progress: Tool = async (_args, { notify, params }) => {
  const { progressToken } = params['_meta'] as { progressToken: number }
  for (const step of [1, 2, 3]) {
    notify({ method: 'notifications/progress', params: { progressToken, progress: step } })
    await settle(1)
  }
  return 'done'
}
const polled: Tool = async (_args, exchange) => {
  exchange.detach?.()
  await settle(50)
  return 'later'
}

/** Whether a client is given progress that was reported right before the result. A slow machine may deliver both at once. */
async function seesLastProgress(
  call: (onprogress: (report: { progress: number }) => void) => Promise<unknown>,
) {
  for (let tries = 0; tries < 50; tries++) {
    const steps: number[] = []
    await call(({ progress }) => steps.push(progress))
    if (steps.join() === '1,2') return true
  }
  return false
}

describe('a client of the older official SDK', () => {
  const connect = async (transport: LegacyHttp | LegacyStdio): Promise<LegacyClient> => {
    const client = new LegacyClient(info, { capabilities })
    client.setRequestHandler(ElicitRequestSchema, () => answer)
    await client.connect(transport as Parameters<typeof client.connect>[0])
    return client
  }

  it('works over HTTP: calls, input requests, progress, changes, a released stream, the end', async () => {
    const server = testServer({ echo, ask, progress, polled })
    const mounted = await nodeAdapter(server)
    const transport = new LegacyHttp(new URL(mounted.url))
    const client = await connect(transport)
    const changes: unknown[] = []
    client.setNotificationHandler(ToolListChangedNotificationSchema, (notice) => {
      changes.push(notice.method)
    })
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      'echo',
      'ask',
      'progress',
      'polled',
    ])
    expect(await client.callTool({ name: 'ask' })).toMatchObject({ content: [{ text: 'Hello, Ada' }] })
    const steps: number[] = []
    await client.callTool({ name: 'progress' }, undefined, {
      onprogress: ({ progress }) => steps.push(progress),
    })
    expect(steps).toEqual([1, 2, 3])
    expect(await client.callTool({ name: 'polled' })).toMatchObject({ content: [{ text: 'later' }] })
    server.changes.publish({ type: 'tools' })
    await until(() => changes.length === 1)
    await expect(client.callTool({ name: 'nope' })).rejects.toMatchObject({ code: -32602 })
    await transport.terminateSession()
    await client.close()
    await mounted.close()
    expect(server.reports).toEqual([])
  })

  it('works over stdio', async () => {
    const client = await connect(new LegacyStdio(command))
    expect(await client.callTool({ name: 'ask' })).toMatchObject({ content: [{ text: 'Hello, Ada' }] })
    await client.ping()
    await client.close()
  })

  it('gets progress reported right before the result, over stdio', async () => {
    const client = await connect(new LegacyStdio(reports))
    const seen = seesLastProgress((onprogress) =>
      client.callTool({ name: 'report' }, undefined, { onprogress }),
    )
    expect(await seen).toBe(true)
    await client.close()
  })
})

describe('a client of the newer official SDK', () => {
  const connect = async (transport: ModernHttp | ModernStdio): Promise<ModernClient> => {
    const client = new ModernClient(info, { capabilities, versionNegotiation: { mode: 'auto' } })
    client.setRequestHandler('elicitation/create', () => answer)
    await client.connect(transport as Parameters<typeof client.connect>[0])
    return client
  }

  it('works over HTTP in the stateless era: calls, input requests, progress, subscriptions', async () => {
    const server = testServer({ echo, ask, progress })
    const mounted = await nodeAdapter(server)
    const client = await connect(new ModernHttp(new URL(mounted.url)))
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28')
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['echo', 'ask', 'progress'])
    expect(await client.callTool({ name: 'ask' })).toMatchObject({ content: [{ text: 'Hello, Ada' }] })
    const steps: number[] = []
    await client.callTool({ name: 'progress' }, { onprogress: ({ progress }) => steps.push(progress) })
    expect(steps).toEqual([1, 2, 3])
    const changes: unknown[] = []
    client.setNotificationHandler('notifications/tools/list_changed', (notice) => {
      changes.push(notice.method)
    })
    const subscription = await client.listen({ toolsListChanged: true })
    server.changes.publish({ type: 'tools' })
    await until(() => changes.length === 1)
    await subscription.close()
    await client.close()
    await mounted.close()
    expect(server.reports).toEqual([])
  })

  it('works over stdio', async () => {
    const client = await connect(new ModernStdio(command))
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28')
    expect(await client.callTool({ name: 'ask' })).toMatchObject({ content: [{ text: 'Hello, Ada' }] })
    await client.close()
  })

  it('gets progress reported right before the result, over stdio', async () => {
    const client = await connect(new ModernStdio(reports))
    const seen = seesLastProgress((onprogress) => client.callTool({ name: 'report' }, { onprogress }))
    expect(await seen).toBe(true)
    await client.close()
  })
})
