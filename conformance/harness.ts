import { spawn } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, sep } from 'node:path'

export type Role = 'server' | 'client'

/** One check of one scenario, as the harness wrote it down. */
export interface Check {
  id: string
  name: string
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
  description?: string
  errorMessage?: string
  details?: unknown
}

/** Which scenarios a revision requires of a role, and which are run without being scored. */
export interface Requirements {
  scored: string[]
  unscored: string[]
}

const limitMs = 180_000
/** All clients of a leg run at once, so each gets more than the harness would give it. */
const clientMs = 60_000

/** One published version of the suite. */
export interface Suite {
  readonly version: string
  readonly program: string
}

const require = createRequire(import.meta.url)

/** The current suite, which knows both eras. */
export const current: Suite = suite('@modelcontextprotocol/conformance')
/** The last one before it, with sessions alone. */
export const previous: Suite = suite('conformance-0.1')

function suite(name: string): Suite {
  const manifest = require.resolve(`${name}/package.json`)
  const { version }: { version: string } = JSON.parse(readFileSync(manifest, 'utf8'))
  return { version, program: join(dirname(manifest), 'dist/index.js') }
}

/** Every scenario of a suite, by role. */
export async function scenarios(suite: Suite): Promise<Record<Role, string[]>> {
  const { output } = await runHarness(suite, ['list'], false)
  const found: Record<Role, string[]> = { server: [], client: [] }
  let role: Role | undefined
  for (const line of output.split('\n')) {
    if (/^\S/.test(line))
      role = /^server/i.test(line) ? 'server' : /^client/i.test(line) ? 'client' : undefined
    const name = /^\s+- (\S+)/.exec(line)?.[1]
    if (role !== undefined && name !== undefined) found[role].push(name)
  }
  return found
}

/** The current suite's own list of what a revision requires. */
export async function requirements(revision: string): Promise<Record<Role, Requirements>> {
  const { output, code } = await runHarness(current, ['list', '--requirements', revision], false)
  if (code !== 0) throw new Error(`The harness does not list ${revision}:\n${output}`)
  const found: Record<Role, Requirements> = {
    server: { scored: [], unscored: [] },
    client: { scored: [], unscored: [] },
  }
  let role: Role | undefined
  for (const line of output.split('\n')) {
    if (/^\S/.test(line))
      role = /^server/i.test(line) ? 'server' : /^client/i.test(line) ? 'client' : undefined
    const entry = /^\s+- (\S+)(?: \[(server|client)\])?$/.exec(line)
    if (entry === null) continue
    const [, name = '', marked] = entry
    if (marked === 'server' || marked === 'client') found[marked].unscored.push(name)
    else if (role !== undefined) found[role].scored.push(name)
  }
  return found
}

/** Plays scenarios, chosen by the suite's own options, and leaves the results in a folder. */
export function play(
  suite: Suite,
  target: readonly string[],
  options: { role: Role; which: readonly string[]; folder: string; verbose: boolean },
): Promise<{ output: string; code: number }> {
  const { role, which, folder, verbose } = options
  const patience = role === 'client' ? ['--timeout', String(clientMs)] : []
  return runHarness(
    suite,
    [role, ...target, ...which, ...patience, '-o', folder, ...(verbose ? ['--verbose'] : [])],
    verbose,
  )
}

/** The checks of every scenario that left results in a folder. */
export function results(folder: string): Map<string, Check[]> {
  const found = new Map<string, Check[]>()
  if (!existsSync(folder)) return found
  for (const path of globSync('**/checks.json', { cwd: folder })) {
    const scenario = dirname(path)
      .split(sep)
      .join('/')
      .replace(/^server-/, '')
      .replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '')
    found.set(scenario, JSON.parse(readFileSync(join(folder, path), 'utf8')))
  }
  return found
}

function runHarness(
  { program }: Suite,
  args: readonly string[],
  show: boolean,
): Promise<{ output: string; code: number }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`The harness did not finish within ${limitMs / 1000} s: ${args.join(' ')}`))
    }, limitMs)
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
        if (show) process.stdout.write(text)
      })
    }
    child.once('error', reject)
    child.once('close', (code) => {
      clearTimeout(timer)
      resolve({ output, code: code ?? 1 })
    })
  })
}
