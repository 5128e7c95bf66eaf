import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** Somewhere the programs of this folder can run. */
export interface Place {
  name: string
  /** What has to be there, and the command that brings it. */
  needs?: { file: string; install: string }
  /** Command and arguments that serve; their first line of output is the URL. */
  command: readonly [string, ...string[]]
}

/** A program that serves. */
export interface Running {
  url: string
  stop(): Promise<void>
}

const folder = fileURLToPath(new URL('.', import.meta.url))
const readyMs = 150_000
const stopMs = 5_000

/** The path of a file in this folder. */
export function here(path: string): string {
  return folder + path
}

/** What a package of this folder needs to be there. */
export function installed(file: string): NonNullable<Place['needs']> {
  return { file: here(`node_modules/${file}`), install: 'npm ci --prefix test/runtimes' }
}

/** Says in a title what is missing: '' when nothing is. */
export function missing({ needs }: Pick<Place, 'needs'>): string {
  if (needs === undefined || existsSync(needs.file)) return ''
  return ` (${needs.file.replace(folder, 'test/runtimes/')} is not installed: ${needs.install})`
}

/** Starts a place and waits until it serves. */
export async function start({ name, command }: Place): Promise<Running> {
  const [program, ...args] = command
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const keep = (text: string): void => {
    output = (output + text).slice(-10_000)
  }
  child.stderr.setEncoding('utf8').on('data', keep)
  const lines = createInterface(child.stdout)
  const stop = (): Promise<void> => end(child)
  try {
    const url = await new Promise<string>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error('It was not ready in time')), readyMs)
      child.once('error', reject)
      child.once('exit', (code) => reject(new Error(`It exited with ${code}`)))
      lines.on('line', (line) => {
        keep(`${line}\n`)
        const [found] = /^http:\/\/\S+$/.exec(line.trim()) ?? []
        if (found === undefined) return
        clearTimeout(late)
        resolve(found)
      })
    })
    return { url, stop }
  } catch (error) {
    await stop()
    throw new Error(`${name} did not start: ${error}\n${output}`)
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const over = once(child, 'exit')
  const late = setTimeout(() => child.kill('SIGKILL'), stopMs)
  child.kill('SIGTERM')
  await over
  clearTimeout(late)
}
