import { readFileSync, writeFileSync } from 'node:fs'
import { arch, cpus, platform, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { root } from '../scripts/run.ts'
import { tools, versionOf } from './tools.ts'
import type { Tool, Verdict } from './types.ts'

/** Where and with what the cells were decided. */
export interface Circumstances {
  date: string
  machine: string
  node: string
  /** By how much all waiting was longer, since the machine was busy. */
  patience: number
  versions: Partial<Record<Tool, { package: string; version: string }>>
}

/** What is kept of a run: `cells[script id][tool]`. */
export interface Results {
  run: Circumstances
  cells: Record<string, Partial<Record<Tool, Verdict>>>
}

const file = join(root, 'scorecard/results.json')

/** The note of a cell begins so when the script broke off, which tells of the script and not of the tool. */
export const brokeOff = 'The script broke off: '

/** The results that are kept in the repository. */
export function readResults(): Results {
  return JSON.parse(readFileSync(file, 'utf8'))
}

export function writeResults(results: Results): void {
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`)
}

/** The circumstances of a run that begins now. */
export function circumstances(patience: number): Circumstances {
  const processors = cpus()
  const memory = Math.round(totalmem() / 2 ** 30)
  const versions: Circumstances['versions'] = {}
  for (const tool of tools) {
    const version = versionOf(tool)
    if (version !== undefined) versions[tool] = version
  }
  return {
    date: new Date().toISOString().slice(0, 10),
    machine: `${processors.length} × ${processors[0]?.model.trim() ?? 'unknown'}, ${memory} GiB, ${platform()} ${release()} ${arch()}`,
    node: process.version,
    patience,
    versions,
  }
}
