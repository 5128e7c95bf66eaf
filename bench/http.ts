import type { Load, Loaded } from './load.ts'
import { answerOf, type Measured, median, medianTimes, start } from './process.ts'

/** A server and the load on it. */
export interface Target {
  /** Name of the row. */
  name: string
  /** A file of `servers`. */
  file: string
  /** How many tools it has. */
  tools: number
  load: Omit<Load, 'port' | 'ms'>
}

export interface Plan {
  rounds: number
  ms: number
  warmUpMs: number
}

/** What a server did under one load. */
export interface Measure {
  /** CPU microseconds of the server process for each request. */
  cpu: number
  perSecond: number
  /** Milliseconds until half, and until 99 of 100, requests were answered. */
  p50: number
  p99: number
  /** Counted notifications in a second. */
  countedPerSecond: number
}

/** The default load: an echo of a short text over 16 connections. */
export const echo: Target['load'] = {
  path: '/',
  wire: 'modern',
  method: 'tools/call',
  tool: 'echo',
  args: { text: 'Hello from the load generator' },
  connections: 16,
}

/**
 * Measures targets in turn, round by round, so that a slow machine affects all of them. Each has a server
 * process of its own, which has seen no other load.
 */
export async function measure(targets: readonly Target[], plan: Plan): Promise<Map<Target, Measure[]>> {
  const servers = new Map<Target, Measured>()
  const generator = await start('load.ts')
  const rounds = new Map<Target, Measure[]>(targets.map((target) => [target, []]))
  try {
    for (const target of targets) {
      servers.set(target, await start(`servers/${target.file}.ts`, ['--tools', String(target.tools)]))
    }
    for (let round = 0; round <= plan.rounds; round++) {
      for (const target of round % 2 === 0 ? targets : targets.toReversed()) {
        const server = servers.get(target)
        if (server === undefined) continue
        const ms = round === 0 ? plan.warmUpMs : plan.ms
        await ask(generator, { ...target.load, port: server.port, ms }, target.name, ms)
        const before = await server.cpu()
        const loaded = loadedOf(await ask(generator, 'go', target.name, ms))
        const cpu = ((await server.cpu()) - before) / loaded.requests
        if (round > 0) rounds.get(target)?.push(measured(loaded, cpu))
      }
    }
  } finally {
    await Promise.all([generator, ...servers.values()].map((one) => one.close()))
  }
  return rounds
}

async function ask(
  generator: Measured,
  message: Load | 'go',
  name: string,
  ms: number,
): Promise<Record<string, unknown>> {
  const answer = await answerOf(generator.child, message, 'the load generator', ms + 60_000)
  if (answer['failure'] !== undefined) throw new Error(`${name}: ${String(answer['failure'])}`)
  return answer
}

function loadedOf(answer: Record<string, unknown>): Loaded {
  const number = (member: string): number => Number(answer[member])
  return {
    requests: number('requests'),
    ms: number('ms'),
    p50: number('p50'),
    p99: number('p99'),
    counted: number('counted'),
    failure: undefined,
  }
}

function measured({ requests, ms, p50, p99, counted }: Loaded, cpu: number): Measure {
  return { cpu, perSecond: (requests / ms) * 1000, p50, p99, countedPerSecond: (counted / ms) * 1000 }
}

/** The medians of several rounds. */
export function medians(rounds: readonly Measure[]): Measure {
  return ofEach((member) => median(rounds.map((round) => round[member])))
}

/** Multiples of a limit, as the median of the ratios of single rounds, so that a slow machine affects both alike. */
export function timesOf(rounds: readonly Measure[], limit: readonly Measure[]): Measure {
  return ofEach((member) =>
    medianTimes(
      rounds.map((round) => round[member]),
      limit.map((round) => round[member]),
    ),
  )
}

function ofEach(of: (member: keyof Measure) => number): Measure {
  return {
    cpu: of('cpu'),
    perSecond: of('perSecond'),
    p50: of('p50'),
    p99: of('p99'),
    countedPerSecond: of('countedPerSecond'),
  }
}
