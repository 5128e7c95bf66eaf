import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { withoutInheritedDescriptors } from './inherited-descriptors.ts'
import { windowsEnd } from './windows-launch.ts'

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

/**
 * Reads "+group:id" and "-group:id". When its input ends, the servers left have a second, then most of another after
 * SIGTERM: a whole one where `sleep` knows no fractions. On Linux the processes that left the group are found by the id
 * in their environment, which is read again immediately before the signal.
 */
const script = `
servers=' '
while read -r change; do
  server=\${change#?}
  case $change in
    +*) servers="$servers$server " ;;
    -*) servers="\${servers%% $server *} \${servers#* $server }" ;;
  esac
done
for signal in TERM KILL; do
  case $signal$servers in
    TERM*[0-9]*) sleep 1 ;;
    KILL*[0-9]*) sleep 0.8 2>/dev/null || sleep 1 ;;
  esac
  for server in $servers; do
    group=\${server%%:*}
    variable=${serverIdVariable}=\${server#*:}
    kill -s $signal -- "-$group" 2>/dev/null
    for environ in $(grep -lsF "$variable" /proc/[0-9]*/environ); do
      process=\${environ%/environ}
      read -r stat 2>/dev/null <"$process/stat" || continue
      set -- \${stat##*) }
      [ "$3" != "$group" ] && grep -qsF "$variable" "$environ" && kill -s $signal "\${process#/proc/}" 2>/dev/null
    done
  done
done
`

/**
 * A shell that outlives this process by two seconds at most and ends the servers it left behind, however it ended: one
 * that computes without end, or ignores that its input ended, would run for ever. There is one for all servers, from the
 * first on. Where no shell is to be had, nothing is guarded.
 */
class ProcessGuard {
  /** The id of each server by its process group. */
  readonly #servers = new Map<number, string>()
  #shell: ChildProcess | undefined
  #input: Writable | undefined

  add(group: number, serverId: string): void {
    this.#servers.set(group, serverId)
    if (this.#shell === undefined) this.#start()
    else this.#input?.write(`+${group}:${serverId}\n`)
  }

  delete(group: number): void {
    const serverId = this.#servers.get(group)
    if (this.#servers.delete(group)) this.#input?.write(`-${group}:${serverId}\n`)
  }

  #start(): void {
    try {
      const options = { cwd: '/', env: { PATH: process.env['PATH'] }, detached: true }
      const shell = withoutInheritedDescriptors(['pipe', 'ignore', 'ignore'], (stdio) =>
        spawn('sh', ['-c', script], { ...options, stdio }),
      )
      this.#shell = shell
      shell.on('error', () => {})
      shell.once('exit', () => {
        this.#shell = undefined
        this.#input = undefined
      })
      shell.unref()
      const { stdin } = shell
      if (stdin === null) return
      stdin.on('error', () => {})
      if (stdin instanceof Socket) stdin.unref()
      this.#input = stdin
      for (const [group, serverId] of this.#servers) stdin.write(`+${group}:${serverId}\n`)
    } catch {
      // As without a shell.
    }
  }
}

/** Guards the servers that this process starts. */
export const guard: ProcessGuard = new ProcessGuard()

const onWindows = process.platform === 'win32'
const pollMs = 20
const running = new Set<ProcessTree>()

function endAll(): void {
  const all = listProcesses()
  for (const tree of running) tree.signal('SIGTERM', all)
}

/** A child that leads its own session and process group, with everything it started in turn. */
export class ProcessTree {
  readonly #child: ChildProcess
  readonly #exited: Promise<void>
  readonly #askToEnd: ((pid: number) => void) | undefined
  /** What it started; undefined on Windows, where another program ends it all. */
  readonly #descendants: ProcessDescendants | undefined
  #gone = false

  /** `serverId` is the value of the child's `serverIdVariable`; `askToEnd` takes the place of SIGTERM to all of it. */
  constructor(child: ChildProcess, serverId: string, askToEnd?: (pid: number) => void) {
    this.#child = child
    this.#askToEnd = askToEnd
    const { pid } = child
    this.#descendants = onWindows || pid === undefined ? undefined : new ProcessDescendants(pid, serverId)
    this.#exited = new Promise((resolve) => {
      child.once('exit', () => {
        this.#gone = true
        this.#descendants?.leaderEnded()
        resolve()
      })
    })
    if (running.size === 0) process.once('exit', endAll)
    running.add(this)
    if (!onWindows && pid !== undefined) guard.add(pid, serverId)
  }

  /**
   * Waits until the tree has ended by itself, then sends SIGTERM to what still runs, and SIGKILL when it runs on. To be
   * called before the child is asked to end: what it started is found best while it runs.
   */
  async end(graceMs: number): Promise<void> {
    this.#descendants?.find()
    await within(this.#exited, graceMs)
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (!this.#alive()) break
      const { pid } = this.#child
      if (signal === 'SIGTERM' && this.#askToEnd !== undefined && pid !== undefined) this.#askToEnd(pid)
      else this.signal(signal)
      await this.#untilGone(graceMs, signal)
    }
    running.delete(this)
    if (this.#child.pid !== undefined) guard.delete(this.#child.pid)
    if (running.size === 0) process.off('exit', endAll)
  }

  /** `all` are the processes of this machine where they were listed already. */
  signal(signal: 'SIGTERM' | 'SIGKILL', all?: ProcessEntry[]): void {
    const { pid } = this.#child
    if (pid === undefined) return
    if (!onWindows) this.#descendants?.signal(signal, all)
    else if (!this.#gone) endOnWindows(pid)
  }

  #alive(): boolean {
    if (this.#child.pid === undefined) return false
    return !this.#gone || (this.#descendants?.isRunning() ?? false)
  }

  async #untilGone(ms: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const until = performance.now() + ms
    while (this.#alive() && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, pollMs))
      // What was started while the others were killed.
      if (signal === 'SIGKILL' && !onWindows) this.signal(signal)
    }
  }
}

function endOnWindows(pid: number): void {
  const { command, args } = windowsEnd(pid, process.env)
  const kill = spawn(command, args, { windowsHide: true, stdio: 'ignore' })
  kill.on('error', () => {})
}

/** Waits for a promise, but no longer than this. */
export async function within(promise: Promise<unknown>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([promise, late])
  clearTimeout(timer)
}
