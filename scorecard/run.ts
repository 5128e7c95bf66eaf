import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../scripts/run.ts'
import { decide } from './decide.ts'
import { closeDesks } from './desk.ts'
import { pageOf } from './page.ts'
import { brokeOff, circumstances, type Results, readResults, writeResults } from './results.ts'
import { scripts } from './scripts/index.ts'
import { labelOf, tools, versionOf } from './tools.ts'
import type { Script, Tool, Verdict } from './types.ts'

const help = `Usage: npm run scorecard -- [--only <script>]... [--tool <tool>]... [--jobs 2] [--patience 1] [--page] [--dry]

  --only <script>  run this script alone: its id, or the start of it, or a capability such as C3
  --tool <tool>    run this tool alone: ${tools.join(', ')}
  --jobs <n>       how many run at once; default 2
  --patience <n>   wait so many times longer, where the machine is busy with other things; default 1
  --page           run nothing, write docs/scorecard.md from scorecard/results.json
  --dry            keep nothing, only show`

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    tool: { type: 'string', multiple: true, default: [] },
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
  return fail(`--${option} needs a whole number of 1 or more, not "${values[option]}".`)
}

function chosenScripts(): Script[] {
  const chosen = scripts.filter(
    ({ id, capability }) =>
      values.only.length === 0 || values.only.some((word) => id.startsWith(word) || capability === word),
  )
  return chosen.length > 0 ? chosen : fail(`No script is called ${values.only.join(', ')}.`)
}

function chosenTools(): Tool[] {
  const unknown = values.tool.find((name) => !tools.some((tool) => tool === name))
  if (unknown !== undefined) fail(`No tool is called ${unknown}.`)
  const chosen = tools.filter((tool) => values.tool.length === 0 || values.tool.includes(tool))
  const missing = chosen.find((tool) => versionOf(tool) === undefined)
  if (missing !== undefined) {
    fail(`${labelOf(missing)} is not installed. Install the others with: npm ci --prefix scorecard`)
  }
  return chosen
}

async function runAll(): Promise<Results['cells']> {
  const cells: Results['cells'] = {}
  const [jobs, patience] = [numberOf('jobs'), numberOf('patience')]
  const chosen = { scripts: chosenScripts(), tools: chosenTools() }
  const left = chosen.scripts.flatMap((script) => chosen.tools.map((tool) => ({ script, tool })))
  const all = left.length
  let done = 0
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const { script, tool } = next
      const begun = performance.now()
      const verdict = await decide(script, tool, patience)
      done += 1
      cells[script.id] = { ...cells[script.id], [tool]: verdict }
      const seconds = ((performance.now() - begun) / 1000).toFixed(1)
      console.log(
        `${done}/${all}  ${script.capability} ${script.id}  ${tool}  ${said(verdict)}  ${seconds} s`,
      )
    }
  }
  await Promise.all(Array.from({ length: jobs }, worker))
  return cells
}

function said(verdict: Verdict): string {
  if (verdict.kind === 'absent') return '—'
  return `${verdict.kind === 'yes' ? '✓' : '✗'}${verdict.note === undefined ? '' : ` ${verdict.note}`}`
}

/** The new cells among those that were kept, read now: another run may have written meanwhile. */
function withKept(cells: Results['cells']): Results {
  const run = circumstances(numberOf('patience'))
  const whole = values.only.length === 0 && values.tool.length === 0
  if (whole || !existsSync(join(root, 'scorecard/results.json'))) return { run, cells }
  const kept = readResults().cells
  for (const [id, row] of Object.entries(cells)) kept[id] = { ...kept[id], ...row }
  return { run, cells: kept }
}

/** Rows and columns in the order of the page; cells of scripts that are no more are dropped. */
function ordered(results: Results): Results {
  const cells: Results['cells'] = {}
  for (const { id } of scripts) {
    const kept = results.cells[id]
    if (kept === undefined) continue
    cells[id] = Object.fromEntries(tools.filter((tool) => kept[tool]).map((tool) => [tool, kept[tool]]))
  }
  return { ...results, cells }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void closeDesks().finally(() => process.exit(130)))
}

if (values.help) {
  console.log(help)
} else {
  const results = values.page ? readResults() : ordered(withKept(await runAll()))
  if (!values.page && !values.dry) writeResults(results)
  if (!values.dry) writeFileSync(join(root, 'docs/scorecard.md'), pageOf(scripts, results))
  const broken = Object.entries(results.cells).flatMap(([id, row]) =>
    Object.entries(row)
      .filter(([, verdict]) => verdict.kind === 'no' && verdict.note.startsWith(brokeOff))
      .map(([tool]) => `${id} with ${tool}`),
  )
  if (broken.length > 0) {
    console.error(`These scripts broke off, which says nothing about the tool: ${broken.join(', ')}.`)
    process.exitCode = 1
  }
}
