import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Check, type Role, results, runScenarios } from './harness.ts'
import { type SuiteRun, suiteRuns, titles } from './legs.ts'
import { evaluate, type Leg, passes, print, summary } from './report.ts'

const usage = `npm run conformance -- [options]

Runs the official conformance suites against this repository's server and client: the current one at each of its
revisions and with its extensions, and the one before it. Every scenario counts.

  --role server|client     only this role
  --leg LEG                only this leg: 2025-11-25, 2026-07-28, extensions or previous
  --scenario NAME          only this scenario
  --verbose                show what the suite prints

The results of all scenarios and the log of the server are written to results/conformance.`

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

/** Scenarios that are run at once. */
const concurrency = 2
const here = fileURLToPath(new URL('.', import.meta.url))
const resultsFolder = join(here, '..', 'results', 'conformance')
const roles = choose<Role>('--role', values.role, ['server', 'client'])
const chosen = choose('--leg', values.leg, [...titles])

try {
  process.exitCode = exitCodeOf(await runAll())
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

async function runAll(): Promise<Leg[]> {
  const legs: Leg[] = []
  for (const role of roles) {
    const target = role === 'server' ? await startServer() : undefined
    try {
      for (const plan of await suiteRuns(role)) {
        const leg = chosen.includes(plan.title) ? await runLeg(plan, target?.url) : undefined
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

/** The exit code: 0 if all scenarios passed that an implementation can pass. */
function exitCodeOf(legs: readonly Leg[]): number {
  if (legs.length === 0) {
    console.error(`No scenario "${values.scenario}" in the chosen roles and legs.`)
    return 2
  }
  console.log(`\n${summary(legs)}`)
  return legs.every(passes) ? 0 : 1
}

async function runLeg(plan: SuiteRun, url: string | undefined): Promise<Leg | undefined> {
  const { suite, role, title, required } = plan
  const { scenario, verbose } = values
  if (scenario !== undefined && ![...required.scored, ...required.unscored].includes(scenario))
    return undefined
  const folder = join(resultsFolder, `${role}-${title}`)
  rmSync(folder, { recursive: true, force: true })
  // The suite starts a shell, which exec replaces by the client, so that the suite can end the client.
  const client = `exec "${process.execPath}" "${join(here, 'client.ts')}"`
  const target = url === undefined ? ['--command', client] : ['--url', url]
  let output = ''
  const names = scenario === undefined ? [...required.scored, ...required.unscored] : [scenario]
  const runs = scenario === undefined && plan.all !== undefined ? [plan.all] : names.map(plan.one)
  const queue = runs.values()
  const worker = async (): Promise<void> => {
    for (const which of queue)
      output += (await runScenarios(suite, target, { role, which, folder, verbose })).output
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  const found: Map<string, Check[]> = results(folder)
  if (found.size === 0) throw new Error(`The suite wrote no results for ${role} ${title}:\n${output}`)
  return evaluate({ suite: suite.version, role, title }, required, found, scenario)
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

/** The chosen values of an option, or all. Exits with 2 for an unknown one. */
function choose<T extends string>(option: string, chosen: string | undefined, all: T[]): T[] {
  if (chosen === undefined) return all
  const found = all.filter((one) => one === chosen)
  if (found.length > 0) return found
  console.error(`${option} must be one of ${all.join(', ')}, not "${chosen}"`)
  process.exit(2)
}
