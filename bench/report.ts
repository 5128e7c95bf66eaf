import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PairRow } from './pair.ts'
import { barPlot, linePlot } from './plot.ts'
import { table } from './table.ts'
import type { Growth, Row } from './tables.ts'
import type { FirstRow, WeightRow } from './weight.ts'

/** The results of one run. */
export interface Report {
  date: string
  command: string
  /** Number and duration of the rounds, in words. */
  method: string
  machine: { cpu: string; cores: number; memoryGb: number; node: string }
  versions: Record<string, string>
  calls: Row[]
  lists: Row[]
  stream: Row[]
  growths: Growth[]
  stdio: PairRow[]
  clients: PairRow[]
  weight: WeightRow[]
  first: FirstRow[]
}

/** Writes `RESULTS.md` and its plots into a folder. */
export function writeReport(report: Report, folder: string): void {
  mkdirSync(join(folder, 'plots'), { recursive: true })
  const { calls, growths } = report
  const bars = calls.map(({ name, cpu }) => ({ name, value: cpu }))
  const plots = [
    {
      name: 'calls',
      svg: barPlot({ title: 'tools/call over HTTP, 50 tools', of: 'µs CPU of the server for a call', bars }),
    },
    ...growths.map((growth) => ({ name: fileOf(growth), svg: linePlot(growth) })),
  ]
  for (const { name, svg } of plots) writeFileSync(join(folder, 'plots', `${name}.svg`), svg)
  writeFileSync(join(folder, 'RESULTS.md'), `${pageOf(report).join('\n\n')}\n`)
}

function pageOf(report: Report): string[] {
  const { machine, versions, calls, lists, stream, growths, stdio, clients, weight, first } = report
  return [
    '# Measurements',
    '`npm run bench` writes this page; `npm run bench -- --quick` a rough one into `results/bench` in less than a minute. Servers ' +
      'and clients are child processes on 127.0.0.1, load comes from another process, rounds take turns, ours with the plain ones ' +
      'and those of peers with plain ones of their own. The numbers are medians, and a multiple of plain is the median of what single rounds ' +
      'gave, because a machine that slows down for seconds slows both down. Peers run as their own documentation mounts them, by default settings; each could be configured ' +
      'otherwise. The plain rows are the limit: the same bytes are parsed and written with nothing in between. ' +
      'The plain HTTP server answers each request as soon as it arrived; ours serves the requests of one turn of the event loop in a row, ' +
      'which costs less with many connections and the same with one.',
    table(
      ['', ''],
      [
        ['run', `${report.date}, \`${report.command}\``],
        ['machine', `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, node ${machine.node}`],
        ['rounds', report.method],
        [
          'packages',
          Object.entries(versions)
            .map(([name, version]) => `${name} ${version}`)
            .join(', '),
        ],
      ],
    ),
    '## tools/call over HTTP, 50 tools, 16 connections',
    httpTable(calls),
    '![CPU of each server for a call](plots/calls.svg)',
    '## tools/list over HTTP, 50 tools, 16 connections',
    httpTable(lists),
    '## Progress notices as an event stream, 100 in each call',
    table(
      ['server', 'notices/s', '× plain', 'µs CPU for a call'],
      stream.map(({ name, countedPerSecond, times, cpu }) => [
        name,
        whole(countedPerSecond),
        hundredth(times.countedPerSecond),
        whole(cpu),
      ]),
    ),
    '## tools/call over stdio, 50 tools, 32 calls on their way at once',
    pairTable('server', stdio),
    '## Clients, 8 calls on their way at once to the same server',
    pairTable('client', clients),
    ...growths.flatMap((growth) => [
      `## ${growth.title}`,
      growthTable(growth),
      `![${growth.of}, by ${growth.over}](plots/${fileOf(growth)}.svg)`,
    ]),
    '## Import, over bare node',
    table(
      ['what', 'ms', 'CPU ms', 'MB memory', 'kB at once', 'kB gzip at once', 'kB gzip in all'],
      weight
        .slice(1)
        .map((row) => [
          row.name,
          tenth(row.importMs),
          tenth(row.importCpuMs),
          tenth(row.memoryMb),
          tenth(row.firstKb),
          tenth(row.firstGzipKb),
          tenth(row.allGzipKb),
        ]),
    ),
    'Code loaded on import is separate from code loaded on first use.',
    '## From the start of a stdio server to its first answer',
    table(
      ['server', 'ms', 'over bare node'],
      first.map(({ name, ms, over }) => [name, tenth(ms), tenth(over)]),
    ),
    '## How far to trust it',
    'Compare ratios within one run, not microseconds across runs: on a shared machine single rows move by a third from run to run. ' +
      'The load generator and the servers share the cores, so calls in a second say less than CPU for a call.',
  ]
}

function httpTable(rows: readonly Row[]): string {
  return table(
    ['server', 'µs CPU', '× plain', 'requests/s', 'p50 ms', 'p99 ms', 'p99 × plain'],
    rows.map(({ name, cpu, times, perSecond, p50, p99 }) => [
      name,
      tenth(cpu),
      hundredth(times.cpu),
      whole(perSecond),
      p50.toFixed(2),
      p99.toFixed(2),
      hundredth(times.p99),
    ]),
  )
}

function pairTable(what: string, rows: readonly PairRow[]): string {
  return table(
    [what, 'µs CPU', '× plain', 'calls/s', '× plain calls/s'],
    rows.map(({ name, cpu, perSecond, times }) => [
      name,
      tenth(cpu),
      hundredth(times.cpu),
      whole(perSecond),
      hundredth(times.perSecond),
    ]),
  )
}

function growthTable({ over, of, points, lines }: Growth): string {
  const head = [`${of}, by ${over}`, ...points.map(String)]
  return table(
    head,
    lines.map(({ name, values }) => [
      name,
      ...values.map((value) => (value < 10 ? value.toFixed(2) : tenth(value))),
    ]),
  )
}

function fileOf({ title }: Growth): string {
  return title.toLowerCase().replaceAll(' ', '-')
}

function whole(value: number): string {
  return String(Math.round(value))
}

function tenth(value: number | undefined): string {
  return value === undefined ? '–' : value.toFixed(1)
}

function hundredth(value: number): string {
  return value.toFixed(2)
}
