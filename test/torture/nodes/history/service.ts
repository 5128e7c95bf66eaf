import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished, vi } from 'vitest'
import type { PostgresServer } from '../../../../packages/postgres/test/support/postgres-server.ts'
import { forgetsNothing, RedisServer } from '../../../../packages/redis/test/support/redis-server.ts'
import { freePort } from '../../../setup/ports.ts'
import { programFile } from '../../../setup/program-file.ts'
import type { Mistake } from './mistakes.ts'
import type { NodeInput } from './node-program.ts'
import { type FaultRecord, type NodeRecord, now, type StoredKey } from './records.ts'

const program = programFile(new URL('node-program.ts', import.meta.url))
const watchdog = { timeout: 30_000, interval: 20 }

export const hasHaproxy: boolean = spawnSync('haproxy', ['-v']).status === 0

/** Where the nodes connect to Redis: connections are passed on to the Redis that is the primary now. */
class RedisGate {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  target: RedisServer
  port = 0

  private constructor(target: RedisServer) {
    this.target = target
    this.#server = createServer((client) => {
      const redis = connect(this.target.port, '127.0.0.1')
      for (const [from, to] of [
        [client, redis],
        [redis, client],
      ] as const) {
        this.#sockets.add(from)
        from.setNoDelay(true)
        from.pipe(to)
        from.on('error', () => to.destroy())
        from.on('close', () => {
          this.#sockets.delete(from)
          to.destroy()
        })
      }
    })
  }

  static async open(): Promise<RedisGate> {
    const gate = new RedisGate(await RedisServer.start(...forgetsNothing))
    gate.#server.listen(0, '127.0.0.1')
    await once(gate.#server, 'listening')
    const address = gate.#server.address()
    gate.port = typeof address === 'object' && address !== null ? address.port : 0
    return gate
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  close(): void {
    this.#server.close()
    this.cut()
  }
}

let started = 0

/** One node: a process on a port of its own, which it keeps when it is started again. */
class ServiceNode {
  readonly port: number
  readonly #input: Omit<NodeInput, 'port' | 'node'>
  #child: ChildProcess | undefined
  #lines: AsyncIterator<string> | undefined
  /** Whether balancers send requests here. */
  isReady = false

  constructor(port: number, input: Omit<NodeInput, 'port' | 'node'>) {
    this.port = port
    this.#input = input
  }

  /** Starts the process, again where it ends at once: it does where Redis is away. */
  async start(): Promise<void> {
    for (let tries = 0; !this.isReady; tries++) {
      if (tries === 20) throw new Error('A node did not start')
      await this.#start()
    }
  }

  async #start(): Promise<void> {
    const input: NodeInput = { ...this.#input, port: this.port, node: ++started }
    const child = spawn(process.execPath, [program, JSON.stringify(input)], {
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    this.#child = child
    this.#lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    const { value } = await this.#lines.next()
    this.isReady = Number(value) === this.port
  }

  async make(mistake: Mistake | undefined): Promise<void> {
    this.#child?.stdin?.write(`${JSON.stringify({ mistake: mistake ?? null })}\n`)
    await this.#lines?.next()
  }

  pause(): void {
    this.isReady = false
    this.#child?.kill('SIGSTOP')
  }

  resume(): void {
    this.#child?.kill('SIGCONT')
    this.isReady = true
  }

  /** Ends the process; resolves when it is gone. */
  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    this.isReady = false
    child.kill(signal)
    await gone
  }
}

export interface ServiceOptions {
  /** Whether requests go through HAProxy, where it is installed. */
  readonly haproxy: boolean
  /** Milliseconds that keys of sessions and events live. */
  readonly lifeMs: number
  /** A PostgreSQL that the nodes share in place of a Redis. */
  readonly postgres?: PostgresServer
}

/** Three nodes over one Redis with a replica, or one PostgreSQL, behind a balancer, and a ledger of what their handlers did. */
export class Service {
  readonly nodes: readonly ServiceNode[]
  readonly faults: FaultRecord[] = []
  readonly url: string
  readonly #redis: RedisGate | undefined
  readonly #postgres: PostgresServer | undefined
  readonly #ledger: string
  /** Milliseconds after which the balancer sends a request without a response again, which no balancer must do. */
  repeatsAfterMs: number | undefined
  #replica: RedisServer | undefined
  #turn = 0
  readonly #isBehindHaproxy: boolean

  private constructor(
    nodes: readonly ServiceNode[],
    gate: RedisGate | undefined,
    postgres: PostgresServer | undefined,
    ledger: string,
    url: string | undefined,
  ) {
    this.nodes = nodes
    this.#redis = gate
    this.#postgres = postgres
    this.#ledger = ledger
    this.url = url ?? `http://127.0.0.1:${nodes[0]?.port}/mcp`
    this.#isBehindHaproxy = url !== undefined
  }

  static async start({ haproxy, lifeMs, postgres }: ServiceOptions): Promise<Service> {
    const folder = mkdtempSync(join(tmpdir(), 'jackfield-history-'))
    const gate = postgres === undefined ? await RedisGate.open() : undefined
    const ledger = join(folder, 'ledger')
    writeFileSync(ledger, '')
    const behind = haproxy && hasHaproxy
    const input = {
      store: gate === undefined ? String(postgres?.url()) : `redis://127.0.0.1:${gate.port}`,
      settleMs: behind ? 1_500 : 0,
      ledger,
      lifeMs,
    }
    const ports = [await freePort(), await freePort(), await freePort()]
    const nodes = ports.map((port) => new ServiceNode(port, input))
    onTestFinished(async () => {
      await Promise.all(nodes.map((node) => node.stop('SIGKILL')))
      gate?.close()
      rmSync(folder, { recursive: true, force: true })
    })
    await Promise.all(nodes.map((node) => node.start()))
    const url = behind ? await balance(ports, folder) : undefined
    return new Service(nodes, gate, postgres, ledger, url)
  }

  /** A `fetch` through the balancer; without HAProxy, to the next node, and to another one if it cannot be connected to. */
  readonly fetch: typeof fetch = async (input, init) => {
    if (this.#isBehindHaproxy) return fetch(input, init)
    for (let tries = 0; ; tries++) {
      const ready = this.nodes.filter(({ isReady }) => isReady)
      const node = ready[this.#turn++ % ready.length]
      if (node === undefined) throw new TypeError('No node is ready')
      const url = new URL(input instanceof Request ? input.url : input)
      url.port = String(node.port)
      try {
        if (this.repeatsAfterMs === undefined) return await fetch(url, init)
        const first = fetch(url, init)
        const again = wait(this.repeatsAfterMs).then(() => fetch(url, init))
        again.catch(() => {})
        return await Promise.race([first, again])
      } catch (error) {
        const isRefused = Object(Object(error).cause).code === 'ECONNREFUSED'
        if (!isRefused || tries > 10) throw error
      }
    }
  }

  /** Where the nodes connect to Redis. */
  #gate(): RedisGate {
    if (this.#redis === undefined) throw new Error('These nodes have no Redis')
    return this.#redis
  }

  async make(mistake: Mistake | undefined): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.make(mistake)))
  }

  /** Starts a replica of Redis, and resolves when it has everything. */
  async replicate(): Promise<void> {
    const replica = await RedisServer.start(...forgetsNothing)
    await replica.ask('REPLICAOF', '127.0.0.1', String(this.#gate().target.port))
    await vi.waitFor(async () => {
      const info = String(await replica.ask('INFO', 'replication'))
      if (!info.includes('master_link_status:up')) throw new Error(info)
    }, watchdog)
    this.#replica = replica
  }

  async kill(at: number, downMs = 0): Promise<void> {
    await this.#fault('node killed', async () => {
      await this.nodes[at]?.stop('SIGKILL')
      await wait(downMs)
      await this.nodes[at]?.start()
    })
  }

  async pause(at: number, ms: number): Promise<void> {
    await this.#fault('node paused', async () => {
      this.nodes[at]?.pause()
      await wait(ms)
      this.nodes[at]?.resume()
    })
  }

  async restart(at: number): Promise<void> {
    await this.#fault('node drained', async () => {
      await this.nodes[at]?.stop('SIGTERM')
      await this.nodes[at]?.start()
    })
  }

  async cutSubscriptions(): Promise<void> {
    await this.#fault('subscriptions cut', async () => {
      await this.#gate().target.ask('CLIENT', 'KILL', 'TYPE', 'pubsub')
    })
  }

  async pauseStore(ms: number): Promise<void> {
    await this.#fault('store paused', async () => {
      this.#gate().target.pause()
      await wait(ms)
      this.#gate().target.resume()
    })
  }

  async restartStore(downMs: number): Promise<void> {
    await this.#fault('store restarted', async () => {
      const store = this.#postgres ?? this.#gate().target
      await store.kill()
      await wait(downMs)
      await store.restart()
    })
  }

  /** The replica takes over without what the primary took for `tailMs`. */
  async failOver(tailMs: number): Promise<void> {
    const replica = this.#replica
    if (replica === undefined) throw new Error('There is no replica')
    await this.#fault('store failed over', async () => {
      await replica.ask('REPLICAOF', 'NO', 'ONE')
      await wait(tailMs)
      const lost = this.#gate().target
      this.#gate().target = replica
      await lost.kill()
      this.#gate().cut()
    })
    this.#replica = undefined
  }

  ledger(): NodeRecord[] {
    const lines = readFileSync(this.#ledger, 'utf8').split('\n')
    return lines.filter(Boolean).map((line): NodeRecord => JSON.parse(line))
  }

  /** Every key of the store, with its time to live. */
  async keys(): Promise<StoredKey[]> {
    if (this.#postgres !== undefined) {
      const rows = await this.#postgres.run(
        'postgres',
        `SELECT convert_from(key, 'UTF8'), expires_at FROM jackfield.records UNION ALL
        SELECT convert_from(name, 'UTF8'), expires_at FROM jackfield.logs`,
      )
      return rows.map(([key, expires]) => ({
        key: String(key),
        ttlMs: Math.max(0, Number(expires) - Date.now()),
      }))
    }
    const script = `local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  found[#found + 1] = key
  found[#found + 1] = tostring(redis.call('PTTL', key))
end
return found`
    const flat = await this.#gate().target.ask('EVAL', script, '0')
    if (!Array.isArray(flat)) throw new Error('no keys')
    return Array.from({ length: flat.length / 2 }, (_, at) => ({
      key: String(flat[at * 2]),
      ttlMs: Number(flat[at * 2 + 1]),
    }))
  }

  async #fault(kind: FaultRecord['kind'], happen: () => Promise<void>): Promise<void> {
    const from = now()
    // Known while it happens, for a history that is checked meanwhile.
    await happen()
    this.faults.push({ kind, from, until: now() })
  }
}

export function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Starts an HAProxy that gives each request to the next node. Returns the URL of the endpoint. */
async function balance(ports: readonly number[], folder: string): Promise<string> {
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
    '  timeout check 2s',
    '  default-server check inter 300ms fall 3 rise 1',
    ...ports.map((port, at) => `  server node${at} 127.0.0.1:${port}`),
    '',
  ]
  writeFileSync(join(folder, 'haproxy.cfg'), lines.join('\n'))
  const child = spawn('haproxy', ['-db', '-q', '-f', join(folder, 'haproxy.cfg')], { stdio: 'inherit' })
  onTestFinished(async () => {
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  })
  await vi.waitFor(async () => {
    const { status } = await fetch(`http://127.0.0.1:${port}/healthz/ready`)
    if (status !== 200) throw new Error(`HAProxy responds ${status}`)
  }, watchdog)
  return `http://127.0.0.1:${port}/mcp`
}
