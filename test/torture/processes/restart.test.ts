import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createHost, type Host, type ServerConfig } from '@jackfield/host'
import { expect, onTestFinished, vi } from 'vitest'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'

const minuteMs = 60_000
const minutes = 2
const stepMs = 500
const closeMs = 5
/** What one minute may see at most: of programs, which are given up then, and of servers that others run. */
const most = { program: 5, url: 20 }

/** Meets its client, lists its tools, and ends a moment later. */
function shortLived(seconds: number): ServerConfig {
  const script = `
while IFS= read -r line; do
  case $line in *'"id":'*) ;; *) continue ;; esac
  id=\${line#*'"id":'}
  case $line in
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *) result='{"tools":[]}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "\${id%%[,\\}]*}" "$result"
  case $line in *tools/list*) sleep ${seconds}; exit 1 ;; esac
done`
  return { command: 'sh', args: ['-c', script] }
}

/** Meets its clients and lists its tools, and answers a question whether it is there with a failure. */
async function neverThere(): Promise<ServerConfig> {
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const { id, method } = JSON.parse(Buffer.concat(parts).toString())
    if (id === undefined) return void response.writeHead(202).end()
    if (method === 'ping') return void response.writeHead(502).end()
    const serverInfo = { name: 's', version: '1' }
    const result =
      method === 'initialize'
        ? { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo }
        : { tools: [] }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/mcp` }
}

interface ReconnectingHost {
  kind: keyof typeof most
  host: Host
  /** When it reconnected, on the virtual clock. */
  attempts: number[]
  /** Until when nothing happens but on the virtual clock. */
  idleUntilMs: number
}

function reconnectingHost(kind: ReconnectingHost['kind'], config: ServerConfig): ReconnectingHost {
  const host = createHost({
    servers: { s: config },
    models: [],
    connect: { revisions: ['2025-11-25'], idlePingMs: 500 },
  })
  const made: ReconnectingHost = {
    kind,
    host,
    attempts: [],
    idleUntilMs: kind === 'url' ? Number.POSITIVE_INFINITY : 0,
  }
  host.on((event) => {
    if (event.type !== 'connection') return
    const { state } = event
    if (state.state === 'failed') made.idleUntilMs = Number.POSITIVE_INFINITY
    if (state.state !== 'reconnecting') return
    made.attempts.push(performance.now())
    if (kind === 'program') made.idleUntilMs = performance.now() + state.inMs
  })
  onTestFinished(() => host.close())
  return made
}

function busiestMinute(attempts: readonly number[]): number {
  return Math.max(
    0,
    ...attempts.map((from) => attempts.filter((at) => at >= from && at < from + minuteMs).length),
  )
}

campaign(
  {
    id: 'restarts-bounded',
    chapter: 'Processes',
    claim: 'A server that fails repeatedly is started and connected at most a few times per minute',
    trial: 'server that ends or breaks off right after it was met, for two minutes of virtual time',
    trials: { test: 3, change: 6, long: 100 },
  },
  async ({ trials, seed, measured }) => {
    const random = new Random(seed)
    const chance = vi.spyOn(Math, 'random').mockImplementation(() => random.fraction())
    const { setTimeout: setRealTimeout } = globalThis
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance', 'Date'],
    })
    const breathe = (): Promise<void> => new Promise((resolve) => setRealTimeout(resolve, 4))
    try {
      const hosts: ReconnectingHost[] = []
      for (let n = 0; n < trials; n++) {
        const kind = n % 2 === 0 ? 'program' : 'url'
        hosts.push(
          reconnectingHost(
            kind,
            kind === 'program' ? shortLived(random.between(1, 5) / 100) : await neverThere(),
          ),
        )
      }
      const starting = Promise.all(hosts.map(({ host }) => host.start()))
      const end = performance.now() + minutes * minuteMs
      while (performance.now() < end) {
        // A program takes its own time to start and to end.
        const idle = hosts.every(({ idleUntilMs }) => performance.now() < idleUntilMs)
        await vi.advanceTimersByTimeAsync(idle ? stepMs : closeMs)
        await breathe()
      }
      await starting
      for (const { kind, host, attempts } of hosts) {
        expect(attempts.length, kind).toBeGreaterThan(0)
        expect(busiestMinute(attempts), kind).toBeLessThanOrEqual(most[kind])
        if (kind === 'program') expect(host.connections.get('s')?.state).toBe('failed')
      }
      for (const kind of ['program', 'url'] as const) {
        const busiest = hosts
          .filter((one) => one.kind === kind)
          .map(({ attempts }) => busiestMinute(attempts))
        measured(`most in a minute, ${kind}`, Math.max(...busiest), '')
      }
    } finally {
      vi.useRealTimers()
      chance.mockRestore()
    }
  },
)
