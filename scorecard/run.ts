import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../scripts/run.ts'
import { clis, labelOf, versionOf } from './clis.ts'
import { renderPage } from './render-page.ts'
import { type Results, readResults, runEnvironment, scriptError, writeResults } from './results.ts'
import { runScript } from './run-script.ts'
import { scripts } from './scripts/index.ts'
import type { Cli, Script, Verdict } from './types.ts'
import { closeWorkspaces } from './workspace.ts'

const help = `Usage: npm run scorecard -- [--only <script>]... [--cli <name>]... [--jobs 2] [--patience 1] [--page] [--dry]

  --only <script>  run only the scripts whose id starts with this, or those of a capability such as C3
  --cli <name>     run only this command line: ${clis.join(', ')}
  --jobs <n>       scripts that run at the same time; default 2
  --patience <n>   multiply all timeouts, for a busy machine; default 1
  --page           write docs/scorecard.md from scorecard/results.json, without running scripts
  --dry            print the verdicts, write no file`

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    cli: { type: 'string', multiple: true, default: [] },
    jobs: { type: 'string', default: '2' },
    patience: { type: 'string', default: '1' },
    page: { type: 'boolean', default: false },
    dry: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

function fail(message: string): never {
  console.error(`${message}\n\n${help}`)
  process.exit(2)
}

function numberOf(option: 'jobs' | 'patience'): number {
  const number = Number(values[option])
  if (Number.isInteger(number) && number > 0) return number
  return fail(`--${option} must be a positive integer, not "${values[option]}".`)
}

function chosenScripts(): Script[] {
  const chosen = scripts.filter(
    ({ id, capability }) =>
      values.only.length === 0 || values.only.some((word) => id.startsWith(word) || capability === word),
  )
  return chosen.length > 0 ? chosen : fail(`No script matches ${values.only.join(', ')}.`)
}

function chosenClis(): Cli[] {
  const unknown = values.cli.find((name) => !clis.some((cli) => cli === name))
  if (unknown !== undefined) fail(`Unknown command line: ${unknown}.`)
  const chosen = clis.filter((cli) => values.cli.length === 0 || values.cli.includes(cli))
  const missing = chosen.find((cli) => versionOf(cli) === undefined)
  if (missing !== undefined) {
    fail(`${labelOf(missing)} is not installed. Install it with: npm ci --prefix scorecard`)
  }
  return chosen
}

async function runAll(): Promise<Results['cells']> {
  const cells: Results['cells'] = {}
  const [jobs, patience] = [numberOf('jobs'), numberOf('patience')]
  const chosen = { scripts: chosenScripts(), clis: chosenClis() }
  const queue = chosen.scripts.flatMap((script) => chosen.clis.map((cli) => ({ script, cli })))
  const total = queue.length
  let done = 0
  const worker = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { script, cli } = next
      const startedAt = performance.now()
      const verdict = await runScript(script, cli, patience)
      done += 1
      cells[script.id] = { ...cells[script.id], [cli]: verdict }
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
      console.log(
        `${done}/${total}  ${script.capability} ${script.id}  ${cli}  ${verdictText(verdict)}  ${seconds} s`,
      )
    }
  }
  await Promise.all(Array.from({ length: jobs }, worker))
  return cells
}

function verdictText(verdict: Verdict): string {
  if (verdict.kind === 'absent') return '—'
  return `${verdict.kind === 'yes' ? '✓' : '✗'}${verdict.note === undefined ? '' : ` ${verdict.note}`}`
}

/** Merges the new cells into the stored ones, which are read now because another run may have written them. */
function mergeResults(cells: Results['cells']): Results {
  const run = runEnvironment(numberOf('patience'))
  const isComplete = values.only.length === 0 && values.cli.length === 0
  if (isComplete || !existsSync(join(root, 'scorecard/results.json'))) return { run, cells }
  const stored = readResults().cells
  for (const [id, row] of Object.entries(cells)) stored[id] = { ...stored[id], ...row }
  return { run, cells: stored }
}

/** Sorts rows and columns in the order of the page, and drops cells of removed scripts. */
function inPageOrder(results: Results): Results {
  const cells: Results['cells'] = {}
  for (const { id } of scripts) {
    const stored = results.cells[id]
    if (stored === undefined) continue
    cells[id] = Object.fromEntries(clis.filter((cli) => stored[cli]).map((cli) => [cli, stored[cli]]))
  }
  return { ...results, cells }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void closeWorkspaces().finally(() => process.exit(130)))
}

if (values.help) {
  console.log(help)
} else {
  const results = values.page ? readResults() : inPageOrder(mergeResults(await runAll()))
  if (!values.page && !values.dry) writeResults(results)
  if (!values.dry) writeFileSync(join(root, 'docs/scorecard.md'), renderPage(scripts, results))
  const broken = Object.entries(results.cells).flatMap(([id, row]) =>
    Object.entries(row)
      .filter(([, verdict]) => verdict.kind === 'no' && verdict.note.startsWith(scriptError))
      .map(([cli]) => `${id} with ${cli}`),
  )
  if (broken.length > 0) {
    console.error(`Scripts that failed with an error of their own, without a verdict: ${broken.join(', ')}.`)
    process.exitCode = 1
  }
}
