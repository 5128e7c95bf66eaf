import { parseArgs } from 'node:util'
import { run } from './run.ts'

interface Step {
  title: string
  command: string[]
  /** Seconds after which the step counts as hung. */
  limit: number
  /** One short fact for the line of a step that passed. */
  fact?: (output: string) => string | undefined
}

const steps: Step[] = [
  {
    title: 'lint and format',
    command: ['biome', 'check', '.'],
    limit: 60,
    fact: (output) => /Checked (\d+ files)/.exec(output)?.[1],
  },
  { title: 'build', command: ['node', 'scripts/build.ts'], limit: 120 },
  { title: 'types of tests and tools', command: ['tsc', '-p', 'tsconfig.checks.json'], limit: 120 },
  {
    title: 'tests',
    command: ['vitest', 'run', '--reporter=dot'],
    limit: 2400,
    fact: (output) => /Tests\s+(.*)/.exec(plain(output))?.[1],
  },
  {
    title: 'packages',
    command: ['node', 'scripts/packages.ts'],
    limit: 300,
    fact: (output) => output.trimEnd().split('\n').at(-1),
  },
  {
    title: 'official conformance suites',
    command: ['node', 'conformance/run.ts'],
    limit: 400,
    fact: (output) => output.trimEnd().split('\n').at(-1),
  },
]

const { values } = parseArgs({ options: { from: { type: 'string' } } })
const first =
  values.from === undefined ? 0 : steps.findIndex(({ title }) => title.startsWith(values.from ?? ''))
if (first < 0) {
  console.error(`No step begins with "${values.from}". Steps: ${steps.map(({ title }) => title).join(', ')}`)
  process.exit(2)
}

const started = performance.now()
for (const { title, command, limit, fact } of steps.slice(first)) {
  const at = performance.now()
  let dots = 0
  const ticker = setInterval(() => {
    const so = dots === 0 ? '' : `, ${dots.toLocaleString('en-GB')} passed`
    console.log(`  ${title}: running for ${seconds(performance.now() - at).trim()}${so}`)
  }, 60_000)
  const { code, output, timedOut } = await run(command, {
    limitMs: limit * 1000,
    heard: (text) => {
      dots += text.split('·').length - 1
    },
  })
  clearInterval(ticker)
  const took = seconds(performance.now() - at)
  if (code === 0 && !timedOut) {
    const shown = fact?.(output)
    console.log(`✓ ${title.padEnd(28)} ${took}${shown === undefined ? '' : `  ${shown}`}`)
    continue
  }
  console.log(`✗ ${title.padEnd(28)} ${took}\n`)
  console.log(output.trimEnd())
  const why = timedOut ? `did not finish within ${limit} s and was ended` : `failed with exit code ${code}`
  console.log(`\n"${title}" ${why}. Run it alone: npx ${command.join(' ')}`)
  process.exit(1)
}
console.log(`\nAll passed in ${seconds(performance.now() - started).trim()}.`)

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`.padStart(8)
}

function plain(text: string): string {
  return text.replaceAll(new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g'), '')
}
