import { existsSync, globSync, readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { run } from '../scripts/run.ts'
import { measureClients } from './clients.ts'
import { echo, measure, medians, type Target, timesOf } from './http.ts'
import type { PairRow } from './pair.ts'
import { median } from './process.ts'
import { measureStdio } from './stdio.ts'
import { table } from './table.ts'
import { importOnce } from './weight.ts'

const help = `npm run bench:compare -- FOLDER [--rounds N] [--ms N]

Compares the SDK of another checkout of this repository in FOLDER, built there, with the SDK of this one: CPU per call as a
multiple of a plain program, import time, and size of the sources. Both are measured in turn in every round, so a busy machine
slows both down; the table has medians of the rounds.`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '15' },
    ms: { type: 'string', default: '600' },
    help: { type: 'boolean', default: false },
  },
})
const [folder] = positionals
if (values.help || folder === undefined) {
  console.log(help)
  process.exit(values.help ? 0 : 2)
}

const here = fileURLToPath(new URL('.', import.meta.url))
const checkouts = { before: resolve(folder), after: resolve(here, '..') }
for (const path of Object.values(checkouts)) {
  if (existsSync(join(path, 'packages/sdk/dist/index.js'))) continue
  console.error(`${path} has no built SDK. Run "npm ci && npm run build" there.`)
  process.exit(2)
}

const plan = { rounds: Number(values.rounds), ms: Number(values.ms), warmUpMs: 2000, window: 32 }
const sides = ['before', 'after'] as const
/** A file of the benchmark of a checkout, relative to a folder of this one. */
const fileOf = (side: (typeof sides)[number], folder: string, file: string): string =>
  join(relative(join(here, folder), join(checkouts[side], 'bench', folder)), file)

const rows: (string | number)[][] = []

const loads = {
  'tools/call over HTTP, 2026-07-28': { ...echo, path: '/mcp' },
  'tools/call over HTTP in a session, 2025-11-25': { ...echo, wire: 'session', path: '/mcp' },
  'tools/list over HTTP, 2026-07-28, 50 tools': { ...echo, method: 'tools/list', path: '/mcp' },
} as const satisfies Record<string, Target['load']>
for (const [name, load] of Object.entries(loads)) {
  // The plain server knows an echo alone, so an echo is the limit of lists too.
  const plain: Target = { name: 'plain', file: 'plain', tools: 1, load: echo }
  const targets = sides.map((side) => ({
    name: side,
    file: fileOf(side, 'servers', 'jackfield'),
    tools: 50,
    load,
  }))
  const result = await measure([plain, ...targets], plan)
  const limit = result.get(plain) ?? []
  const [before, after] = targets.map((target) => result.get(target) ?? [])
  rows.push(
    rowOf(name, 'node:http', timesOf(before ?? [], limit).cpu, timesOf(after ?? [], limit).cpu, [
      medians(before ?? []).cpu,
      medians(after ?? []).cpu,
    ]),
  )
}

const stdio = await measureStdio(plan, [
  { name: 'plain', file: 'plain-stdio' },
  ...sides.map((side) => ({ name: side, file: fileOf(side, 'servers', 'jackfield-stdio') })),
])
rows.push(pairOf('tools/call over stdio, 2026-07-28', 'JSON lines', stdio))

const clients = await measureClients(plan, [
  { name: 'plain', kind: 'fetch' },
  ...sides.map((side) => ({ name: side, kind: fileOf(side, 'clients', 'jackfield') })),
])
rows.push(pairOf('client.call over HTTP, 2026-07-28', 'fetch', clients))

console.log(
  `\n${table(
    ['CPU of a call', 'plain program', '× before', '× after', 'µs before', 'µs after', 'after/before'],
    rows,
  )}\n`,
)

const imported = (side: (typeof sides)[number], entry: string) => {
  const cwd = join(checkouts[side], 'bench')
  return importOnce(`export * from '${entry}'`, cwd).ms - importOnce('', cwd).ms
}
const entries = ['@jackfield/sdk/http', '@jackfield/sdk/stdio', '@jackfield/sdk/client']
const importRows = entries.map((entry) => {
  const taken = { before: [] as number[], after: [] as number[] }
  for (let round = 0; round < plan.rounds; round++) {
    for (const side of sides) taken[side].push(imported(side, entry))
  }
  return [entry, median(taken.before).toFixed(1), median(taken.after).toFixed(1)]
})
console.log(`${table(['import, ms over bare node', 'before', 'after'], importRows)}\n`)

const paths = await Promise.all(sides.map(async (side) => pathsOf(checkouts[side])))
console.log(
  `${table(
    ['of packages/sdk/src', 'before', 'after'],
    [
      ['files', ...sides.map((side) => sourcesOf(side).length)],
      [
        'lines',
        ...sides.map((side) => sourcesOf(side).reduce((sum, text) => sum + text.split('\n').length - 1, 0)),
      ],
      ...(paths[1] ?? []).map(([name, count]) => [
        name,
        paths[0]?.find(([other]) => other === name)?.[1] ?? '–',
        count,
      ]),
    ],
  )}\n`,
)
console.log(
  `${plan.rounds} rounds of ${plan.ms} ms; ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}; Node ${process.version}`,
)

function rowOf(
  name: string,
  plain: string,
  before: number,
  after: number,
  [beforeUs = Number.NaN, afterUs = Number.NaN]: readonly number[],
): (string | number)[] {
  return [
    name,
    plain,
    before.toFixed(2),
    after.toFixed(2),
    beforeUs.toFixed(1),
    afterUs.toFixed(1),
    (after / before).toFixed(2),
  ]
}

function pairOf(name: string, plain: string, measured: readonly PairRow[]): (string | number)[] {
  const [, before, after] = measured
  return rowOf(name, plain, before?.times.cpu ?? Number.NaN, after?.times.cpu ?? Number.NaN, [
    before?.cpu ?? Number.NaN,
    after?.cpu ?? Number.NaN,
  ])
}

function sourcesOf(side: (typeof sides)[number]): string[] {
  const folder = join(checkouts[side], 'packages/sdk/src')
  return globSync('**/*.ts', { cwd: folder }).map((file) => readFileSync(join(folder, file), 'utf8'))
}

/** What `npm run call-path` prints for the sources of a checkout. */
async function pathsOf(checkout: string): Promise<[string, string][]> {
  const script = join(checkouts.after, 'scripts/call-path.ts')
  const { output } = await run(['node', script, '--checkout', checkout], { limitMs: 60_000 })
  return Array.from(output.matchAll(/^(.+): (\d+ files, \d+ functions)$/gm), ([, name = '', count = '']) => [
    name,
    count,
  ])
}
