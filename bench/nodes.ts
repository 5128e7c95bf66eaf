import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { freePort } from '../test/setup/ports.ts'
import { echo, measure, medians, type Target, timesOf } from './http.ts'
import { table } from './table.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '15' },
    ms: { type: 'string', default: '600' },
    calls: { type: 'string', default: '600' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(`npm run bench:nodes -- [--rounds N] [--ms N] [--calls N]

Measures what a session call costs if every node serves it, as a multiple of a single node's, and counts the calls of official clients
that succeed through HAProxy on three nodes of this SDK and of the official one. Writes bench/NODES.md. Needs redis-server and haproxy.`)
  process.exit(0)
}

const folder = mkdtempSync(join(tmpdir(), 'jackfield-bench-nodes-'))
const running = new Set<ChildProcess>()

/** Starts a program, which ends with this one; resolves when its output contains a text. */
async function program(command: string, args: readonly string[], text?: string): Promise<ChildProcess> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  running.add(child)
  let printed = ''
  if (text !== undefined) {
    for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
      printed += String(chunk)
      if (printed.includes(text)) break
    }
    if (!printed.includes(text)) throw new Error(`${command} did not start: ${printed}`)
  }
  child.stdout.resume()
  return child
}

async function stop(child: ChildProcess): Promise<void> {
  running.delete(child)
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

const redisPort = await freePort()
const redis = `redis://127.0.0.1:${redisPort}`
await program(
  'redis-server',
  ['--bind', '127.0.0.1', '--port', String(redisPort), '--dir', folder, '--save', ''],
  'Ready to accept',
)

/** The cost of a session call, of a server alone and of one whose sessions every node serves. */
async function cost(): Promise<{ rows: (string | number)[][] }> {
  process.env['BENCH_REDIS'] = redis
  const load = { ...echo, wire: 'session', path: '/mcp' } as const
  const single: Target = { name: 'a single node', file: 'jackfield', tools: 1, load }
  const shared: Target = { name: 'one of many, over Redis', file: 'jackfield-redis', tools: 1, load }
  const plan = { rounds: Number(values.rounds), ms: Number(values.ms), warmUpMs: 2000 }
  const found = await measure([single, shared], plan)
  const limit = found.get(single) ?? []
  return {
    rows: [single, shared].map((target) => {
      const rounds = found.get(target) ?? []
      const { cpu, perSecond, p50, p99 } = medians(rounds)
      const times = timesOf(rounds, limit).cpu.toFixed(2)
      return [target.name, cpu.toFixed(1), times, perSecond.toFixed(0), p50.toFixed(2), p99.toFixed(2)]
    }),
  }
}

const path = (file: string): string => fileURLToPath(new URL(file, import.meta.url))

interface Contender {
  readonly name: string
  start(port: number): Promise<ChildProcess>
}

const node = (file: string, input: object, port: number): Promise<ChildProcess> =>
  program(process.execPath, [path(file), JSON.stringify({ redis, port, ...input })], String(port))
const contenders: readonly Contender[] = [
  {
    name: 'Jackfield with Redis',
    start: (port) => node('../test/torture/nodes/shop-program.ts', { settleMs: 0 }, port),
  },
  {
    name: 'official SDK 1.32.2',
    start: (port) => node('servers/official-shop.ts', { store: false }, port),
  },
  {
    name: 'official SDK 1.32.2 with an event store in Redis',
    start: (port) => node('servers/official-shop.ts', { store: true }, port),
  },
]

const ways = ['round robin', 'round robin, one node killed', 'sticky', 'sticky, one node killed'] as const
type Way = (typeof ways)[number]

async function haproxy(
  ports: readonly number[],
  isSticky: boolean,
): Promise<{ url: string; child: ChildProcess }> {
  const port = await freePort()
  const file = join(folder, `haproxy-${port}.cfg`)
  const lines = [
    'defaults',
    '  mode http',
    '  timeout connect 2s',
    '  timeout client 60s',
    '  timeout server 60s',
    '  option redispatch',
    '  retries 3',
    '  retry-on conn-failure',
    'frontend entry',
    `  bind 127.0.0.1:${port}`,
    '  default_backend nodes',
    'backend nodes',
    '  balance roundrobin',
    ...(isSticky
      ? [
          '  stick-table type string len 64 size 100k expire 30m',
          '  stick store-response res.hdr(mcp-session-id)',
          '  stick match req.hdr(mcp-session-id)',
        ]
      : []),
    '  option httpchk GET /healthz/ready',
    '  default-server check inter 500ms fall 3 rise 1',
    ...ports.map((one, at) => `  server node${at} 127.0.0.1:${one}`),
    '',
  ]
  writeFileSync(file, lines.join('\n'))
  const child = await program('haproxy', ['-db', '-q', '-f', file])
  for (let tries = 0; tries < 200; tries++) {
    const response = await fetch(`http://127.0.0.1:${port}/healthz/ready`).catch(() => undefined)
    if (response?.status === 200) break
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return { url: `http://127.0.0.1:${port}/mcp`, child }
}

interface Caller {
  call(tool: string, order: string): Promise<string>
  close(): Promise<void>
}

const capabilities = { elicitation: { form: {} } }
const accepted = { action: 'accept' as const, content: { ok: true } }
const textIn = (result: unknown): string => String(Object(result).content?.[0]?.text)
const limitMs = 5_000
/** Failures in a row after which a client makes no further calls: its session is lost. */
const maxFailures = 4
const callers = 15

async function caller(url: string, nth: number): Promise<Caller> {
  const options = { timeout: limitMs }
  if (nth % 2 === 0) {
    const client = new ClientV1({ name: 'v1', version: '1' }, { capabilities })
    client.setRequestHandler(ElicitRequestSchema, () => accepted)
    await client.connect(new TransportV1(new URL(url)), options)
    return {
      call: async (name, order) =>
        textIn(await client.callTool({ name, arguments: { order } }, undefined, options)),
      close: () => client.close(),
    }
  }
  const client = new ClientV2(
    { name: 'v2', version: '2' },
    { capabilities, versionNegotiation: { mode: 'legacy' } },
  )
  client.setRequestHandler('elicitation/create', () => accepted)
  await client.connect(new TransportV2(new URL(url)), options)
  return {
    call: async (name, order) => textIn(await client.callTool({ name, arguments: { order } }, options)),
    close: () => client.close(),
  }
}

/** Clients that connect, and calls of those planned that succeed, half of which ask. */
async function count(contender: Contender, way: Way, calls: number): Promise<string> {
  const ports = [await freePort(), await freePort(), await freePort()]
  const nodes = await Promise.all(ports.map((port) => contender.start(port)))
  const { url, child } = await haproxy(ports, way.startsWith('sticky'))
  let connected = 0
  let succeeded = 0
  let begun = 0
  let isKilled = !way.includes('killed')
  const each = Math.ceil(calls / callers)
  await Promise.all(
    Array.from({ length: callers }, async (_, nth) => {
      const client = await caller(url, nth).catch(() => undefined)
      if (client === undefined) {
        begun += each
        return
      }
      connected++
      let failures = 0
      let made = 0
      for (; made < each && failures < maxFailures; made++) {
        const at = made
        begun++
        if (!isKilled && begun >= calls / 2) {
          isKilled = true
          nodes[1]?.kill('SIGKILL')
        }
        const tool = at % 2 === 0 ? 'buy' : 'look'
        const expected = `${tool === 'buy' ? 'accept' : 'seen'} ${nth} ${at}`
        const text = await client.call(tool, `${nth} ${at}`).catch(() => '')
        if (text === expected) succeeded++
        failures = text === expected ? 0 : failures + 1
      }
      begun += each - made
      await client.close().catch(() => {})
    }),
  )
  await Promise.all([child, ...nodes].map(stop))
  process.stderr.write(`${contender.name}, ${way}: ${connected} clients, ${succeeded} calls\n`)
  return `${succeeded} (${connected} of ${callers})`
}

try {
  const { rows } = await cost()
  const calls = Number(values.calls)
  const counted: string[][] = []
  for (const contender of contenders) {
    const cells = [contender.name]
    for (const way of ways) cells.push(await count(contender, way, calls))
    counted.push(cells)
  }
  const page = `# Many nodes

\`npm run bench:nodes\` writes this page, with redis-server and haproxy. ${new Date().toISOString().slice(0, 10)}; ${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}; Node ${process.version}.

## The cost of a session call

A \`tools/call\` over 16 connections; ${values.rounds} rounds of ${values.ms} ms, in which both take turns. The multiple is the median of single rounds.

${table(['server', 'µs CPU', '× a single node', 'requests/s', 'p50 ms', 'p99 ms'], rows)}

## Official clients through HAProxy to three nodes

Calls that succeed, of ${calls} by ${callers} clients (8 of version 1.32.2, 7 of version 2.4.0), half of which ask the client a question, and clients
that connect. One node is killed with SIGKILL after half of the calls. "Sticky" routes by \`Mcp-Session-Id\`. The official server keeps a transport for
each session in a map, as its examples do; neither of its clients begins another session after 404. A client
makes no further calls after ${maxFailures} that failed in a row.

${table(['server', ...ways], counted)}
`
  writeFileSync(path('NODES.md'), page)
  console.log(page)
} finally {
  await Promise.all([...running].map(stop))
  rmSync(folder, { recursive: true, force: true })
}
