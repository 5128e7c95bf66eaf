import { spawn } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, sep } from 'node:path'

export type Role = 'server' | 'client'

/** One check of one scenario, from the results of the suite. */
export interface Check {
  id: string
  name: string
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
  description?: string
  errorMessage?: string
  details?: unknown
}

/** The scenarios that a revision requires of a role, and those that are run without a score. */
export interface Requirements {
  scored: string[]
  unscored: string[]
}

const timeoutMs = 180_000
/** Several clients run at once, so each needs more than the default timeout of the suite. */
const clientTimeoutMs = 60_000

/** One published version of the suite. */
export interface Suite {
  readonly version: string
  readonly program: string
}

const require = createRequire(import.meta.url)

/** The current suite, for both eras. */
export const current: Suite = suite('@modelcontextprotocol/conformance')
/** The suite before it, for revisions with sessions. */
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
  if (code !== 0) throw new Error(`The suite does not list ${revision}:\n${output}`)
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

/** Runs scenarios, selected by options of the suite, and writes the results to a folder. */
export function runScenarios(
  suite: Suite,
  target: readonly string[],
  options: { role: Role; which: readonly string[]; folder: string; verbose: boolean },
): Promise<{ output: string; code: number }> {
  const { role, which, folder, verbose } = options
  const timeout = role === 'client' ? ['--timeout', String(clientTimeoutMs)] : []
  return runHarness(
    suite,
    [role, ...target, ...which, ...timeout, '-o', folder, ...(verbose ? ['--verbose'] : [])],
    verbose,
  )
}

/** The checks of all scenarios with results in a folder. */
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
  isShown: boolean,
): Promise<{ output: string; code: number }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`The suite did not finish within ${timeoutMs / 1000} s: ${args.join(' ')}`))
    }, timeoutMs)
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
        if (isShown) process.stdout.write(text)
      })
    }
    child.once('error', reject)
    child.once('close', (code) => {
      clearTimeout(timer)
      resolve({ output, code: code ?? 1 })
    })
  })
}
