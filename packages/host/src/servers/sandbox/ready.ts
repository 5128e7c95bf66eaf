import { execFile } from 'node:child_process'
import { realpath } from 'node:fs/promises'
import { release } from 'node:os'
import { promisify } from 'node:util'
import { findProgram } from '../../shared/files.ts'

/** Whether programs can be sandboxed on this machine, and if not, how to fix that. */
export type SandboxReadiness =
  | {
      ready: true
      program: string
      version: string
      /** Why a limit cannot be enforced on this machine; enforceable limits are absent. */
      unenforced: { maxProcesses?: string; maxTemporaryBytes?: string }
    }
  | { ready: false; reason: string; advice: string }

/** The folders of system programs visible in every sandbox. */
const systemPath = '/usr/bin:/bin:/run/current-system/sw/bin'

const run = promisify(execFile)
const commandTimeoutMs = 10_000

/** Finds bubblewrap and tests it with an empty sandbox. Never throws. */
export async function sandboxReady(
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<SandboxReadiness> {
  if (process.platform !== 'linux') {
    return {
      ready: false,
      reason: `sandboxes are offered on Linux only, and this is ${process.platform}`,
      advice:
        'Run the server in a container, or remove "sandbox" from its configuration to start it without one.',
    }
  }
  const program = await findProgram('bwrap', { path: env['PATH'] ?? '', cwd: '/' })
  if (program === undefined) {
    return {
      ready: false,
      reason: 'no folder in PATH contains bubblewrap (bwrap), which creates sandboxes',
      advice: 'Install it: apt install bubblewrap, dnf install bubblewrap or pacman -S bubblewrap.',
    }
  }
  try {
    const { stdout } = await run(program, ['--version'], { timeout: commandTimeoutMs, env: {} })
    await run(program, [...emptySandbox, program, '--version'], { timeout: commandTimeoutMs, env: {} })
    const version = stdout.trim().replace(/^bubblewrap /, '')
    const [processes, limitsTemporaryBytes] = [await processLimit(), isAtLeast(version, [0, 7])]
    return {
      ready: true,
      program,
      version,
      unenforced: {
        ...('reason' in processes && { maxProcesses: processes.reason }),
        ...(!limitsTemporaryBytes && { maxTemporaryBytes: 'it requires bubblewrap 0.7 or later' }),
      },
    }
  } catch (error) {
    return { ready: false, ...failureReason(error) }
  }
}

/**
 * The program that limits a sandbox's processes, or why the limit is unavailable. Since 5.14 Linux counts an account's processes
 * separately in each user namespace; before, all processes of the account would count. Root is never limited.
 */
export async function processLimit(): Promise<{ prlimit: string } | { reason: string }> {
  if (process.getuid?.() === 0) return { reason: 'Linux does not limit the processes of root' }
  if (!isAtLeast(release(), [5, 14])) return { reason: 'it requires Linux 5.14 or later' }
  const prlimit = await findProgram('prlimit', { path: systemPath, cwd: '/' })
  return prlimit === undefined
    ? { reason: 'prlimit is missing: install util-linux' }
    : { prlimit: await realpath(prlimit) }
}

function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [first = 0, second = 0] = version.split('.').map((part) => Number.parseInt(part, 10))
  return first > major || (first === major && second >= minor)
}

const emptySandbox = [
  '--unshare-all',
  '--die-with-parent',
  '--new-session',
  '--cap-drop',
  'ALL',
  '--ro-bind',
  '/',
  '/',
  '--proc',
  '/proc',
  '--dev',
  '/dev',
  '--',
]

function failureReason(error: unknown): { reason: string; advice: string } {
  const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : ''
  const message = stderr === '' ? (error instanceof Error ? error.message : String(error)) : stderr
  const reason = `bubblewrap cannot create a sandbox here: ${message.split('\n').at(-1) ?? message}`
  if (/namespace|uid map|permission denied|operation not permitted/i.test(message)) {
    return {
      reason,
      advice:
        'This system refuses user namespaces. Allow them (Ubuntu 24.04: an AppArmor profile for bwrap, or sysctl kernel.apparmor_restrict_unprivileged_userns=0; Debian: sysctl kernel.unprivileged_userns_clone=1; in a container: start it so that it may make namespaces).',
    }
  }
  return { reason, advice: 'Try it by hand: bwrap --ro-bind / / --unshare-all true' }
}
