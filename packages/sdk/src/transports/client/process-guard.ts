import { type ChildProcess, spawn } from 'node:child_process'
import { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { withoutInheritedDescriptors } from './inherited-descriptors.ts'
import { serverIdVariable } from './process-descendants.ts'

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
