import { randomInt } from 'node:crypto'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { addUp, keep, tables } from '../test/torture/page.ts'
import { root, run } from './run.ts'

const { values } = parseArgs({
  options: {
    long: { type: 'boolean', default: false },
    only: { type: 'string' },
    seed: { type: 'string' },
    trials: { type: 'string' },
    runs: { type: 'string', default: '1' },
    from: { type: 'string' },
  },
})
const runs = Number(values.runs)
const seed = values.seed ?? process.env['JACKFIELD_SEED'] ?? 'random'
const first = seed === 'random' ? randomInt(2 ** 31 - runs) : Number(seed)
const into = values.from ?? mkdtempSync(join(tmpdir(), 'jackfield-torture-'))
const files = values.only === undefined ? ['test/torture'] : filesWith(values.only)
let code: number | null = 0
for (let at = 0; at < runs && code === 0 && values.from === undefined; at++) {
  if (runs > 1) console.log(`Run ${at + 1} of ${runs}, with seed ${first + at}`)
  const finished = await run(
    ['vitest', 'run', ...files, ...(values.only === undefined ? [] : ['-t', `\\(${values.only}\\)`])],
    {
      limitMs: (values.long ? 12 * 60 : 20) * 60_000,
      onOutput: (text) => process.stderr.write(text),
      env: {
        JACKFIELD_FIGURES: join(into, String(at)),
        ...(values.long ? { JACKFIELD_LONG: '1' } : {}),
        JACKFIELD_SEED: String(first + at),
        ...(values.trials === undefined ? {} : { JACKFIELD_TRIALS: values.trials }),
      },
    },
  )
  code = finished.code
}
const machine = `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}`
const date = new Date().toISOString().slice(0, 10)
const found = globSync('**/*.json', { cwd: into })
  .sort()
  .map((name) => ({
    ...JSON.parse(readFileSync(join(into, name), 'utf8')),
    machine,
    node: process.versions.node,
    date,
  }))
if (values.from === undefined && (code === 0 || found.length === 0)) rmSync(into, { recursive: true })
else if (code !== 0)
  console.error(`A run failed. The figures of all runs are in ${into}; --from publishes them.`)
if (code === 0 && found.length > 0) {
  const page = join(root, 'docs/reliability.md')
  const [before] = readFileSync(page, 'utf8').split('<!-- figures -->')
  const figures = addUp(found)
  writeFileSync(page, `${before}<!-- figures -->\n\n${tables(keep(figures))}\n`)
  console.log(`Kept ${figures.length} figures in docs/reliability.md.`)
}
process.exitCode = code === 0 && found.length === 0 ? 2 : (code ?? 1)
if (found.length === 0) console.error('No campaign has that name.')

/** The test files with a campaign that matches a pattern, and those that build their ids; all of them if there are none. */
function filesWith(only: string): string[] {
  const id = new RegExp(`id: (?:'(?:${only})'|\`)`)
  const found = globSync('test/torture/**/*.test.ts', { cwd: root }).filter((file) =>
    id.test(readFileSync(join(root, file), 'utf8')),
  )
  return found.length === 0 ? ['test/torture'] : found
}
