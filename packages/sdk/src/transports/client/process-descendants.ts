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

/** Set in the environment of a server process on Linux, so that what it starts can be found wherever it goes. */
export const serverIdVariable = 'JACKFIELD_SERVER_ID'

/**
 * A process that leads its own session, and on Linux everything that it started: found by its session, by its parent, and by
 * a variable with a random value that is handed down. Only a process that leaves the session, loses its parent and clears or
 * overwrites its environment, all before anyone looks, is not found. Elsewhere it is the process group alone.
 */
export class ProcessDescendants {
  readonly #leader: number
  readonly #variable: string
  /** When the leader started; undefined where processes cannot be listed. */
  readonly #since: number | undefined
  /** When each process that was found started, by its pid: a pid alone may have been given to another one. */
  #known = new Map<number, number>()
  #leaderEnded = false
  #groupEnded = false

  /** To be called before the end of the leader can be noticed, as its pid is free from then on. */
  constructor(leader: number, serverId: string) {
    this.#leader = leader
    this.#variable = `${serverIdVariable}=${serverId}`
    this.#since = process.platform === 'linux' ? readProcess(leader)?.startedAt : undefined
    if (this.#since !== undefined) this.#known.set(leader, this.#since)
  }

  /** To be called as soon as the leader has ended: its pid stays taken only while its session or group has members. */
  leaderEnded(): void {
    this.find()
    this.#leaderEnded = true
    this.#groupEnded = !isGroup(this.#leader)
  }

  /** Looks for what was started since, while those that started it still run. */
  find(): void {
    this.#running()
  }

  isRunning(): boolean {
    const running = this.#running()
    if (running !== undefined) return running.length > 0
    if (!this.#groupEnded) this.#groupEnded = this.#leaderEnded && !isGroup(this.#leader)
    return !this.#groupEnded
  }

  /**
   * Sends a signal to the process groups of all of them: a group as a whole, since members may start more meanwhile. `all`
   * saves listing the processes for each of many servers.
   */
  signal(signal: 'SIGTERM' | 'SIGKILL', all: ProcessEntry[] | undefined = listProcesses()): void {
    const running = this.#running(all)
    if (running === undefined) {
      if (this.isRunning()) send(this.#leader, signal)
      return
    }
    const signaled = new Set<number>()
    for (const { pid, group, startedAt } of running) {
      if (signaled.has(group)) continue
      // Read once more: it may have ended meanwhile, and its ids may be those of another process.
      const now = readProcess(pid)
      if (now === undefined || now.startedAt !== startedAt || now.group !== group) continue
      signaled.add(group)
      send(group, signal)
    }
  }

  /** Those that run; undefined where processes cannot be listed. */
  #running(all = listProcesses()): ProcessEntry[] | undefined {
    const since = this.#since
    if (since === undefined || all === undefined) return undefined
    // Nothing that a server starts can join the session of this process, or one of another process namespace (0).
    const foreign = new Set([0, 1, all.find(({ pid }) => pid === process.pid)?.session])
    const candidates = all.filter(({ session, startedAt }) => startedAt >= since && !foreign.has(session))
    const found = new Map<number, ProcessEntry>()
    const sessions = new Set(this.#leaderEnded ? [] : [this.#leader])
    const add = (entry: ProcessEntry): void => {
      found.set(entry.pid, entry)
      sessions.add(entry.session)
    }
    for (const entry of candidates) {
      if (this.#known.get(entry.pid) === entry.startedAt || hasVariable(entry.pid, this.#variable)) add(entry)
    }
    // Until nothing is added, as a child may be listed before its parent.
    for (let before = -1; before < found.size; ) {
      before = found.size
      for (const entry of candidates) {
        if (found.has(entry.pid)) continue
        if (found.has(entry.parent) || sessions.has(entry.session)) add(entry)
      }
    }
    this.#known = new Map([...found.values()].map(({ pid, startedAt }) => [pid, startedAt]))
    return [...found.values()].filter(({ ended }) => !ended)
  }
}

function isGroup(group: number): boolean {
  try {
    process.kill(-group, 0)
    return true
  } catch {
    return false
  }
}

function send(group: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(-group, signal)
  } catch {
    // It ended meanwhile, or belongs to another user.
  }
}
