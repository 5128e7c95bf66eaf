import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from 'vitest'
import { programFile } from '../setup/program-file.ts'

const info = { name: 'weight', version: '1.0.0' }
const calls = 1000
const fewBytes = 300

type Era = 'modern' | 'session'
type Asked = 'echo' | 'prompt' | 'resource'
type Say = (message: object) => Promise<unknown>

let child: ChildProcess | undefined
afterEach(() => child?.kill())

const program = (name: string): string => programFile(new URL(`programs/${name}.ts`, import.meta.url))

async function start(
  name: string,
  args: string[],
): Promise<{ process: ChildProcess; firstMessage: unknown }> {
  const process = fork(program(name), args, { stdio: ['pipe', 'pipe', 'inherit', 'ipc'] })
  child = process
  return { process, firstMessage: await received(process) }
}

/** The next message of a child; rejects if it ends first. */
async function received(process: ChildProcess): Promise<unknown> {
  const ended = once(process, 'exit').then(([code]) => {
    throw new Error(`The program ended with ${code}`)
  })
  const [message] = await Promise.race([once(process, 'message'), ended])
  return message
}

function overHttp(url: string): Say {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  let session: string | undefined
  return (message) =>
    new Promise((resolve, reject) => {
      const { method, params } = Object(message)
      const name = params?.name ?? params?.uri
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(params?._meta === undefined
          ? {}
          : { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': name }),
        ...(session === undefined ? {} : { 'mcp-session-id': session }),
      }
      const sent = request(url, { method: 'POST', agent, headers }, async (response) => {
        const id = response.headers['mcp-session-id']
        if (typeof id === 'string') session = id
        const body = await text(response)
        if (response.statusCode === 202) resolve(undefined)
        else if (response.statusCode === 200) resolve(JSON.parse(body))
        else reject(new Error(`status ${response.statusCode}: ${body}`))
      })
      sent.on('error', reject)
      sent.end(JSON.stringify(message))
    })
}

function onPipes({ stdin, stdout }: ChildProcess): Say {
  if (stdin === null || stdout === null) throw new Error('the child has no pipes')
  const waiting = new Map<unknown, (answer: unknown) => void>()
  createInterface({ input: stdout }).on('line', (line) => {
    const answer = JSON.parse(line)
    waiting.get(answer.id)?.(answer)
    waiting.delete(answer.id)
  })
  return (message) => {
    stdin.write(`${JSON.stringify(message)}\n`)
    if (!('id' in message)) return Promise.resolve(undefined)
    return new Promise((resolve) => waiting.set(message.id, resolve))
  }
}

const requests: Readonly<Record<Asked, { method: string; params: object }>> = {
  echo: { method: 'tools/call', params: { name: 'echo', arguments: { text: 'again' } } },
  prompt: { method: 'prompts/get', params: { name: 'greet', arguments: { who: 'Ada' } } },
  resource: { method: 'resources/read', params: { uri: 'note://one' } },
}
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': info,
  'io.modelcontextprotocol/clientCapabilities': {},
}

function asking(say: Say, era: Era, asked: Asked): () => Promise<void> {
  const { method, params } = requests[asked]
  const whole = { ...params, ...(era === 'modern' ? { _meta: meta } : {}) }
  let id = 0
  return async () => {
    const answer = Object(await say({ jsonrpc: '2.0', id: ++id, method, params: whole }))
    if (answer.result === undefined || answer.result.isError) throw new Error(JSON.stringify(answer))
  }
}

async function inUse(process: ChildProcess, which: 'old' | 'young'): Promise<number> {
  process.send(which)
  return Number(await received(process))
}

/** Bytes for each call that collections of young objects leave behind, though nothing of it is needed any more. */
async function left(process: ChildProcess, often: (calls: number) => Promise<void>): Promise<number> {
  await often(calls)
  await inUse(process, 'old')
  // What a program loads and learns with its first calls is not counted.
  await often(calls)
  const before = await inUse(process, 'young')
  await often(calls)
  return ((await inUse(process, 'young')) - before) / calls
}

describe('an answered request', { timeout: 120_000 }, () => {
  it.each([
    ['http', 'modern', 'echo'],
    ['http', 'session', 'echo'],
    ['stdio', 'modern', 'echo'],
    ['stdio', 'session', 'echo'],
    ['stdio', 'modern', 'prompt'],
    ['stdio', 'modern', 'resource'],
  ] as const)(
    'is freed by the next collection of young objects: %s, %s, %s',
    async (transport, era, asked) => {
      const { process, firstMessage } = await start('young', [transport])
      const say = transport === 'http' ? overHttp(String(firstMessage)) : onPipes(process)
      if (era === 'session') {
        const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: info }
        await say({ jsonrpc: '2.0', id: 'first', method: 'initialize', params })
        await say({ jsonrpc: '2.0', method: 'notifications/initialized' })
      }
      const once = asking(say, era, asked)
      const bytes = await left(process, async (calls) => {
        for (let call = 0; call < calls; call++) await once()
      })
      expect(bytes).toBeLessThan(fewBytes)
    },
  )
})

describe('a response that was read', { timeout: 120_000 }, () => {
  it.each([
    ['2026-07-28', 'echo'],
    ['2025-11-25', 'echo'],
    ['2026-07-28', 'resource'],
  ] as const)(
    'is freed in a client by the next collection of young objects: %s, %s',
    async (revision, asked) => {
      const { process } = await start('young-client', [revision, asked, program('young')])
      const bytes = await left(process, async (calls) => {
        process.send(calls)
        await received(process)
      })
      expect(bytes).toBeLessThan(fewBytes)
    },
  )
})
