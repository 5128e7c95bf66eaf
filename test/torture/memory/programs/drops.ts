import { type ChildProcess, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serveSocket } from '@jackfield/sdk/socket'
import { HttpConnection } from './http-connection.ts'
import { keepBusy, openLineSession, openSession, openSseSession } from './http-session.ts'
import { Line } from './line.ts'
import { served } from './served.ts'
import { planIn, soak } from './soak.ts'
import { wares } from './wares.ts'

// Sessions that are begun, used and dropped in every way there is, and the server that must not keep them.

const plan = planIn(process.argv[2])
/** The program of `crowd.ts`. */
const { crowd: crowdProgram = '' } = plan
const concurrency = 8
const each = 50
const idleMs = 400
const patienceMs = 30_000

let begun = 0
let ended = 0
const seen = new WeakSet<AbortSignal>()
const { server } = wares([
  (exchange, next) => {
    const over = exchange.session?.ended
    if (over !== undefined && !seen.has(over)) {
      seen.add(over)
      begun++
      over.addEventListener('abort', () => ended++, { once: true })
    }
    return next(exchange)
  },
])
const { port, listeners, connections } = await served(server, {
  sse: '/sse',
  limits: { sessionIdleMs: idleMs },
})
const path = join(tmpdir(), `jackfield-drops-${process.pid}.sock`)
const lines = await serveSocket(server, { path })
process.on('exit', () => rmSync(path, { force: true }))

/** Sessions of another process, which is killed when it has as many as it takes. */
class Crowd {
  readonly #child: ChildProcess
  readonly #over: Promise<void>
  readonly #waiting: PromiseWithResolvers<void>[] = []
  #count = 0

  constructor() {
    const child = spawn(process.execPath, ['--no-warnings', crowdProgram, String(port)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#child = child
    child.stdout.on('data', (chunk: Buffer) => {
      for (const byte of chunk) if (byte === 10) this.#waiting.shift()?.resolve()
    })
    this.#over = new Promise((resolve) => {
      child.once('close', () => {
        for (const { reject } of this.#waiting) reject(new Error('The process ended before it was killed'))
        resolve()
      })
    })
  }

  get full(): boolean {
    return this.#count === each
  }

  /** Has one more session begun. The one that makes it full settles when the process is gone. */
  async enter(): Promise<void> {
    this.#count++
    const last = this.full
    const entered = Promise.withResolvers<void>()
    this.#waiting.push(entered)
    this.#child.stdin?.write('one\n')
    await entered.promise
    if (last) await this.kill()
  }

  kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    return this.#over
  }
}

const free = Array.from({ length: concurrency }, () => new HttpConnection(port))
let crowd: Crowd | undefined

type Drop = (connection: HttpConnection) => Promise<void>

const drops: Readonly<Record<string, Drop>> = {
  DELETE: async (connection) => {
    const { headers } = await openSession(connection)
    const { status } = await connection.exchange(`DELETE /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}\r\n`)
    if (status !== 204 && status !== 404) throw new Error(`DELETE was answered with ${status}`)
  },
  FIN: async (connection) => {
    const drop = await keepBusy(port, await openSession(connection))
    await drop('FIN')
  },
  RST: async (connection) => {
    const drop = await keepBusy(port, await openSession(connection))
    await drop('RST')
  },
  silence: async (connection) => {
    await openSession(connection)
  },
  crash: async () => {
    if (crowd === undefined || crowd.full) crowd = new Crowd()
    await crowd.enter()
  },
  'FIN of HTTP+SSE': async (connection) => {
    const stream = await openSseSession(port, connection)
    await stream.end('FIN')
  },
  'RST of HTTP+SSE': async (connection) => {
    const stream = await openSseSession(port, connection)
    await stream.end('RST')
  },
  'end of a socket': async () => {
    const line = await Line.to({ path })
    await openLineSession(line)
    await line.end('FIN')
  },
}
const ways =
  plan.way === 'all'
    ? Object.values(drops)
    : Object.values(drops).slice(Number(plan.way), Number(plan.way) + 1)

async function runRequest(n: number): Promise<void> {
  const connection = free.pop()
  const drop = ways[n % ways.length]
  if (connection === undefined || drop === undefined) throw new Error('There is no lane, or no way')
  await drop(connection)
  free.push(connection)
}

/** Settles when no session is left and no connection. */
async function settled(): Promise<void> {
  await crowd?.kill()
  crowd = undefined
  await Promise.all(free.map((connection) => connection.close()))
  const late = performance.now() + patienceMs
  while (ended < begun || connections() > 0 || lines.connections > 0) {
    if (performance.now() > late) {
      throw new Error(
        `${begun - ended} sessions and ${connections()} connections are left after ${patienceMs} ms`,
      )
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

await soak({ runRequest, concurrency, listeners, settled }, plan)
