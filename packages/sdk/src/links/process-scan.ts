import { readdirSync, readFileSync } from 'node:fs'

/** One process as `/proc/<pid>/stat` shows it. */
export interface ProcessEntry {
  pid: number
  /** Ended, but not collected by its parent: in a container whose first process collects no orphans it stays so. */
  ended: boolean
  parent: number
  group: number
  session: number
  /** In clock ticks since the system was started. With the pid it identifies one process. */
  startedAt: number
}

/** All processes, or undefined where they cannot be listed (other systems than Linux). */
export function listProcesses(): ProcessEntry[] | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    const names = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
    return names.flatMap((name) => readProcess(Number(name)) ?? [])
  } catch {
    return undefined
  }
}

/** One process, or undefined where there is none with this id. */
export function readProcess(pid: number): ProcessEntry | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name in parentheses may contain anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [state, parent, group, session] = fields
    return {
      pid,
      ended: state === 'Z' || state === 'X',
      parent: Number(parent),
      group: Number(group),
      session: Number(session),
      startedAt: Number(fields[19]),
    }
  } catch {
    return undefined
  }
}

/** Whether a process was started with this variable. False where its environment may not be read. */
export function hasVariable(pid: number, variable: string): boolean {
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`.includes(`\0${variable}\0`)
  } catch {
    return false
  }
}
