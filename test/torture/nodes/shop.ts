import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { expect, onTestFinished, vi } from 'vitest'
import { RedisServer } from '../../../packages/redis/test/support/redis-server.ts'
import { freePort } from '../../setup/ports.ts'
import { programFile } from '../../setup/program-file.ts'

const program = programFile(new URL('shop-program.ts', import.meta.url))
const watchdog = { timeout: 30_000, interval: 20 }

export const hasHaproxy: boolean = spawnSync('haproxy', ['-v']).status === 0

/** One node of a shop: a process on a port of its own, which it keeps when it is started again. */
export class ShopNode {
  readonly port: number
  readonly #input: object
  #child: ChildProcess | undefined
  /** Whether balancers send requests here. */
  isReady = false

  constructor(port: number, input: object) {
    this.port = port
    this.#input = input
    onTestFinished(() => this.stop('SIGKILL'))
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [program, JSON.stringify({ ...this.#input, port: this.port })], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#child = child
    const [printed] = await once(child.stdout, 'data')
    expect(Number(printed)).toBe(this.port)
    this.isReady = true
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child?.kill(signal)
  }

  /** Ends the process; resolves when it is gone. */
  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    // The readiness check fails at once; the balancer of these tests is informed of it as HAProxy is by its checks.
    this.isReady = false
    child.kill(signal)
    await gone
  }
}

/** Three nodes of a shop over one Redis, or over the PostgreSQL at a URL. */
export async function shop(settleMs = 0, postgres?: string): Promise<ShopNode[]> {
  const store = postgres === undefined ? { redis: (await RedisServer.start()).url } : { postgres }
  const ports = [await freePort(), await freePort(), await freePort()]
  const nodes = ports.map((port) => new ShopNode(port, { ...store, settleMs }))
  await Promise.all(nodes.map((node) => node.start()))
  return nodes
}

/** A `fetch` that gives each request to the next node that is ready, and to another one if it cannot be connected to. */
export function roundRobin(nodes: readonly ShopNode[]): typeof fetch {
  let turn = 0
  return async (input, init) => {
    for (let tries = 0; ; tries++) {
      const ready = nodes.filter(({ isReady }) => isReady)
      const node = ready[turn++ % ready.length]
      if (node === undefined) throw new TypeError('No node is ready')
      const url = new URL(input instanceof Request ? input.url : input)
      url.port = String(node.port)
      try {
        return await fetch(url, init)
      } catch (error) {
        const isRefused = JSON.stringify(Object(error).cause?.code) === '"ECONNREFUSED"'
        if (!isRefused || tries > 10) throw error
      }
    }
  }
}

/** An HAProxy that gives each request to the next node. Returns the URL of the endpoint. */
export async function haproxy(nodes: readonly ShopNode[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'jackfield-haproxy-'))
  const port = await freePort()
  const lines = [
    'defaults',
    '  mode http',
    '  timeout connect 2s',
    '  timeout client 60s',
    '  timeout server 60s',
    '  timeout check 2s',
    '  option redispatch',
    '  retries 3',
    '  retry-on conn-failure',
    'frontend entry',
    `  bind 127.0.0.1:${port}`,
    '  default_backend nodes',
    'backend nodes',
    '  balance roundrobin',
    '  option httpchk GET /healthz/ready',
    '  default-server check inter 100ms fall 1 rise 1',
    ...nodes.map((node, at) => `  server node${at} 127.0.0.1:${node.port}`),
    '',
  ]
  writeFileSync(join(folder, 'haproxy.cfg'), lines.join('\n'))
  const child = spawn('haproxy', ['-db', '-q', '-f', join(folder, 'haproxy.cfg')], { stdio: 'inherit' })
  onTestFinished(async () => {
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
    rmSync(folder, { recursive: true, force: true })
  })
  const url = `http://127.0.0.1:${port}/mcp`
  await vi.waitFor(async () => {
    expect((await fetch(`http://127.0.0.1:${port}/healthz/ready`)).status).toBe(200)
  }, watchdog)
  return url
}

/** A client of the shop. */
export interface ShopClient {
  readonly name: string
  /** The text of a call's result. Rejects as the client does. */
  call(tool: 'look' | 'buy' | 'pack', order: string): Promise<string>
  close(): Promise<void>
}

const capabilities = { elicitation: { form: {} } }
const accepted = { action: 'accept' as const, content: { ok: true } }
const textIn = (result: unknown): string => String(Object(result).content?.[0]?.text)
const timeout = 60_000

/** Clients of both official versions. */
export async function clients(
  url: string,
  count: number,
  fetch?: typeof globalThis.fetch,
): Promise<ShopClient[]> {
  const options = fetch === undefined ? {} : { fetch }
  const made: ShopClient[] = []
  for (let nth = 0; nth < count; nth++) {
    if (nth % 2 === 0) {
      const client = new ClientV1({ name: 'v1', version: '1' }, { capabilities })
      client.setRequestHandler(ElicitRequestSchema, () => accepted)
      await client.connect(new TransportV1(new URL(url), options))
      made.push({
        name: `v1 #${nth}`,
        call: async (name, order) =>
          textIn(
            await client.callTool({ name, arguments: { order } }, undefined, {
              timeout,
              onprogress: () => {},
            }),
          ),
        close: () => client.close(),
      })
    } else {
      const client = new ClientV2(
        { name: 'v2', version: '2' },
        { capabilities, versionNegotiation: { mode: 'legacy' } },
      )
      client.setRequestHandler('elicitation/create', () => accepted)
      await client.connect(new TransportV2(new URL(url), options))
      made.push({
        name: `v2 #${nth}`,
        call: async (name, order) =>
          textIn(await client.callTool({ name, arguments: { order } }, { timeout, onprogress: () => {} })),
        close: () => client.close(),
      })
    }
  }
  onTestFinished(async () => {
    await Promise.all(made.map((one) => one.close().catch(() => {})))
  })
  return made
}

/** The result that a call must have. */
const expected = { look: 'seen', buy: 'accept', pack: 'packed' } as const

/** Makes calls, half of which ask, and returns those that failed. */
export async function calls(all: readonly ShopClient[], count: number): Promise<string[]> {
  const failed: string[] = []
  let next = 0
  const work = async (client: ShopClient): Promise<void> => {
    while (next < count) {
      const nth = next++
      const tool = nth % 2 === 0 ? 'buy' : nth % 4 === 1 ? 'look' : 'pack'
      const order = `order ${nth}`
      const result = await client.call(tool, order).catch((error: unknown) => String(error))
      if (result !== `${expected[tool]} ${order}`) failed.push(`${client.name}, ${tool} ${order}: ${result}`)
    }
  }
  await Promise.all(all.map(work))
  return failed
}
