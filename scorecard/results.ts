import { readFileSync, writeFileSync } from 'node:fs'
import { arch, cpus, platform, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { root } from '../scripts/run.ts'
import { clis, versionOf } from './clis.ts'
import type { Cli, Verdict } from './types.ts'

/** The machine and the versions of a run. */
export interface RunEnvironment {
  date: string
  machine: string
  node: string
  /** Factor for all timeouts. */
  patience: number
  versions: Partial<Record<Cli, { package: string; version: string }>>
}

/** The stored verdicts: `cells[script id][command line]`. */
export interface Results {
  run: RunEnvironment
  cells: Record<string, Partial<Record<Cli, Verdict>>>
}

const file = join(root, 'scorecard/results.json')

/** Start of the note of a script that failed with an error of its own, which is no verdict on the command line. */
export const scriptError = 'The script failed: '

/** Reads the results stored in the repository. */
export function readResults(): Results {
  return JSON.parse(readFileSync(file, 'utf8'))
}

export function writeResults(results: Results): void {
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`)
}

/** The environment of a run that starts now. */
export function runEnvironment(patience: number): RunEnvironment {
  const processors = cpus()
  const memory = Math.round(totalmem() / 2 ** 30)
  const versions: RunEnvironment['versions'] = {}
  for (const cli of clis) {
    const version = versionOf(cli)
    if (version !== undefined) versions[cli] = version
  }
  return {
    date: new Date().toISOString().slice(0, 10),
    machine: `${processors.length} × ${processors[0]?.model.trim() ?? 'unknown'}, ${memory} GiB, ${platform()} ${release()} ${arch()}`,
    node: process.version,
    patience,
    versions,
  }
}
