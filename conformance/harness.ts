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
const harness = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')),
  'dist/index.js',
)

/** The harness's own list of what a revision requires. */
export async function requirements(revision: string): Promise<Record<Role, Requirements>> {
  const { output, code } = await runHarness(['list', '--requirements', revision], false)
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

/** Runs every scenario a revision requires, or one of them, and leaves the results in a folder. */
export function play(
  target: readonly string[],
  options: { role: Role; revision: string; scenario: string | undefined; folder: string; verbose: boolean },
): Promise<{ output: string; code: number }> {
  const { role, revision, scenario, folder, verbose } = options
  const which =
    scenario === undefined
      ? ['--requirements', revision]
      : ['--scenario', scenario, '--spec-version', revision, '--force']
  const patience = role === 'client' ? ['--timeout', String(clientMs)] : []
  return runHarness(
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

function runHarness(args: string[], show: boolean): Promise<{ output: string; code: number }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [harness, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
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
