import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Measured, median, medianTimes, start } from './process.ts'
import { table } from './table.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    ms: { type: 'string', default: '1000' },
    warm: { type: 'string', default: '0' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(
    [
      'npm run bench:host -- [--rounds N] [--ms N] [--warm N]',
      '',
      'What a host adds to a tool call: CPU of the client and of the host process (not of the server), and latency. The server is the',
      'same program on stdio in every row; stores are files. Rounds take turns; figures are medians of the rounds. A plain row is the',
      'least that any host does in this place (bench/plain-host.ts): JSON in, the request to the server, one row of a log, the answer.',
      'With --warm, each way makes N calls before the rounds. Without, slower ways are measured in colder code: they made fewer calls.',
    ].join('\n'),
  )
  process.exit(0)
}

interface Way {
  name: string
  caller: Measured
  /** The process with the host, where that is another one. */
  host?: Measured
  /** The plain program in this place. */
  plain?: Way
  /** Microseconds of CPU for a call, of each process, and milliseconds, by round. */
  client: number[]
  hosts: number[]
  all: number[]
  p50: number[]
  p99: number[]
}

const rounds = Number(values.rounds)
const ms = Number(values.ms)
const warmCalls = Number(values.warm)
const exportBytes = 100_000_000
const exportRounds = 3
/** For filling the store, and for an export and calls alone, on a machine with much other work. */
const exportLimitMs = 240_000
const folder = mkdtempSync(join(tmpdir(), 'jackfield-bench-'))
const none = () => ({ client: [], hosts: [], all: [], p50: [], p99: [] })

async function ways(): Promise<Way[]> {
  const made: Way[] = []
  for (const [kind, name] of [
    ['client', 'client, stdio'],
    ['plain-host', 'plain host in the process'],
    ['host', 'host.call'],
    ['plain-service', 'plain process and its client'],
    ['service', 'host process and its client'],
    ['plain-gateway', 'plain gateway and a client'],
    ['gateway', 'gateway and a client'],
  ] as const) {
    const store = join(folder, `${kind}.db`)
    const path = join(folder, `${kind}.sock`)
    const isRemote = kind.endsWith('service') || kind.endsWith('gateway')
    const plain = kind.startsWith('plain-') || kind === 'client' ? undefined : made.at(-1)
    const host = isRemote ? await start('servers/host-process.ts', [kind, store, path]) : undefined
    const caller = await start('clients/host-calls.ts', [kind, isRemote ? path : store])
    made.push({
      ...{ name, caller, ...none() },
      ...(host !== undefined && { host }),
      ...(plain !== undefined && { plain }),
    })
  }
  return made
}

/** Makes calls until each way made that many. */
async function warm(all: readonly Way[], calls: number): Promise<void> {
  for (const { caller } of all)
    for (let made = 0; made < calls; )
      made += Number((await caller.ask({ ms: ms / 2, together: 8 }))['calls'])
}

async function measure(all: readonly Way[], together: number): Promise<string> {
  for (const way of all) Object.assign(way, none())
  for (let round = 0; round <= rounds; round++) {
    for (const way of round % 2 === 0 ? all : all.toReversed()) {
      const before = (await way.host?.cpu()) ?? 0
      const done = await way.caller.ask({ ms: round === 0 ? ms / 2 : ms, together })
      const used = ((await way.host?.cpu()) ?? 0) - before
      if (done['failure'] !== undefined) throw new Error(String(done['failure']))
      if (round === 0) continue
      const calls = Number(done['calls'])
      const client = Number(done['cpu']) / calls
      way.client.push(client)
      way.hosts.push(used / calls)
      way.all.push(client + used / calls)
      way.p50.push(Number(done['p50']))
      way.p99.push(Number(done['p99']))
    }
  }
  const [clientOnly] = all
  return table(
    [
      'way',
      'µs CPU',
      '× client',
      '× plain',
      'of it in the calling process',
      'in the host process',
      'p50 ms',
      'p99 ms',
    ],
    all.map(({ name, client, hosts, all: both, p50, p99, host, plain }) => [
      name,
      median(both).toFixed(0),
      medianTimes(both, clientOnly?.all ?? []).toFixed(2),
      plain === undefined ? '–' : medianTimes(both, plain.all).toFixed(2),
      median(client).toFixed(0),
      host === undefined ? '–' : median(hosts).toFixed(0),
      median(p50).toFixed(2),
      median(p99).toFixed(2),
    ]),
  )
}

/** How long calls take while a log of 100 MB is exported; each round has a log of its own, since calls make it grow. */
async function measureExport(): Promise<string> {
  const largest: {
    beside: number[]
    alone: number[]
    p50: number[]
    p50Alone: number[]
    mb: number
    s: number[]
  } = {
    beside: [],
    alone: [],
    p50: [],
    p50Alone: [],
    mb: 0,
    s: [],
  }
  for (let round = 0; round < exportRounds; round++) {
    const store = join(folder, `export-${round}.db`)
    const caller = await start(
      'clients/host-export.ts',
      [store, String(exportBytes)],
      'ignore',
      exportLimitMs,
    )
    try {
      const done = await caller.ask({}, exportLimitMs)
      if (done['failure'] !== undefined) throw new Error(String(done['failure']))
      const numbers = (name: string): number[] => (Array.isArray(done[name]) ? done[name].map(Number) : [])
      const [beside, alone] = [numbers('beside'), numbers('alone')]
      largest.beside.push(beside.at(-1) ?? Number.NaN)
      largest.alone.push(alone.at(-1) ?? Number.NaN)
      largest.p50.push(median(beside))
      largest.p50Alone.push(median(alone))
      largest.mb = Number(done['bytes']) / 1e6
      largest.s.push(Number(done['ms']) / 1_000)
    } finally {
      await caller.close()
      rmSync(store, { force: true })
    }
  }
  return table(
    ['calls', 'p50 ms', 'largest ms'],
    [
      [
        `beside an export of ${largest.mb.toFixed(0)} MB (${median(largest.s).toFixed(1)} s)`,
        median(largest.p50).toFixed(2),
        median(largest.beside).toFixed(1),
      ],
      ['alone, as long', median(largest.p50Alone).toFixed(2), median(largest.alone).toFixed(1)],
    ],
  )
}

const all = await ways()
try {
  await warm(all, warmCalls)
  for (const together of [1, 8]) {
    console.log(`## ${together === 1 ? 'One call at a time' : `${together} calls at once`}\n`)
    console.log(`${await measure(all, together)}\n`)
  }
  console.log(`## Calls while the log is exported\n\n${await measureExport()}\n`)
} finally {
  await Promise.all(all.flatMap(({ caller, host }) => [caller.close(), host?.close()]))
  rmSync(folder, { recursive: true })
}
console.log(
  `${new Date().toISOString()}, \`npm run bench:host\`: ${rounds} rounds of ${ms} ms${warmCalls === 0 ? '' : ` after ${warmCalls} calls`}; ${availableParallelism()} cores, ${cpus()[0]?.model ?? 'unknown'}; Node ${process.version}`,
)
