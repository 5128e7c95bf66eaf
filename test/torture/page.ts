import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Chapter, chapters, type Figure } from './figure.ts'

const file = fileURLToPath(new URL('figures.json', import.meta.url))

/** A figure, and where and when it was found. */
export interface StoredFigure extends Figure {
  machine: string
  node: string
  date: string
}

/** The stored figures, by campaign and mode. */
export function storedFigures(): StoredFigure[] {
  return JSON.parse(readFileSync(file, 'utf8'))
}

/** Adds the runs of each campaign up. @throws Error if one measured what cannot be added */
export function addUp(found: readonly StoredFigure[]): StoredFigure[] {
  const sums = new Map<string, StoredFigure>()
  for (const one of found) {
    const sum = sums.get(one.id)
    sums.set(one.id, sum === undefined ? one : sumOf(sum, one))
  }
  return [...sums.values()]
}

function sumOf(sum: StoredFigure, one: StoredFigure): StoredFigure {
  const counts = new Map<string, number>()
  for (const { name, value, unit } of [...sum.measured, ...one.measured]) {
    if (unit !== '') throw new Error(`${one.id} measures "${name}" in ${unit}: make it in one run`)
    counts.set(name, (counts.get(name) ?? 0) + value)
  }
  return {
    ...sum,
    runs: (sum.runs ?? 1) + (one.runs ?? 1),
    trials: sum.trials + one.trials,
    seconds: Math.round((sum.seconds + one.seconds) * 10) / 10,
    measured: [...counts].map(([name, value]) => ({ name, value, unit: '' })),
  }
}

/** Puts new figures in the place of older ones of the same campaigns and modes. */
export function keep(found: StoredFigure[]): StoredFigure[] {
  const name = ({ id, mode }: StoredFigure): string => `${id} ${mode}`
  const all = new Map([...storedFigures(), ...found].map((one) => [name(one), one]))
  const sorted = [...all.values()].sort((a, b) => (name(a) < name(b) ? -1 : 1))
  writeFileSync(file, `${JSON.stringify(sorted, undefined, 2)}\n`)
  return sorted
}

/** The tables of docs/reliability.md. */
export function tables(of: StoredFigure[]): string {
  return chapters
    .map((chapter) => [chapter, of.filter((one) => one.chapter === chapter)] as const)
    .filter(([, rows]) => rows.length > 0)
    .map(([chapter, rows]) => table(chapter, rows))
    .join('\n\n')
}

function table(chapter: Chapter, rows: StoredFigure[]): string {
  const head = ['claim', 'failed', 'less than (95 %)', 'measured beside it', 'found', 'again']
  const lines = rows.map((one) => [
    one.claim,
    `0 of ${count(one.trials)} × ${one.trial}`,
    bound(one.trials),
    one.measured.map(({ name, value, unit }) => `${name} ${count(value)} ${unit}`.trim()).join('; ') || '–',
    `${one.date}, ${one.machine}, Node ${one.node}, ${count(one.seconds)} s${one.runs === undefined ? '' : `, ${one.runs} runs`}`,
    `\`npm run torture -- --only ${one.id}${one.mode === 'long' ? ' --long' : ''}${one.runs === undefined ? '' : ` --runs ${one.runs}`}\``,
  ])
  return [`## ${chapter}`, '', row(head), row(head.map(() => '---')), ...lines.map(row)].join('\n')
}

function row(cells: string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

/** What "0 of N" leaves possible: the chance of one failure is below 3/N, 95 times of 100. */
function bound(trials: number): string {
  return trials < 30 ? '–' : (3 / trials).toExponential(1).replace('e', ' · 10^').replace('+', '')
}

function count(value: number): string {
  return value.toLocaleString('en-GB', { maximumFractionDigits: 2 })
}
