import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { forgetsNothing, RedisServer } from '../../../packages/redis/test/support/redis-server.ts'
import { type Mounted, sendingTo } from '../../../packages/sdk/test/serve/http-support.ts'
import { programFile } from '../../setup/program-file.ts'

const program = programFile(new URL('node-program.ts', import.meta.url))

/** One node of a service, a process of its own. */
export class Node {
  readonly send: Mounted['send']
  readonly #child: ChildProcess
  readonly #lines: AsyncIterator<string>

  private constructor(child: ChildProcess, lines: AsyncIterator<string>, port: number) {
    this.#child = child
    this.#lines = lines
    this.send = sendingTo(port)
  }

  static async start(input: object): Promise<Node> {
    const child = spawn(process.execPath, [program, JSON.stringify(input)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    onTestFinished(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    })
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    const { value } = await lines.next()
    const port = Number(value)
    if (!(port > 0)) throw new Error(`A node did not start: ${value}`)
    return new Node(child, lines, port)
  }

  /** Gives an order; settles when it was carried out. */
  async order(order: object): Promise<void> {
    this.#child.stdin?.write(`${JSON.stringify(order)}\n`)
    const { value } = await this.#lines.next()
    if (value !== 'done') throw new Error(`A node printed ${value}`)
  }
}

/** Three nodes of one service over one Redis, gone when the test is over. */
export interface Service {
  readonly nodes: readonly [Node, Node, Node]
  readonly redis: RedisServer
  /** What handlers did for good, on all nodes. */
  ledger(): string[]
}

/** Starts a service. `redisTimeoutMs`: what a node waits for Redis, at most; `durable`: Redis forgets nothing when it is killed. */
export async function service(
  keys: string[],
  { redisTimeoutMs = 5000, durable = false }: { redisTimeoutMs?: number; durable?: boolean } = {},
): Promise<Service> {
  const redis = await RedisServer.start(...(durable ? forgetsNothing : []))
  const folder = mkdtempSync(join(tmpdir(), 'jackfield-nodes-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const input = { redis: redis.url, folder, keys, redisTimeoutMs }
  // The first one makes the tables that all share.
  const nodes: Service['nodes'] = [await Node.start(input), await Node.start(input), await Node.start(input)]
  const read = (): string => {
    try {
      return readFileSync(`${folder}/ledger`, 'utf8')
    } catch {
      return ''
    }
  }
  return { nodes, redis, ledger: () => read().split('\n').filter(Boolean) }
}
