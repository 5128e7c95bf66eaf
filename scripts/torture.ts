import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { keep, tables } from '../test/torture/page.ts'
import { root, run } from './run.ts'

const { values } = parseArgs({
  options: {
    long: { type: 'boolean', default: false },
    only: { type: 'string' },
    seed: { type: 'string' },
    trials: { type: 'string' },
  },
})
const into = mkdtempSync(join(tmpdir(), 'jackfield-torture-'))
const { code } = await run(
  ['vitest', 'run', 'test/torture', ...(values.only === undefined ? [] : ['-t', `\\(${values.only}\\)`])],
  {
    limitMs: (values.long ? 12 * 60 : 20) * 60_000,
    heard: (text) => process.stderr.write(text),
    env: {
      JACKFIELD_FIGURES: into,
      ...(values.long ? { JACKFIELD_LONG: '1' } : {}),
      JACKFIELD_SEED: values.seed ?? process.env['JACKFIELD_SEED'] ?? 'random',
      ...(values.trials === undefined ? {} : { JACKFIELD_TRIALS: values.trials }),
    },
  },
)
const machine = `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}`
const date = new Date().toISOString().slice(0, 10)
const found = readdirSync(into).map((name) => ({
  ...JSON.parse(readFileSync(join(into, name), 'utf8')),
  machine,
  node: process.versions.node,
  date,
}))
rmSync(into, { recursive: true })
if (code === 0 && found.length > 0) {
  const page = join(root, 'docs/reliability.md')
  const [before] = readFileSync(page, 'utf8').split('<!-- figures -->')
  writeFileSync(page, `${before}<!-- figures -->\n\n${tables(keep(found))}\n`)
  console.log(`Kept ${found.length} figures in docs/reliability.md.`)
}
process.exitCode = code === 0 && found.length === 0 ? 2 : (code ?? 1)
if (found.length === 0) console.error('No campaign has that name.')
