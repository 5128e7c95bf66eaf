import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { type Deferred, deferred, waitAtMost } from '../../jsonrpc/promises.ts'
import { windowsEnd } from './windows-launch.ts'

/** One process as `/proc/<pid>/stat` shows it. */
interface ProcessEntry {
  pid: number
  /** Whether it is a zombie: ended, but not reaped. It stays in a container whose init process does not reap. */
  ended: boolean
  parent: number
  group: number
  session: number
  /** Clock ticks since boot. Identifies a process together with its pid. */
  startedAt: number
}

/** All processes, or undefined if they cannot be listed, as on systems other than Linux. */
function listProcesses(): ProcessEntry[] | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    const names = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
    return names.flatMap((name) => readProcess(Number(name)) ?? [])
  } catch {
    return undefined
  }
}

function readProcess(pid: number): ProcessEntry | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name in parentheses may contain any character.
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

/** Whether a process was started with this variable. False if its environment is not readable. */
function hasVariable(pid: number, variable: string): boolean {
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`.includes(`\0${variable}\0`)
  } catch {
    return false
  }
}

/** Set in the environment of a server process on Linux, to find its descendants. */
export const serverIdVariable = 'JACKFIELD_SERVER_ID'

/**
 * A process that leads its own session, with its descendants on Linux: found by session, by parent, and by an inherited
 * environment variable with a random value. Only a process that leaves the session, loses its parent and clears or
 * overwrites its environment before the first search is missed. On other systems it is the process group only.
 */
class ProcessDescendants {
  readonly #leader: number
  readonly #variable: string
  /** Start time of the leader; undefined if processes cannot be listed. */
  readonly #since: number | undefined
  /** Start times of the known processes by pid: a pid alone may be reused. */
  #known = new Map<number, number>()
  #leaderEnded = false
  #groupEnded = false

  /** Call before the exit of the leader can be noticed: its pid may be reused after that. */
  constructor(leader: number, serverId: string) {
    this.#leader = leader
    this.#variable = `${serverIdVariable}=${serverId}`
    this.#since = process.platform === 'linux' ? readProcess(leader)?.startedAt : undefined
    if (this.#since !== undefined) this.#known.set(leader, this.#since)
  }

  /** Call as soon as the leader has exited: its pid is only reserved while its session or group has members. */
  leaderEnded(): void {
    this.running()
    this.#leaderEnded = true
    this.#groupEnded = !signalGroup(this.#leader, 0)
  }

  isRunning(): boolean {
    const running = this.running()
    if (running !== undefined) return running.length > 0
    if (!this.#groupEnded) this.#groupEnded = this.#leaderEnded && !signalGroup(this.#leader, 0)
    return !this.#groupEnded
  }

  /**
   * Sends a signal to the process groups of all descendants, as a member of a group may start further processes meanwhile.
   * `all` avoids listing the processes for each of several servers.
   */
  signal(signal: 'SIGTERM' | 'SIGKILL', all: ProcessEntry[] | undefined = listProcesses()): void {
    const running = this.running(all)
    if (running === undefined) {
      if (this.isRunning()) signalGroup(this.#leader, signal)
      return
    }
    const signaled = new Set<number>()
    for (const { pid, group, startedAt } of running) {
      if (signaled.has(group)) continue
      // Read again: it may have ended meanwhile, and its ids may have been reused.
      const now = readProcess(pid)
      if (now === undefined || now.startedAt !== startedAt || now.group !== group) continue
      signaled.add(group)
      signalGroup(group, signal)
    }
  }

  /** Searches for descendants, which works while their parents still run. Undefined if processes cannot be listed. */
  running(all = listProcesses()): ProcessEntry[] | undefined {
    const since = this.#since
    if (since === undefined || all === undefined) return undefined
    // A descendant cannot join the session of this process, or one of another pid namespace (0).
    const foreign = new Set([0, 1, all.find(({ pid }) => pid === process.pid)?.session])
    const candidates = all.filter(({ session, startedAt }) => startedAt >= since && !foreign.has(session))
    const descendants = new Map<number, ProcessEntry>()
    const sessions = new Set(this.#leaderEnded ? [] : [this.#leader])
    const add = (entry: ProcessEntry): void => {
      descendants.set(entry.pid, entry)
      sessions.add(entry.session)
    }
    for (const entry of candidates) {
      if (this.#known.get(entry.pid) === entry.startedAt || hasVariable(entry.pid, this.#variable)) add(entry)
    }
    // Repeated, as a child may be listed before its parent.
    for (let before = -1; before < descendants.size; ) {
      before = descendants.size
      for (const entry of candidates) {
        if (descendants.has(entry.pid)) continue
        if (descendants.has(entry.parent) || sessions.has(entry.session)) add(entry)
      }
    }
    this.#known = new Map([...descendants.values()].map(({ pid, startedAt }) => [pid, startedAt]))
    return [...descendants.values()].filter(({ ended }) => !ended)
  }
}

/** Sends a signal to a process group, or with 0 none; false if it has ended, or belongs to another user. */
function signalGroup(group: number, signal: 'SIGTERM' | 'SIGKILL' | 0): boolean {
  try {
    return process.kill(-group, signal)
  } catch {
    return false
  }
}

/**
 * Reads "+group:id" and "-group:id", with an empty group for a server that is being started. When its input ends, the
 * remaining servers get SIGTERM after a second and SIGKILL 0.8 s later, or a second if `sleep` supports no fractions. On
 * Linux, processes outside the group are found by the id in their environment, which is read again immediately before the
 * signal.
 */
const guardScript = `
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
    [ "$group" ] && kill -s $signal -- "-$group" 2>/dev/null
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
 * A shell that ends the servers of this process within two seconds if it crashes or is killed: a server in an endless loop, or
 * one that ignores the end of its input, would run forever. One shell watches all servers. Without a shell, nothing is watched.
 */
class ProcessGuard {
  /** Process groups by server id; undefined while the server is being started. */
  readonly #servers = new Map<string, number | undefined>()
  #shell: ChildProcess | undefined
  #input: Writable | undefined

  /** Call before the server is started: this process may be killed before it knows the process group. */
  add(serverId: string): void {
    this.#servers.set(serverId, undefined)
    if (this.#shell === undefined) this.#start()
    else this.#input?.write(`+:${serverId}\n`)
  }

  started(serverId: string, group: number): void {
    this.#servers.set(serverId, group)
    this.#input?.write(`-:${serverId}\n+${group}:${serverId}\n`)
  }

  delete(serverId: string): void {
    const group = this.#servers.get(serverId)
    if (this.#servers.delete(serverId)) this.#input?.write(`-${group ?? ''}:${serverId}\n`)
  }

  #start(): void {
    try {
      const options = { cwd: '/', env: { PATH: process.env['PATH'] }, detached: true }
      const shell = withoutInheritedDescriptors(['pipe', 'ignore', 'ignore'], (stdio) =>
        spawn('sh', ['-c', guardScript], { ...options, stdio }),
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
      for (const [serverId, group] of this.#servers) stdin.write(`+${group ?? ''}:${serverId}\n`)
    } catch {
      // Without a shell, nothing is watched.
    }
  }
}

const guard: ProcessGuard = new ProcessGuard()

const onWindows = process.platform === 'win32'
const pollMs = 20
const running = new Set<ProcessTree>()

function endAll(): void {
  const all = listProcesses()
  for (const tree of running) tree.signal('SIGTERM', all)
}

/** A child process that leads its own session and process group, with its descendants. */
export class ProcessTree {
  readonly child: ChildProcess
  readonly #serverId: string
  readonly #exited: Deferred<void> = deferred()
  readonly #askToEnd: ((pid: number) => void) | undefined
  /** Undefined on Windows, where `taskkill` ends the tree. */
  readonly #descendants: ProcessDescendants | undefined
  #gone = false

  /**
   * @param serverId the value of the child's `serverIdVariable`
   * @param start starts the child, or throws
   * @param askToEnd called in place of SIGTERM to the tree
   */
  constructor(serverId: string, start: () => ChildProcess, askToEnd?: (pid: number) => void) {
    this.#serverId = serverId
    this.#askToEnd = askToEnd
    if (!onWindows) guard.add(serverId)
    try {
      this.child = start()
    } catch (error) {
      guard.delete(serverId)
      throw error
    }
    const { pid } = this.child
    this.#descendants = onWindows || pid === undefined ? undefined : new ProcessDescendants(pid, serverId)
    this.child.once('exit', () => {
      this.#gone = true
      this.#descendants?.leaderEnded()
      this.#exited.resolve()
    })
    if (running.size === 0) process.once('exit', endAll)
    running.add(this)
    if (!onWindows && pid !== undefined) guard.started(serverId, pid)
  }

  /**
   * Waits for the child to exit, then sends SIGTERM and finally SIGKILL to what still runs. Call before closing the child's
   * input: descendants are found reliably only while it runs.
   */
  async end(graceMs: number): Promise<void> {
    this.#descendants?.running()
    await waitAtMost(this.#exited.promise, graceMs)
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (!this.#alive()) break
      const { pid } = this.child
      if (signal === 'SIGTERM' && this.#askToEnd !== undefined && pid !== undefined) this.#askToEnd(pid)
      else this.signal(signal)
      await this.#untilGone(graceMs, signal)
    }
    running.delete(this)
    guard.delete(this.#serverId)
    if (running.size === 0) process.off('exit', endAll)
  }

  /** @param all the processes of this machine, if already listed */
  signal(signal: 'SIGTERM' | 'SIGKILL', all?: ProcessEntry[]): void {
    const { pid } = this.child
    if (pid === undefined) return
    if (!onWindows) this.#descendants?.signal(signal, all)
    else if (!this.#gone) {
      const { command, args } = windowsEnd(pid, process.env)
      spawn(command, args, { windowsHide: true, stdio: 'ignore' }).on('error', () => {})
    }
  }

  #alive(): boolean {
    if (this.child.pid === undefined) return false
    return !this.#gone || (this.#descendants?.isRunning() ?? false)
  }

  async #untilGone(ms: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const until = performance.now() + ms
    while (this.#alive() && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, pollMs))
      // Processes started while the others were killed.
      if (signal === 'SIGKILL' && !onWindows) this.signal(signal)
    }
  }
}

/** An entry of the `stdio` option of `spawn`. */
type ChildDescriptor = 'pipe' | 'ignore' | 'inherit' | 'ipc' | number

/**
 * Calls `start` with the `stdio` option for `spawn` or `fork`: `first`, then `/dev/null` in place of every further
 * descriptor that the child would inherit. Node opens its own descriptors close-on-exec, but those that this process was
 * started with (a shell's `200<folder`, a leak of a terminal) reach every child, also through a sandbox.
 *
 * They are replaced, as Node cannot close a descriptor of a child. Linux only, and only if `/proc` is readable. On macOS
 * libuv closes them (`POSIX_SPAWN_CLOEXEC_DEFAULT`); on Windows it passes on no numbered descriptors, and since the
 * version after 1.52.1 no other handles either.
 */
export function withoutInheritedDescriptors<T>(
  first: readonly ChildDescriptor[],
  start: (stdio: ChildDescriptor[]) => T,
): T {
  const inherited = inheritedDescriptors().filter((descriptor) => descriptor >= first.length)
  if (inherited.length === 0) return start([...first])
  const empty = openSync('/dev/null', 'r+')
  try {
    const stdio = [...first]
    // Descriptors in between stay closed in the child.
    for (const descriptor of inherited) {
      while (stdio.length < descriptor) stdio.push('ignore')
      stdio.push(empty)
    }
    return start(stdio)
  } finally {
    closeSync(empty)
  }
}

/** The inheritable descriptors from 3 up, in ascending order. */
function inheritedDescriptors(): number[] {
  if (process.platform !== 'linux') return []
  try {
    return readdirSync('/proc/self/fdinfo')
      .map(Number)
      .filter((descriptor) => descriptor > 2 && isInherited(descriptor))
      .sort((a, b) => a - b)
  } catch {
    return []
  }
}

const closeOnExec = 0o2000000

function isInherited(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1]
    return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0
  } catch {
    // Closed meanwhile, as the descriptor of the directory listing itself is.
    return false
  }
}
