import { availableParallelism, cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { echo } from './http.ts'
import { answerOf, type Measured, median, medianTimes, start } from './process.ts'
import { table } from './table.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    ms: { type: 'string', default: '1000' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(
    [
      'npm run bench:workers -- [--rounds N] [--ms N]',
      '',
      'Calls per second of a server in one process, and with one worker for each core, for handlers with different amounts of work.',
      'The load generator needs CPU too, about 15 µs a call, so calls without work show its share rather than the workers.',
    ].join('\n'),
  )
  process.exit(0)
}

const rounds = Number(values.rounds)
const ms = Number(values.ms)
const counts = [1, availableParallelism()]
const generator = await start('load.ts')
const rows: (string | number)[][] = []
for (const kb of [0, 100, 500, 2000]) {
  const servers = new Map<number, Measured>()
  const rates = new Map<number, number[]>(counts.map((count) => [count, []]))
  try {
    for (const count of counts) {
      process.env['BENCH_WORKERS'] = String(count)
      process.env['BENCH_KB'] = String(kb)
      servers.set(count, await start('servers/jackfield-workers.ts'))
    }
    for (let round = 0; round <= rounds; round++) {
      for (const [count, { port }] of round % 2 === 0 ? servers : [...servers].toReversed()) {
        await answerOf(generator.child, { ...echo, path: '/mcp', port, ms }, 'the load generator')
        const loaded = await answerOf(generator.child, 'go', 'the load generator')
        if (loaded['failure'] !== undefined) throw new Error(String(loaded['failure']))
        if (round > 0) rates.get(count)?.push((Number(loaded['requests']) / Number(loaded['ms'])) * 1000)
      }
    }
  } finally {
    await Promise.all([...servers.values()].map((server) => server.close()))
  }
  const [one = [], all = []] = counts.map((count) => rates.get(count) ?? [])
  rows.push([
    kb,
    (1e6 / median(one)).toFixed(0),
    median(one).toFixed(0),
    median(all).toFixed(0),
    medianTimes(all, one).toFixed(2),
  ])
}
await generator.close()
console.log(
  table(
    [
      'kB hashed for a call',
      'µs for a call, one process',
      'calls/s, one process',
      `calls/s, ${counts[1]} workers`,
      'times',
    ],
    rows,
  ),
)
console.log(
  `\n${rounds} rounds of ${ms} ms; ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}; Node ${process.version}`,
)
