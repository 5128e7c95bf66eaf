import { echo, type Measure, measure, medians, type Plan, type Target, timesOf } from './http.ts'

/** One row of a table: a target and what was measured. */
export interface Row extends Measure {
  name: string
  /** Multiples of the plain server. */
  times: Measure
}

/** How one figure grows with a parameter, for several servers. */
export interface Growth {
  title: string
  /** The parameter, with its unit. */
  over: string
  /** What is measured, with its unit. */
  of: string
  points: readonly number[]
  lines: { name: string; values: number[] }[]
}

type Kind = Pick<Target, 'name' | 'file'> & { load: Pick<Target['load'], 'wire' | 'path'> }

const plain: Kind = { name: 'plain node:http', file: 'plain', load: { wire: 'modern', path: '/' } }
const ours: Kind = {
  name: 'jackfield 2026-07-28',
  file: 'jackfield',
  load: { wire: 'modern', path: '/mcp' },
}
const ourSession: Kind = {
  name: 'jackfield 2025-11-25, session',
  file: 'jackfield',
  load: { wire: 'session', path: '/mcp' },
}
const peers: Kind[] = [
  { name: 'official v2, 2026-07-28', file: 'official-v2', load: { wire: 'modern', path: '/' } },
  { name: 'official v1, stateless', file: 'official-v1', load: { wire: 'stateless', path: '/' } },
  { name: 'mcp-lite, stateless', file: 'mcp-lite', load: { wire: 'stateless', path: '/' } },
  { name: 'tmcp, 2026-07-28', file: 'tmcp', load: { wire: 'modern', path: '/mcp' } },
  { name: 'fastmcp, session', file: 'fastmcp', load: { wire: 'session', path: '/mcp' } },
]
const kinds: Kind[] = [ours, ourSession, ...peers]

/**
 * Calls of one tool among 50, and lists of all 50, of every server beside a plain one. Ours and those of others take
 * turns among themselves: a server that waited for many others is slower for seconds than one under steady load.
 */
export async function serverTables(plan: Plan): Promise<{ calls: Row[]; lists: Row[] }> {
  const limit = targetOf(plain, 1)
  const beside = async (targets: readonly Target[]): Promise<Row[]> =>
    rowsOf([limit, ...targets], limit, await measure([limit, ...targets], plan))
  const listed = (kind: Kind): Target => targetOf(kind, 50, { method: 'tools/list' })
  const calls = await beside([ours, ourSession].map((kind) => targetOf(kind, 50)))
  const lists = await beside([ours, ourSession].map(listed))
  const [, ...others] = await beside([...peers.map((kind) => targetOf(kind, 50)), ...peers.map(listed)])
  return {
    calls: [...calls, ...others.slice(0, peers.length)],
    lists: [...lists, ...others.slice(peers.length)],
  }
}

/** Progress notifications of a call, 100 of them each, as events of its answer. */
export async function streamTable(plan: Plan): Promise<Row[]> {
  const load = { ...echo, tool: 'count', args: { to: 100 }, counted: '"progress":', connections: 4 }
  const limit: Target = { name: 'plain res.write', file: 'plain-stream', tools: 1, load }
  const own: Target = { name: 'jackfield 2026-07-28', file: 'jackfield-stream', tools: 1, load }
  return rowsOf([limit, own], limit, await measure([limit, own], plan))
}

/** How the cost of a call grows with tools, sessions, message size and connections. */
export async function growths(plan: Plan, servers: 'all' | 'ours'): Promise<Growth[]> {
  const cpu = 'µs CPU of the server for a call'
  const tools = [1, 50, 500]
  const grown = servers === 'all' ? kinds : [ours, ourSession]
  const sessions = [16, 128, 1024]
  const kilobytes = [1, 10, 100, 1000]
  const connections = [1, 16, 64, 256]
  const sized = (kb: number): Partial<Target['load']> => ({
    args: { text: 'x'.repeat(kb * 1000) },
    connections: 4,
  })
  return [
    await growth('Tools', 'tools registered', cpu, tools, grown, plan, (kind, count) =>
      targetOf(kind, count),
    ),
    await growth(
      'Tools listed',
      'tools registered',
      'µs CPU of the server for a list',
      tools,
      [ours, ourSession],
      plan,
      (kind, count) => targetOf(kind, count, { method: 'tools/list', connections: 4 }),
    ),
    await growth('Sessions', 'sessions open', cpu, sessions, [ourSession], plan, (kind, count) =>
      targetOf(kind, 1, { sessions: count }),
    ),
    await growth(
      'Message size',
      'kB of text, there and back',
      cpu,
      kilobytes,
      [plain, ours, ourSession],
      plan,
      (kind, kb) => targetOf(kind, 1, sized(kb)),
    ),
    await growth(
      'Connections',
      'connections',
      'ms until 99 of 100 calls were answered',
      connections,
      [plain, ours, ourSession],
      plan,
      (kind, count) => targetOf(kind, 1, { connections: count }),
      'p99',
    ),
  ]
}

async function growth(
  title: string,
  over: string,
  of: string,
  points: readonly number[],
  lines: readonly Kind[],
  plan: Plan,
  target: (kind: Kind, point: number) => Target,
  member: keyof Measure = 'cpu',
): Promise<Growth> {
  const all = lines.map(({ name, ...kind }) => ({
    name,
    targets: points.map((point) => target({ name, ...kind }, point)),
  }))
  const found = await measure(
    all.flatMap(({ targets }) => targets),
    plan,
  )
  return {
    title,
    over,
    of,
    points,
    lines: all.map(({ name, targets }) => ({
      name,
      values: targets.map((one) => medians(found.get(one) ?? [])[member]),
    })),
  }
}

function targetOf({ name, file, load }: Kind, tools: number, more: Partial<Target['load']> = {}): Target {
  return { name, file, tools, load: { ...echo, ...load, ...more } }
}

function rowsOf(targets: readonly Target[], limit: Target, found: Map<Target, Measure[]>): Row[] {
  const limitRounds = found.get(limit)
  return targets.flatMap((target) => {
    const rounds = found.get(target)
    return rounds === undefined || limitRounds === undefined
      ? []
      : [{ ...medians(rounds), name: target.name, times: timesOf(rounds, limitRounds) }]
  })
}
