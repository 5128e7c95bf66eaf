import type { ChildProcess } from 'node:child_process'
import type { Load, Loaded, Wire } from './load.ts'
import { answerOf, type Measured, median, start } from './process.ts'

interface Target {
  name: string
  file: string
  tools: number
  wire: Wire
  path: string
  method: Load['method']
}

/** What one server cost over all rounds. */
export interface HttpRow {
  name: string
  tools: number
  method: Load['method']
  /** CPU microseconds of the server process per request, median of the rounds. */
  cpu: number
  requestsPerSecond: number
  /** CPU in multiples of plain node:http in the same run. */
  timesPlain: number
}

export interface HttpPlan {
  rounds: number
  ms: number
  warmUpMs: number
  connections: number
}

const kinds: Omit<Target, 'tools' | 'method'>[] = [
  { name: 'jackfield 2026-07-28', file: 'jackfield', wire: 'modern', path: '/mcp' },
  { name: 'jackfield 2025-11-25, session', file: 'jackfield', wire: 'session', path: '/mcp' },
  { name: 'official v2, 2026-07-28', file: 'official-v2', wire: 'modern', path: '/' },
  { name: 'official v1, stateless', file: 'official-v1', wire: 'stateless', path: '/' },
  { name: 'mcp-lite, stateless', file: 'mcp-lite', wire: 'stateless', path: '/' },
]

const plain: Target = {
  name: 'plain node:http',
  file: 'plain',
  tools: 1,
  wire: 'modern',
  path: '/',
  method: 'tools/call',
}

const targets: Target[] = [
  plain,
  ...[1, 50].flatMap((tools) => kinds.map((kind) => ({ ...kind, tools, method: 'tools/call' as const }))),
  ...kinds.map((kind) => ({ ...kind, tools: 50, method: 'tools/list' as const })),
]

/** Measures every server in turn, round by round, so that what slows the machine down meets all of them. */
export async function measureHttp(plan: HttpPlan, onRound: (round: number) => void): Promise<HttpRow[]> {
  const servers = new Map<string, Measured>()
  const generator = await start('load.ts')
  const cpu = new Map<Target, number[]>()
  const rates = new Map<Target, number[]>()
  try {
    for (const target of targets) {
      const id = `${target.file} ${target.tools}`
      if (servers.has(id)) continue
      servers.set(id, await start(`servers/${target.file}.ts`, ['--tools', String(target.tools)]))
    }
    for (let round = 0; round <= plan.rounds; round++) {
      onRound(round)
      for (const target of round % 2 === 0 ? targets : targets.toReversed()) {
        const server = servers.get(`${target.file} ${target.tools}`)
        if (server === undefined) continue
        const ms = round === 0 ? plan.warmUpMs : plan.ms
        const before = await server.cpu()
        const loaded = await load(generator.child, {
          ...target,
          port: server.port,
          connections: plan.connections,
          ms,
        })
        const used = (await server.cpu()) - before
        if (loaded.failure !== undefined) throw new Error(`${target.name}: ${loaded.failure}`)
        if (round === 0) continue
        push(cpu, target, used / loaded.requests)
        push(rates, target, (loaded.requests / loaded.ms) * 1000)
      }
    }
  } finally {
    await Promise.all([generator, ...servers.values()].map((one) => one.close()))
  }
  const limit = median(cpu.get(plain) ?? [])
  return targets.map((target) => {
    const { name, tools, method } = target
    const each = median(cpu.get(target) ?? [])
    const requestsPerSecond = median(rates.get(target) ?? [])
    return { name, tools, method, cpu: each, requestsPerSecond, timesPlain: each / limit }
  })
}

async function load(generator: ChildProcess, load: Load): Promise<Loaded> {
  const { requests, ms, failure } = await answerOf(generator, load, 'the load generator', load.ms + 20_000)
  return {
    requests: Number(requests),
    ms: Number(ms),
    failure: failure === undefined ? undefined : String(failure),
  }
}

function push(to: Map<Target, number[]>, target: Target, value: number): void {
  to.set(target, [...(to.get(target) ?? []), value])
}
