import { type Client, connect, http } from '@jackfield/sdk/client'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { during } from './during.ts'

/** A server whose sessions are lost while `loses` is true. */
interface Forgetful {
  readonly client: Client
  loses: boolean
  /** Milliseconds after which a request gets the error for its lost session. */
  lateMs: number
  begun: number
  /** Whether a session can be begun. */
  open: boolean
}

async function forgetful(): Promise<Forgetful> {
  const server = { loses: false, lateMs: 0, begun: 0, open: true }
  const send = async (_: URL, { method: verb, body, headers }: RequestInit): Promise<Response> => {
    const resumes = new Headers(headers).has('last-event-id')
    if (verb !== 'POST') return new Response(null, { status: resumes ? 404 : verb === 'GET' ? 405 : 200 })
    const { id, method } = JSON.parse(String(body))
    if (method === 'initialize') {
      if (!server.open) return new Response('closed for now', { status: 500 })
      server.begun++
      const capabilities = { tools: {} }
      const serverInfo = { name: 'hand', version: '1' }
      const result = { protocolVersion: '2025-11-25', capabilities, serverInfo }
      return Response.json(
        { jsonrpc: '2.0', id, result },
        { headers: { 'mcp-session-id': `s${server.begun}` } },
      )
    }
    if (id === undefined) return new Response(null, { status: 202 })
    if (method === 'tools/call') {
      return new Response('id: 1\nretry: 0\ndata:\n\n', { headers: { 'content-type': 'text/event-stream' } })
    }
    if (!server.loses) return Response.json({ jsonrpc: '2.0', id, result: { tools: [] } })
    await new Promise((resolve) => setTimeout(resolve, server.lateMs))
    return new Response(null, { status: 404 })
  }
  const client = await connect(http('http://127.0.0.1/mcp', { fetch: send }), { revisions: ['2025-11-25'] })
  onTestFinished(() => client.close())
  return Object.assign(server, { client })
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  return () => vi.useRealTimers()
})

describe('a server that loses each session at once', () => {
  it('fails the call after three, with the likely cause and advice', async () => {
    const server = await forgetful()
    server.loses = true
    await expect(during(server.client.tools())).rejects.toMatchObject({
      code: 'CONNECTION_CLOSED',
      message: expect.stringMatching(/within a minute.*to the node that started it.*try again in a minute/),
    })
    expect(server.begun).toBe(3)
  })

  it('gets at most twelve new sessions a minute, for any number of calls', async () => {
    const server = await forgetful()
    server.loses = true
    for (let call = 0; call < 40; call++) {
      await expect(during(server.client.tools())).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
    }
    expect(server.begun).toBeGreaterThan(6)
    expect(server.begun).toBeLessThanOrEqual(12)
  })

  it('works again as soon as it keeps its sessions, however often it lost them before', async () => {
    const server = await forgetful()
    for (let outage = 0; outage < 50; outage++) {
      server.loses = true
      await expect(during(server.client.tools())).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
      server.loses = false
      await vi.advanceTimersByTimeAsync(60_000)
      await expect(during(server.client.tools())).resolves.toEqual([])
    }
  })
})

it('a call survives any number of sessions lost more than a minute apart', async () => {
  const server = await forgetful()
  server.loses = true
  server.lateMs = 40_000
  const list = server.client.tools({ timeoutMs: 1_000_000 })
  list.catch(() => {})
  await vi.advanceTimersByTimeAsync(270_000)
  server.loses = false
  server.lateMs = 0
  await expect(during(list)).resolves.toEqual([])
  expect(server.begun).toBeGreaterThanOrEqual(7)
})

it('a running call whose session is lost has an unknown outcome, even if no new session can be opened', async () => {
  const server = await forgetful()
  server.open = false
  await expect(during(server.client.call('pay'))).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
})
