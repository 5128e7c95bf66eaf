import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { defineServer } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'

const program = programFile(new URL('workers-program.ts', import.meta.url))

interface Started {
  primary: ChildProcess
  port: number
  workers: number[]
  failure?: string
  stderr(): string
}

async function start(fault = '', port = 0): Promise<Started> {
  const primary = fork(program, [fault, String(port)], {
    execArgv: ['--no-warnings'],
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  })
  let stderr = ''
  primary.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    stderr += chunk
  })
  onTestFinished(async () => {
    if (primary.exitCode !== null || primary.signalCode !== null) return
    const gone = once(primary, 'exit')
    primary.kill('SIGKILL')
    await gone
  })
  const [started] = await once(primary, 'message')
  return { primary, stderr: () => stderr, ...started }
}

/** A POST on a connection of its own, so that the workers take turns. */
async function open(port: number, body: object, headers: Record<string, string>): Promise<IncomingMessage> {
  const sent = request({
    ...{ port, host: '127.0.0.1', path: '/mcp', method: 'POST', agent: false },
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...headers,
    },
  }).end(JSON.stringify({ jsonrpc: '2.0', ...body }))
  const [response] = await once(sent, 'response')
  return response
}

interface Answer {
  status: number | undefined
  session: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: an answer of any shape
  result: any
  error: { message: string } | undefined
}

async function post(port: number, body: object, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await open(port, body, headers)
  const content = await text(response)
  const last = content.split('\n').findLast((line) => line.startsWith('data: {') || line.startsWith('{'))
  const { result, error } = JSON.parse(last?.replace('data: ', '') ?? '{}')
  const session = response.headers['mcp-session-id']
  return { status: response.statusCode, session: session?.toString(), result, error }
}

/** A request of 2026-07-28. */
function call(port: number, name: string, more: object = {}): Promise<Answer> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
  }
  const headers = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': name }
  return post(port, { id: 1, method: 'tools/call', params: { name, arguments: {}, ...more, _meta } }, headers)
}

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

async function initialize(port: number): Promise<Record<string, string>> {
  const clientInfo = { name: 'test', version: '1.0.0' }
  const params = { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo }
  const { session = '' } = await post(port, { id: 0, method: 'initialize', params })
  const headers = { 'Mcp-Session-Id': session, 'MCP-Protocol-Version': '2025-11-25' }
  await post(port, { method: 'notifications/initialized' }, headers)
  return headers
}

const callOf = (id: number, name: string) => ({ id, method: 'tools/call', params: { name, arguments: {} } })

describe('a server with workers', () => {
  it('serves one port from every worker, and nothing from the process that was started', async () => {
    const { port, workers, primary } = await start()
    const seen = new Set<string>()
    for (let n = 0; n < 10; n++) seen.add((await call(port, 'process')).result.content[0].text)
    expect([...seen].sort()).toEqual(workers.map(String).sort())
    expect(seen).not.toContain(String(primary.pid))
  })

  it('continues a request of 2026-07-28 in any worker, once', async () => {
    const { port, workers } = await start()
    const served = new Set<string>()
    for (let n = 0; n < 8; n++) {
      const { requestState, inputRequests } = (await call(port, 'ask')).result
      const [key = ''] = Object.keys(inputRequests)
      const inputResponses = { [key]: { action: 'accept', content: { which: `number ${n}` } } }
      const { result } = await call(port, 'ask', { requestState, inputResponses })
      const [, which, pid = ''] = /^(.*) in (\d+)$/.exec(result.content[0].text) ?? []
      expect(which).toBe(`number ${n}`)
      served.add(pid)
      // A second use is refused by the worker whose turn it is, which is the other one.
      const { result: second } = await call(port, 'ask', { requestState, inputResponses })
      expect(second?.content).toBeUndefined()
    }
    expect(served.size).toBe(workers.length)
  })

  it('serves a session in any worker, also after the worker that began it was killed', async () => {
    const { port, workers, stderr } = await start()
    const headers = await initialize(port)
    const seen = new Set<string>()
    for (let n = 1; n < 9; n++) {
      seen.add((await post(port, callOf(n, 'process'), headers)).result.content[0].text)
    }
    expect(seen.size).toBe(workers.length)
    for (const pid of workers) {
      process.kill(pid, 'SIGKILL')
      await vi.waitFor(() => expect(stderr()).toContain(`Worker process ${pid} ended with SIGKILL`), 20_000)
      await vi.waitFor(
        async () => {
          const answer = await post(port, callOf(9, 'process'), headers)
          expect(answer.result.content[0].text).toMatch(/^\d+$/)
        },
        { timeout: 20_000 },
      )
    }
  })

  it('accepts the answer to a question in any worker', async () => {
    const { port } = await start()
    const headers = await initialize(port)
    for (let n = 1; n < 5; n++) {
      const stream = await open(port, callOf(n, 'ask'), headers)
      let events = ''
      let answered = false
      for await (const chunk of stream.setEncoding('utf8')) {
        events += chunk
        const id =
          /"id":("[^"]+"|\d+),"method":"elicitation\/create"|"method":"elicitation\/create".*?"id":("[^"]+"|\d+)/.exec(
            events,
          )
        if (id === null || answered) continue
        answered = true
        const result = { action: 'accept', content: { which: `answer ${n}` } }
        const { status } = await post(port, { id: JSON.parse(id[1] ?? id[2] ?? ''), result }, headers)
        expect(status).toBe(202)
      }
      expect(events).toContain(`answer ${n} in`)
    }
  })

  it('ends all workers when it is closed, and when it is killed', async () => {
    const closed = await start()
    const exit = once(closed.primary, 'exit')
    closed.primary.kill('SIGTERM')
    expect(await exit).toEqual([0, null])
    expect(closed.workers.filter(isRunning)).toEqual([])
    expect(closed.stderr()).toBe('')

    const killed = await start()
    killed.primary.kill('SIGKILL')
    await vi.waitFor(() => expect(killed.workers.filter(isRunning)).toEqual([]), 20_000)
  })

  it('reports why it cannot listen, and leaves no worker running', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    onTestFinished(() => void taken.close())
    const address = taken.address()
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0
    const inUse = await start('', port)
    expect(inUse).toMatchObject({ failure: expect.stringContaining(`port ${port}: `), workers: [] })
    expect(inUse.failure).toContain('EADDRINUSE')

    const early = await start('ends early')
    expect(early.failure).toMatch(/Worker process \d+ ended with exit code 7 before it listened/)
    expect(early.workers).toEqual([])
  })

  it.each([0, 1.5, -1, 1025, 'all', '2'])('refuses %j workers', async (workers) => {
    const handler = serveHttp(defineServer({ name: 'none', version: '1.0.0' }))
    const options: object = { workers }
    await expect(handler.listen(options)).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining("'auto' or a whole number from 1 to 1024"),
    })
  })

  it("refuses sessions: 'local'", async () => {
    const handler = serveHttp(defineServer({ name: 'none', version: '1.0.0' }), { sessions: 'local' })
    await expect(handler.listen({ workers: 2 })).rejects.toMatchObject({ code: 'INVALID' })
  })
})
