import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'

const program = fileURLToPath(new URL('programs/young.ts', import.meta.url))
const info = { name: 'weight', version: '1.0.0' }
const calls = 1500

type Era = 'modern' | 'session'
type Say = (message: object) => Promise<Record<string, string | string[] | undefined>>

let child: ChildProcess | undefined
afterEach(() => child?.kill())

async function start(transport: 'http' | 'stdio'): Promise<{ process: ChildProcess; say: Say }> {
  const started = fork(program, [transport], { stdio: ['pipe', 'pipe', 'inherit', 'ipc'] })
  child = started
  const [url] = await once(started, 'message')
  return { process: started, say: transport === 'http' ? overHttp(String(url)) : onPipes(started) }
}

function overHttp(url: string): Say {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  let session: string | undefined
  return (message) =>
    new Promise((resolve, reject) => {
      const isModern = JSON.stringify(message).includes('_meta')
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(isModern
          ? { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' }
          : {}),
        ...(session === undefined ? {} : { 'mcp-session-id': session }),
      }
      const sent = request(url, { method: 'POST', agent, headers }, (response) => {
        const id = response.headers['mcp-session-id']
        if (typeof id === 'string') session = id
        response.resume().on('end', () => {
          if (response.statusCode === 200 || response.statusCode === 202) resolve(response.headers)
          else reject(new Error(`status ${response.statusCode}`))
        })
      })
      sent.on('error', reject)
      sent.end(JSON.stringify(message))
    })
}

function onPipes({ stdin, stdout }: ChildProcess): Say {
  if (stdin === null || stdout === null) throw new Error('the child has no pipes')
  const waiting: (() => void)[] = []
  createInterface({ input: stdout }).on('line', () => waiting.shift()?.())
  return (message) => {
    stdin.write(`${JSON.stringify(message)}\n`)
    if (!('id' in message)) return Promise.resolve({})
    return new Promise((resolve) => waiting.push(() => resolve({})))
  }
}

async function inUse(server: ChildProcess, which: 'old' | 'young'): Promise<number> {
  server.send(which)
  const [bytes] = await once(server, 'message')
  return Number(bytes)
}

/** Bytes for each call that collections of young objects leave behind, though nothing of it is needed any more. */
async function left(transport: 'http' | 'stdio', era: Era): Promise<number> {
  const { process, say } = await start(transport)
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': info,
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  if (era === 'session') {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: info }
    await say({ jsonrpc: '2.0', id: 'first', method: 'initialize', params })
    await say({ jsonrpc: '2.0', method: 'notifications/initialized' })
  }
  const call = async (id: number): Promise<void> => {
    const params = {
      name: 'echo',
      arguments: { text: 'again' },
      ...(era === 'modern' ? { _meta: meta } : {}),
    }
    await say({ jsonrpc: '2.0', id, method: 'tools/call', params })
  }
  let id = 0
  const callOften = async (): Promise<void> => {
    for (const last = id + calls; id < last; ) await call(++id)
  }
  await callOften()
  await inUse(process, 'old')
  // What a program loads and learns with its first calls is not counted.
  await callOften()
  const before = await inUse(process, 'young')
  await callOften()
  return ((await inUse(process, 'young')) - before) / calls
}

describe('an answered request', () => {
  it.each([
    ['http', 'modern'],
    ['http', 'session'],
    ['stdio', 'modern'],
    ['stdio', 'session'],
  ] as const)('is gone with the next collection of young objects: %s, %s', async (transport, era) => {
    expect(await left(transport, era)).toBeLessThan(300)
  })
})
