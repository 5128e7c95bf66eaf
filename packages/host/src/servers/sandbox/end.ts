import { readdirSync, readFileSync } from 'node:fs'

/**
 * Asks the programs in a sandbox to end: bubblewrap passes no signal on, and would take them with it. `own` is how many
 * generations below bubblewrap are not the server's: the first process of the sandbox, and what joins it to its proxy.
 */
export function asksToEnd(own: number): (bwrap: number) => void {
  return (bwrap) => {
    const children = childrenOf()
    let generation: readonly number[] = [bwrap]
    for (let depth = 0; generation.length > 0; depth++) {
      if (depth > own) for (const pid of generation) terminate(pid)
      generation = generation.flatMap((pid) => children.get(pid) ?? [])
    }
  }
}

/** The processes that each process of this machine started. */
function childrenOf(): Map<number, number[]> {
  const found = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const parent = parentOf(name)
    if (parent === undefined) continue
    const children = found.get(parent) ?? []
    found.set(parent, children)
    children.push(Number(name))
  }
  return found
}

function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program stands in parentheses and may hold anything.
    const [, parent] = stat
      .slice(stat.lastIndexOf(')') + 1)
      .trim()
      .split(' ')
    return Number(parent)
  } catch {
    return undefined
  }
}

function terminate(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM')
  } catch {
    // It ended in the meantime.
  }
}
