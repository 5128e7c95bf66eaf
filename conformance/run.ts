import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Check, play, type Role, results } from './harness.ts'
import { type Plan, plans, titles } from './legs.ts'
import { judge, type Leg, passes, print, summary } from './report.ts'

const usage = `npm run conformance -- [options]

Plays the official conformance suites against this repository's server and client: the current one at each of its
revisions and with its extensions, and the one before it. Every scenario counts.

  --role server|client     only this role
  --leg LEG                only this leg: 2025-11-25, 2026-07-28, extensions or previous
  --scenario NAME          only this scenario
  --verbose                show what the suite prints

What every scenario left behind, and what the server wrote, is kept in results/conformance.`

const { values } = parseArgs({
  options: {
    role: { type: 'string' },
    leg: { type: 'string' },
    scenario: { type: 'string' },
    verbose: { type: 'boolean', default: false },
    help: { type: 'boolean' },
  },
})
if (values.help) {
  console.log(usage)
  process.exit(0)
}

/** Scenarios that are played next to each other. */
const atOnce = 2
const here = fileURLToPath(new URL('.', import.meta.url))
const resultsFolder = join(here, '..', 'results', 'conformance')
const roles = choose<Role>('--role', values.role, ['server', 'client'])
const chosen = choose('--leg', values.leg, [...titles])

try {
  process.exitCode = verdict(await playAll())
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

async function playAll(): Promise<Leg[]> {
  const legs: Leg[] = []
  for (const role of roles) {
    const target = role === 'server' ? await startServer() : undefined
    try {
      for (const plan of await plans(role)) {
        const leg = chosen.includes(plan.title) ? await playLeg(plan, target?.url) : undefined
        if (leg === undefined) continue
        legs.push(leg)
        print(leg)
      }
    } finally {
      await target?.stop()
    }
  }
  return legs
}

/** The exit code: every scenario that can pass has to pass. */
function verdict(legs: readonly Leg[]): number {
  if (legs.length === 0) {
    console.error(`No scenario "${values.scenario}" in the chosen roles and legs.`)
    return 2
  }
  console.log(`\n${summary(legs)}`)
  return legs.every(passes) ? 0 : 1
}

async function playLeg(plan: Plan, url: string | undefined): Promise<Leg | undefined> {
  const { suite, role, title, required } = plan
  const { scenario, verbose } = values
  if (scenario !== undefined && ![...required.scored, ...required.unscored].includes(scenario))
    return undefined
  const folder = join(resultsFolder, `${role}-${title}`)
  rmSync(folder, { recursive: true, force: true })
  // The shell the harness starts must become the client, or the harness could not end it.
  const client = `exec "${process.execPath}" "${join(here, 'client.ts')}"`
  const target = url === undefined ? ['--command', client] : ['--url', url]
  let output = ''
  const names = scenario === undefined ? [...required.scored, ...required.unscored] : [scenario]
  const runs = scenario === undefined && plan.all !== undefined ? [plan.all] : names.map(plan.one)
  const next = runs.values()
  const work = async (): Promise<void> => {
    for (const which of next) output += (await play(suite, target, { role, which, folder, verbose })).output
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  const found: Map<string, Check[]> = results(folder)
  if (found.size === 0) throw new Error(`The suite left no results for ${role} ${title}:\n${output}`)
  return judge({ suite: suite.version, role, title }, required, found, scenario)
}

/** Starts the server fixture on a free port. */
async function startServer(): Promise<{ url: string; stop(): Promise<void> }> {
  mkdirSync(resultsFolder, { recursive: true })
  const log = join(resultsFolder, 'server.log')
  const child = spawn(process.execPath, [join(here, 'server.ts'), '--port', '0'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stderr.pipe(values.verbose ? process.stderr : createWriteStream(log))
  const url = await new Promise<string>((resolve, reject) => {
    let output = ''
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`The server did not start within 20 s. It wrote: ${output}`))
    }, 20_000)
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
      const at = /http:\S+/.exec(output)?.[0]
      if (at === undefined) return
      clearTimeout(timer)
      resolve(at)
    })
    child.once('exit', (code) => {
      clearTimeout(timer)
      reject(new Error(`The server ended with code ${code} before it listened; see ${log}`))
    })
  })
  return { url, stop: () => stop(child) }
}

function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    const force = setTimeout(() => child.kill('SIGKILL'), 3000)
    child.once('exit', () => {
      clearTimeout(force)
      resolve()
    })
    child.kill('SIGTERM')
  })
}

function choose<T extends string>(option: string, chosen: string | undefined, all: T[]): T[] {
  if (chosen === undefined) return all
  const found = all.filter((one) => one === chosen)
  if (found.length > 0) return found
  console.error(`${option} must be one of ${all.join(', ')}, not "${chosen}"`)
  process.exit(2)
}
