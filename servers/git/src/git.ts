import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { ToolError } from '@jackfield/sdk'
import { clip, decode } from './text.ts'

/*
 * Runs the git program: an array of arguments, no shell, a bounded number of processes, output and time, and the end of the
 * whole process group when a request is cancelled. What a repository may configure is decided in hardening.ts.
 */

/** Bounds on the git processes of one server. */
export interface GitLimits {
  /** Milliseconds that one git process may run. */
  timeoutMs: number
  /** Git processes at the same time. */
  concurrency: number
}

/** One invocation. */
export interface Invocation {
  args: readonly string[]
  cwd: string
  env: Readonly<Record<string, string>>
  signal: AbortSignal
  /** Written to standard input. Default: nothing. */
  input?: string | Buffer
  /** Bytes of standard output to leave out at its start. Default 0. */
  skip?: number
  /** Bytes of standard output to collect. The process is ended when it writes more. Default 4 MiB. */
  limit?: number
  /** Exit codes besides 0 that are not a failure. */
  allow?: readonly number[]
}

/** What a process wrote until it ended. */
export interface GitOutput {
  code: number
  stdout: Buffer
  stderr: string
  /** Whether there was more output than the limit. */
  truncated: boolean
}

const defaultLimit = 4_194_304
const maxStderrBytes = 16_384
const killDelayMs = 2_000
/** The first version with GIT_CONFIG_GLOBAL and GIT_CONFIG_COUNT, without which a repository's configuration stays active. */
const minVersion = [2, 32] as const
/** Maximum number of requests that wait for a git process. */
const maxQueued = 64

/** A failed git invocation. The message is that of git, without its prefix. */
export class GitError extends ToolError {
  override readonly name: string = 'GitError'
  readonly code: number

  constructor(args: readonly string[], code: number, stderr: string) {
    // Hints advise on options and configuration, which a caller of this server cannot set.
    const why = stderr
      .replaceAll(/^hint:.*(\n|$)/gm, '')
      .replaceAll(/^(fatal|error): /gm, '')
      .trim()
    super(`git ${args[0]} failed: ${clip(why === '' ? `exit code ${code}` : why, 2_000)}`)
    this.code = code
  }
}

/** The git program of this machine and its running processes. */
export class Git {
  readonly #limits: GitLimits
  readonly #configuredProgram: string | undefined
  #program: Promise<string> | undefined
  #running = 0
  readonly #waiting: (() => void)[] = []

  /** @param program an absolute path. Default: the first `git` in an absolute folder of PATH */
  constructor(limits: GitLimits, program?: string) {
    this.#limits = limits
    this.#configuredProgram = program
  }

  /**
   * Runs git.
   * @throws GitError for an exit code that is not allowed; ToolError when it takes too long or cannot be started
   */
  async run(invocation: Invocation): Promise<GitOutput> {
    const { signal, args, allow = [] } = invocation
    signal.throwIfAborted()
    if (args.some((arg) => arg.includes('\0'))) {
      throw new ToolError('An argument contains NUL, which git cannot take. Leave it out.')
    }
    this.#program ??= findProgram(this.#configuredProgram).catch((error: unknown) => {
      // It may be installed later.
      this.#program = undefined
      throw error
    })
    const program = await this.#program
    await this.#acquire(signal)
    try {
      const output = await this.#spawn(program, invocation)
      const failed = output.code !== 0 && !output.truncated && !allow.includes(output.code)
      if (failed) throw new GitError(args, output.code, output.stderr)
      return output
    } finally {
      this.#release()
    }
  }

  /** Waits until another process may run. */
  async #acquire(signal: AbortSignal): Promise<void> {
    if (this.#running < this.#limits.concurrency) {
      this.#running++
      return
    }
    if (this.#waiting.length >= maxQueued) {
      throw new ToolError('Too many git requests are waiting. Try again when some of them have finished.')
    }
    await new Promise<void>((resolve, reject) => {
      const next = (): void => {
        signal.removeEventListener('abort', cancel)
        resolve()
      }
      const cancel = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(next), 1)
        reject(signal.reason)
      }
      this.#waiting.push(next)
      signal.addEventListener('abort', cancel, { once: true })
    })
  }

  /** Lets the next waiting request start its process. */
  #release(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#running--
    else next()
  }

  #spawn(program: string, invocation: Invocation): Promise<GitOutput> {
    const { args, cwd, env, signal, input = '', skip = 0, limit = defaultLimit } = invocation
    const { timeoutMs } = this.#limits
    const child = spawn(program, args, {
      cwd,
      env,
      shell: false,
      windowsHide: true,
      // A group of its own, so that everything it starts can be ended with it.
      detached: process.platform !== 'win32',
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const stdout = new BoundedOutput(skip, limit)
    const stderr = new BoundedOutput(0, maxStderrBytes)
    return new Promise((resolve, reject) => {
      let stopped: unknown
      let killTimer: NodeJS.Timeout | undefined
      const stop = (reason: unknown): void => {
        if (stopped !== undefined) return
        stopped = reason
        killGroup(child, 'SIGTERM')
        killTimer = setTimeout(() => {
          killGroup(child, 'SIGKILL')
          child.stdout.destroy()
          child.stderr.destroy()
        }, killDelayMs)
      }
      const cancel = (): void => stop(signal.reason)
      const timer = setTimeout(
        () =>
          stop(
            new ToolError(
              `git ${args[0]} was ended after ${timeoutMs / 1000} s. Narrow the request (fewer paths, a smaller range), or raise the time limit of the server (--timeout).`,
            ),
          ),
        timeoutMs,
      )
      signal.addEventListener('abort', cancel, { once: true })
      if (signal.aborted) cancel()
      const settle = (): void => {
        clearTimeout(timer)
        clearTimeout(killTimer)
        signal.removeEventListener('abort', cancel)
      }
      child.stdout.on('data', (chunk: Buffer) => {
        if (stdout.add(chunk)) stop('truncated')
      })
      child.stderr.on('data', (chunk: Buffer) => stderr.add(chunk))
      // It may end without reading its input.
      child.stdin.on('error', () => {})
      child.on('error', (error) => {
        settle()
        reject(new ToolError(`git could not be started: ${error.message}`))
      })
      child.on('close', (code) => {
        settle()
        if (stopped !== undefined && stopped !== 'truncated') reject(stopped)
        else {
          resolve({
            code: code ?? -1,
            stdout: stdout.bytes(),
            stderr: decode(stderr.bytes()),
            truncated: stdout.isTruncated,
          })
        }
      })
      child.stdin.end(input)
    })
  }
}

/** Output from `skip` on, up to a limit. */
class BoundedOutput {
  #skip: number
  #remaining: number
  readonly #chunks: Buffer[] = []
  /** Whether there was more output than the limit. */
  isTruncated = false

  constructor(skip: number, limit: number) {
    this.#skip = skip
    this.#remaining = limit
  }

  /** Adds a chunk. Returns whether the output exceeds the limit. */
  add(chunk: Buffer): boolean {
    const wanted = chunk.subarray(this.#skip)
    this.#skip = Math.max(0, this.#skip - chunk.length)
    if (wanted.length > this.#remaining) this.isTruncated = true
    const part = wanted.subarray(0, this.#remaining)
    this.#remaining -= part.length
    if (part.length > 0) this.#chunks.push(part)
    return this.isTruncated
  }

  bytes(): Buffer {
    return Buffer.concat(this.#chunks)
  }
}

/** Signals a process and everything it started. SIGTERM lets git remove its lock files. */
function killGroup(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (child.pid === undefined) return
  if (process.platform === 'win32') {
    execFile('taskkill', ['/pid', String(child.pid), '/T', '/F'], { windowsHide: true }, () => {})
    return
  }
  try {
    process.kill(-child.pid, signal)
  } catch {
    // The group has ended.
  }
}

/** The git program. @throws ToolError if it is missing, cannot be started, or is too old */
async function findProgram(configured: string | undefined): Promise<string> {
  const program = configured ?? findInPath()
  if (program === undefined) {
    throw new ToolError('The program "git" was not found in PATH. Install Git, or name it with --git.')
  }
  const text = await new Promise<string>((resolve, reject) => {
    execFile(program, ['--version'], { timeout: 10_000, windowsHide: true }, (error, stdout) =>
      error === null
        ? resolve(stdout)
        : reject(new ToolError(`${program} could not be started: ${error.message}`)),
    )
  })
  const [, major = 0, minor = 0] = (/^git version (\d+)\.(\d+)/.exec(text) ?? []).map(Number)
  if (major < minVersion[0] || (major === minVersion[0] && minor < minVersion[1])) {
    throw new ToolError(
      `${program} is ${text.trim()}. Version ${minVersion.join('.')} or later is needed to switch off programs that a repository configures.`,
    )
  }
  return program
}

/** The absolute folders of PATH. A relative one would depend on the current repository. */
export function pathFolders(): string[] {
  return (process.env['PATH'] ?? '').split(delimiter).filter(isAbsolute)
}

/** The first executable `git` in PATH. */
function findInPath(): string | undefined {
  const name = process.platform === 'win32' ? 'git.exe' : 'git'
  return pathFolders()
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return statSync(file).isFile()
      } catch {
        return false
      }
    })
}
