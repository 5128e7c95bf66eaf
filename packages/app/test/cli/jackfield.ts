import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import type { Activity } from '@jackfield/host'
import { expect } from 'vitest'
import { builtProgram, startOptions } from '../../../../test/setup/built-program.ts'
import { bundledProgram, installedProgram } from '../../../../test/setup/program-file.ts'
import { run as runCommand } from '../../src/cli/program.ts'

const bin = builtProgram('jackfield')

/** Commands that start the official reference servers, and our travel server. */
export const everything = [
  process.execPath,
  installedProgram('@modelcontextprotocol/server-everything', 'dist/transports/stdio.js'),
  'stdio',
]
export const onEverything = (...words: string[]): string[] => [...words, '--', ...everything]
export const filesystem = (folder: string): string[] => [
  process.execPath,
  installedProgram('@modelcontextprotocol/server-filesystem'),
  folder,
]
export const travel = (database = ':memory:'): string[] => [
  process.execPath,
  bundledProgram('travel'),
  '--db',
  database,
]

/** A server whose one tool and whose prompts cannot be had: it answers with protocol errors. */
export const closedShop = [
  process.execPath,
  '-e',
  `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method } = JSON.parse(line)
    if (id === undefined) return
    const answers = {
      initialize: { result: { protocolVersion: '2025-11-25', capabilities: { tools: {}, prompts: {} },
        serverInfo: { name: 'shop', version: '1' } } },
      'tools/list': { result: { tools: [{ name: 'sell', inputSchema: { type: 'object' } }] } },
      'tools/call': { error: { code: -32050, message: 'the shop is closed', data: { opens: 9 } } },
    }
    const answer = answers[method] ?? { error: { code: -32601, message: 'unknown' } }
    console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  })`,
]

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export interface RunOptions {
  cwd?: string
  env?: Record<string, string>
  stdin?: string
}

export interface ProcessOptions extends RunOptions {
  /** Leaves stdin open, as a pipe whose writer is still there. */
  stdinStaysOpen?: boolean
  node?: string[]
  /** Bytes that a file may have: writing beyond fails, as on a full disk. In steps of 512; POSIX only. */
  fileBytes?: number
}

/** A run that has not ended. */
export interface Running {
  child: ChildProcess
  ended: Promise<Ended>
  /** The output on stdout and stderr so far. */
  output(): string
  /** Resolves when stdout or stderr contains the text. */
  waitForOutput(text: string): Promise<void>
}

const stores = new Map<string, string>()

/** Keeps what the runs of one test file record, away from the person's own. */
function storeOfFile(): string {
  const file = expect.getState().testPath ?? ''
  const store = stores.get(file) ?? tempFolder()
  stores.set(file, store)
  return store
}

/** The folder and the variables of a run: no API keys and no keychain of whoever runs the tests, and a store of its own. */
function surroundings({ cwd, env }: RunOptions): { cwd: string; env: NodeJS.ProcessEnv } {
  const { HOME, PATH, TMPDIR, NODE_COMPILE_CACHE } = process.env
  const store = storeOfFile()
  return {
    cwd: cwd ?? tempFolder(),
    env: {
      HOME: cwd ?? HOME,
      PATH,
      TMPDIR,
      NODE_COMPILE_CACHE,
      XDG_DATA_HOME: store,
      JACKFIELD_DAEMON: 'off',
      JACKFIELD_KEY_FILE: join(store, 'key'),
      ...env,
    },
  }
}

/** Starts the built program as a process of its own, without a terminal and without keys. */
export function begin(args: string[], options: ProcessOptions = {}): Running {
  const words = [process.execPath, ...startOptions, ...(options.node ?? []), bin, ...args]
  const { fileBytes } = options
  const limited =
    fileBytes === undefined
      ? []
      : ['/bin/sh', '-c', 'ulimit -f "$0" && exec "$@"', `${Math.ceil(fileBytes / 512)}`]
  const [program = '', ...rest] = [...limited, ...words]
  const child = spawn(program, rest, { ...surroundings(options), stdio: 'pipe' })
  let stdout = ''
  let stderr = ''
  const waiting = new Set<() => void>()
  const onOutput = (): void => {
    for (const look of waiting) look()
  }
  child.stdout.on('data', (chunk) => {
    stdout += chunk
    onOutput()
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
    onOutput()
  })
  if (options.stdinStaysOpen !== true) child.stdin.end(options.stdin ?? '')
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
  return {
    child,
    ended,
    output: () => stdout + stderr,
    waitForOutput: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!stdout.includes(text) && !stderr.includes(text)) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
        ended.then(() => reject(new Error(`ended without saying "${text}":\n${stdout}\n${stderr}`)))
      }),
  }
}

/** Runs the built program as a process of its own, for what only a process shows. */
export function runProcess(args: string[], options: ProcessOptions = {}): Promise<Ended> {
  return begin(args, options).ended
}

/**
 * Runs the sources in this process, which takes a fraction of the time that starting the program does. Servers that it
 * starts get PATH and HOME of this process, and its working folder.
 */
export async function run(args: string[], options: RunOptions = {}): Promise<Ended> {
  const { cwd, env } = surroundings(options)
  const stdout: Buffer[] = []
  const stderr: Buffer[] = []
  const code = await runCommand(args, {
    stdin: Readable.from([Buffer.from(options.stdin ?? '')], { objectMode: false }),
    stdout: collect(stdout),
    stderr: collect(stderr),
    cwd,
    env,
    signal: new AbortController().signal,
    interrupt: () => {},
    onInterrupt: () => () => {},
  })
  return { code, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() }
}

function collect(written: Buffer[]): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk)
      done()
    },
  })
}

/** The output of `jackfield activity`, as JSON. */
export async function recorded(options: string[], cwd: string): Promise<{ store: string; rows: Activity[] }> {
  const { stdout } = await run(['activity', '--json', ...options], { cwd })
  const { store, activity } = JSON.parse(stdout)
  return { store, rows: activity }
}

export function tempFolder(): string {
  return mkdtempSync(join(tmpdir(), 'jackfield-test-'))
}

/** Writes a JSON file into a new folder and gives its path. */
export function jsonFile(value: unknown, name = 'file.json'): string {
  const file = join(tempFolder(), name)
  writeFileSync(file, JSON.stringify(value))
  return file
}
