// Times what `jackfield log` looks for among 100,000 events: `node bench/filters.ts [events]`.
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createActivityLog } from '../packages/host/src/log/store/activity-log.ts'
import { openDatabase } from '../packages/host/src/log/store/database.ts'
import { LogWriter, type NewTraceRow } from '../packages/host/src/log/store/log-writer.ts'
import { createTraceTable } from '../packages/host/src/log/store/trace-table.ts'
import { Events } from '../packages/host/src/log/trace/events.ts'

const count = Number(process.argv[2] ?? 100_000)
const runs = 9
const servers = ['files', 'shop', 'mail', 'issues', 'calendar', 'weather', 'maps', 'notes', 'db', 'music']
const words = ['alpha', 'bravo', 'order', 'price', 'Grüße', 'found', 'item', 'total', 'note', 'status']
const start = Date.UTC(2027, 0, 1)

const folder = mkdtempSync(join(tmpdir(), 'jackfield-filters-'))
const file = join(folder, 'store.db')
const database = openDatabase(file)
const writer = new LogWriter(database)
const table = createTraceTable(database, writer)
const log = createActivityLog(database, writer)

let seed = 7
const random = (below: number): number => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
  return seed % below
}
const text = (): string => Array.from({ length: 30 }, () => words[random(10)]).join(' ')

const wire = (at: number, more: Partial<NewTraceRow>): NewTraceRow => ({
  at,
  tick: at - start,
  kind: 'wire',
  server: 'files',
  connection: 'files/1',
  direction: 'sent',
  method: 'tools/call',
  tool: null,
  rpc: '1',
  cause: null,
  reply: null,
  status: null,
  ms: null,
  bytes: 300,
  summary: 'tools/call',
  payload: '{}',
  sha256: null,
  ...more,
})

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
const began = cpuMs()
let added = 0
for (let call = 0; added < count; call++) {
  const server = servers[call % servers.length] ?? 'files'
  const tool = `tool_${random(40)}`
  const at = start + call * 250
  const failed = random(100) < 3
  const ms = random(100) < 4 ? 500 + random(2_000) : 1 + random(200)
  const row = log.begin({
    kind: 'call',
    server,
    cause: null,
    summary: `call ${tool} of ${server}`,
    detail: { tool, arguments: { text: text() } },
  })
  const cause = { activity: row }
  const about = { server, connection: `${server}/${1 + Math.floor(call / 5_000)}`, rpc: String(call), tool }
  const asked = table.add(
    wire(at, {
      ...about,
      cause,
      payload: JSON.stringify({ method: 'tools/call', params: { text: text() } }),
    }),
  )
  table.add(
    wire(at + ms, {
      ...about,
      direction: 'received',
      cause: asked,
      reply: asked,
      status: failed ? 'error' : 'ok',
      ms,
      bytes: random(200) === 0 ? 2_000_000 : 700,
      payload: JSON.stringify({ result: { content: [{ type: 'text', text: text() }] } }),
    }),
  )
  table.add(wire(at + ms, { server, kind: 'stderr', direction: null, method: null, cause, payload: text() }))
  log.end(row, { outcome: failed ? 'error' : 'ok', durationMs: ms, detail: { result: text() } })
  added += 4
}
writer.flush()
const writing = cpuMs() - began

const events = new Events(
  () => table,
  () => start + count * 62.5,
)
const filters = [
  '',
  'server:shop',
  'kind:call',
  'kind:stderr server:mail',
  'status:error',
  'status:ok',
  'method:tools/call',
  'method:prompts/get',
  'tool:tool_7',
  'tool:tool_*',
  'direction:received',
  'connection:shop/2',
  'dur:>2400',
  'dur:>500',
  'dur:<2',
  'bytes:>1mb',
  'since:30m',
  'until:2027-01-01T00:10',
  'id:50000',
  'row:9000',
  'cause:40001',
  '-status:ok',
  '-server:shop kind:wire',
  'text:order',
  'text:"nowhere at all"',
  'text:zz',
  'server:shop dur:>1000 "price total"',
  'tool:nothing_*',
  'server:none direction:sent',
]
const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
const written = `${added} events, ${(statSync(file).size / 1e6).toFixed(0)} MB, each written in ${((writing / added) * 1_000).toFixed(0)} µs of processor time`
console.log(`${written}; ${cpus()[0]?.model ?? ''}, Node ${process.versions.node}, medians of ${runs}`)
for (const filter of filters) {
  const [took, spent]: [number[], number[]] = [[], []]
  let found = 0
  for (let run = 0; run < runs; run++) {
    const [since, cpu] = [performance.now(), cpuMs()]
    found = events.list({ filter, limit: 200 }).length
    took.push(performance.now() - since)
    spent.push(cpuMs() - cpu)
  }
  const [ms, cpu] = [median(took), median(spent)].map((value) => `${value.toFixed(1).padStart(7)} ms`)
  console.log(`${ms} ${cpu} of processor  ${String(found).padStart(4)} found  ${filter}`)
}
database.close()
rmSync(folder, { recursive: true })
