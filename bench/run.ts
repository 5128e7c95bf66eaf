import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { measureClients } from './clients.ts'
import { type Report, writeReport } from './report.ts'
import { measureStdio } from './stdio.ts'
import { growths, serverTables, streamTable } from './tables.ts'
import { measureFirst, measureWeight } from './weight.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    out: { type: 'string' },
    json: { type: 'string' },
    help: { type: 'boolean' },
  },
})
if (values.help) {
  console.log(
    [
      'npm run bench -- [--quick] [--out FOLDER] [--json FILE]',
      '',
      'Measures CPU per call, calls per second, latency, import time and size, and writes RESULTS.md with its plots',
      'into bench, or into results/bench with --quick.',
    ].join('\n'),
  )
  process.exit(0)
}

const plan = values.quick
  ? { rounds: 3, ms: 120, warmUpMs: 400, window: 32, runs: 3 }
  : { rounds: 15, ms: 600, warmUpMs: 2000, window: 32, runs: 15 }
const growthPlan = values.quick
  ? { rounds: 1, ms: 100, warmUpMs: 150 }
  : { rounds: 5, ms: 600, warmUpMs: 1000 }

const weight = await measured('import time and size', () => measureWeight(plan.runs))
const first = await measured('first answers', () => measureFirst(plan.runs))
const stdio = await measured('stdio', () => measureStdio(plan))
const clients = await measured('clients', () => measureClients(plan))
const stream = await measured('event streams', () => streamTable(plan))
const tables = await measured('HTTP', () => serverTables(plan))
const report: Report = {
  date: new Date().toISOString(),
  command: `npm run bench${values.quick ? ' -- --quick' : ''}`,
  method: `${plan.rounds} of ${plan.ms} ms for the tables, ${growthPlan.rounds} of ${growthPlan.ms} ms for what grows`,
  machine: {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 1e9),
    node: process.version,
  },
  versions: Object.fromEntries(
    [
      '@jackfield/sdk',
      '@modelcontextprotocol/server',
      '@modelcontextprotocol/client',
      '@modelcontextprotocol/node',
      '@modelcontextprotocol/sdk',
      'mcp-lite',
      'tmcp',
      'fastmcp',
      'zod',
    ].map((name) => [name, versionOf(name)]),
  ),
  ...tables,
  stream,
  growths: await measured('growth', () => growths(growthPlan, values.quick ? 'ours' : 'all')),
  stdio,
  clients,
  weight,
  first,
}

const folder = join(root, values.out ?? (values.quick ? 'results/bench' : 'bench'))
writeReport(report, folder)
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`)
process.stderr.write('\r\u001b[K')
console.log(readFileSync(join(folder, 'RESULTS.md'), 'utf8'))

async function measured<T>(what: string, measure: () => Promise<T>): Promise<T> {
  process.stderr.write(`\r\u001b[K${what} …`)
  return await measure()
}

function versionOf(name: string): string {
  const file = new URL(`../node_modules/${name}/package.json`, import.meta.url)
  return String(JSON.parse(readFileSync(file, 'utf8')).version)
}
