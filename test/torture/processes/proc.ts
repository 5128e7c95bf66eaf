import { readdirSync, readFileSync } from 'node:fs'

/** A process, as /proc of Linux shows it. */
export interface Running {
  pid: number
  parent: number
  group: number
  /** When it started, which distinguishes it from a later one with its id. */
  start: string
  /** Processor time it took so far. */
  cpuMs: number
}

const tickMs = 10

/** One process; undefined if it ended, even if it was not reaped yet. */
export function processOf(pid: number): Running | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [state, parent, group] = fields
    if (state === 'Z' || state === 'X') return undefined
    const cpuMs = (Number(fields[11]) + Number(fields[12])) * tickMs
    return { pid, parent: Number(parent), group: Number(group), start: fields[19] ?? '', cpuMs }
  } catch {
    return undefined
  }
}

/** Every process that runs. */
export function processes(): Running[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (processOf(Number(name)) ?? []) : []))
}

/** What a process started, what that started, and so on. */
export function descendants(pid: number, all: readonly Running[] = processes()): Running[] {
  const children = all.filter(({ parent }) => parent === pid)
  return children.flatMap((child) => [child, ...descendants(child.pid, all)])
}

/** Those of them that still run, with what they have used by now. */
export function stillRunning(of: readonly Running[]): Running[] {
  return of.flatMap(({ pid, start }) => {
    const now = processOf(pid)
    return now?.start === start ? [now] : []
  })
}
