import { readdirSync, readFileSync } from 'node:fs'

/**
 * Whether any process of a group still runs. On Linux one that ended does not count, though nobody took note of it yet:
 * in a container whose first process takes no note of orphans that is never.
 */
export function isGroupRunning(group: number): boolean {
  try {
    process.kill(-group, 0)
  } catch {
    return false
  }
  if (process.platform !== 'linux') return true
  try {
    return readdirSync('/proc').some((name) => /^\d+$/.test(name) && runsIn(name, group))
  } catch {
    return true
  }
}

function runsIn(pid: string, group: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name in parentheses may hold anything.
    const [state, , itsGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return Number(itsGroup) === group && state !== 'Z' && state !== 'X'
  } catch {
    return false
  }
}
