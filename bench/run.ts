import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { type HttpRow, measureHttp } from './http.ts'
import { measureStdio, type StdioRow } from './stdio.ts'
import { table } from './table.ts'
import { measureWeight, type WeightRow } from './weight.ts'

interface Report {
  date: string
  command: string
  machine: { cpu: string; cores: number; memoryGb: number; node: string }
  versions: Record<string, string>
  http: HttpRow[]
  stdio: StdioRow[]
  weight: WeightRow[]
}

const { values } = parseArgs({
  options: { quick: { type: 'boolean' }, json: { type: 'string' }, help: { type: 'boolean' } },
})
if (values.help) {
  console.log(
    'npm run bench -- [--quick] [--json FILE]\n\nMeasures CPU per call, calls per second, import time and size.',
  )
  process.exit(0)
}

const plan = values.quick
  ? { rounds: 3, ms: 300, warmUpMs: 800, connections: 16, window: 32, imports: 3 }
  : { rounds: 9, ms: 1000, warmUpMs: 2000, connections: 16, window: 32, imports: 9 }

const report: Report = {
  date: new Date().toISOString(),
  command: `npm run bench${values.quick ? ' -- --quick' : ''}`,
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
      '@modelcontextprotocol/node',
      '@modelcontextprotocol/sdk',
      'mcp-lite',
      'zod',
    ].map((name) => [name, versionOf(name)]),
  ),
  weight: await measured('import time and size', () => measureWeight(plan.imports)),
  stdio: await measured('stdio', () => measureStdio(plan)),
  http: await measured('HTTP', () =>
    measureHttp(plan, (round) =>
      progress(round === 0 ? '  warming up' : `  round ${round} of ${plan.rounds}`),
    ),
  ),
}

print(report)
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, undefined, 2)}\n`)

async function measured<T>(what: string, work: () => Promise<T>): Promise<T> {
  progress(`measuring ${what}`)
  return work()
}

function progress(text: string): void {
  if (process.stderr.isTTY) console.error(text)
}

function print({ date, command, machine, versions, http, stdio, weight }: Report): void {
  console.log(`${date}  ${command}`)
  console.log(`${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, node ${machine.node}`)
  console.log(
    Object.entries(versions)
      .map((pair) => pair.join(' '))
      .join(', '),
  )
  console.log(
    `\nHTTP, ${plan.connections} keep-alive connections, median of ${plan.rounds} × ${plan.ms / 1000} s; CPU of the server process\n`,
  )
  console.log(
    table(
      ['server', 'request', 'tools', 'µs CPU', 'requests/s', '× plain'],
      http.map((row) => [
        row.name,
        row.method,
        row.tools,
        row.cpu.toFixed(1),
        row.requestsPerSecond.toFixed(0),
        row.timesPlain.toFixed(2),
      ]),
    ),
  )
  console.log(`\nstdio, tools/call, 50 tools, ${plan.window} calls on their way at once\n`)
  console.log(
    table(
      ['server', 'µs CPU', 'calls/s', '× plain'],
      stdio.map((row) => [
        row.name,
        row.cpu.toFixed(1),
        row.requestsPerSecond.toFixed(0),
        row.timesPlain.toFixed(2),
      ]),
    ),
  )
  console.log(
    `\nImport of what an HTTP server needs, over bare node, median of ${plan.imports} fresh processes\n`,
  )
  console.log(
    table(
      ['package', 'ms', 'MB memory', 'kB minified', 'kB gzip'],
      weight
        .slice(1)
        .map((row) => [
          row.name,
          row.importMs.toFixed(1),
          row.memoryMb.toFixed(1),
          row.bundleKb?.toFixed(1) ?? '',
          row.gzipKb?.toFixed(1) ?? '',
        ]),
    ),
  )
}

function versionOf(name: string): string {
  const manifest = new URL(`../node_modules/${name}/package.json`, import.meta.url)
  return JSON.parse(readFileSync(manifest, 'utf8')).version
}
