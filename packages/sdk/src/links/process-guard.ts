import { type ChildProcess, spawn } from 'node:child_process'
import { Socket } from 'node:net'
import type { Writable } from 'node:stream'

/**
 * Reads "+group" and "-group". When its input ends, the groups left have a second, then most of another after SIGTERM: a
 * whole one where `sleep` knows no fractions.
 */
const script = `
groups=' '
while read -r change; do
  group=\${change#?}
  case $change in
    +*) groups="$groups$group " ;;
    -*) groups="\${groups%% $group *} \${groups#* $group }" ;;
  esac
done
for signal in TERM KILL; do
  case $signal$groups in
    TERM*[0-9]*) sleep 1 ;;
    KILL*[0-9]*) sleep 0.8 2>/dev/null || sleep 1 ;;
  esac
  for group in $groups; do kill -s $signal -- "-$group" 2>/dev/null; done
done
`

/**
 * A shell that outlives this process by two seconds at most and ends the process groups it left behind, however it
 * ended: a server that computes without end, or ignores that its input ended, would go on for ever. There is one for
 * all groups, from the first on. Where no shell is to be had, nothing is guarded.
 */
class ProcessGuard {
  readonly #groups = new Set<number>()
  #shell: ChildProcess | undefined
  #input: Writable | undefined

  add(group: number): void {
    this.#groups.add(group)
    if (this.#shell === undefined) this.#start()
    else this.#input?.write(`+${group}\n`)
  }

  delete(group: number): void {
    if (this.#groups.delete(group)) this.#input?.write(`-${group}\n`)
  }

  #start(): void {
    try {
      const options = { cwd: '/', env: { PATH: process.env['PATH'] }, detached: true }
      const shell = spawn('sh', ['-c', script], { ...options, stdio: ['pipe', 'ignore', 'ignore'] })
      this.#shell = shell
      shell.on('error', () => {})
      shell.once('exit', () => {
        this.#shell = undefined
        this.#input = undefined
      })
      shell.unref()
      shell.stdin.on('error', () => {})
      if (shell.stdin instanceof Socket) shell.stdin.unref()
      this.#input = shell.stdin
      for (const group of this.#groups) shell.stdin.write(`+${group}\n`)
    } catch {
      // As without a shell.
    }
  }
}

/** Guards the process groups that this process starts. */
export const guard: ProcessGuard = new ProcessGuard()
