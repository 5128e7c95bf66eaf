import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { root, run } from './run.ts'

interface Step {
  title: string
  command: string[]
  /** Seconds after which the step counts as hung. */
  limit: number
  /** One short fact for the line of a step that passed. */
  fact?: (output: string) => string | undefined
  /** The command that runs once more what failed; undefined if too many failed to be a race. */
  again?: () => string[] | undefined
}

/** The members read from the output of Vitest's JSON reporter. */
interface Report {
  testResults: {
    name: string
    status: string
    assertionResults: { status: string; ancestorTitles: string[]; title: string }[]
  }[]
}

/** Checkers of tsc, which each check what they share: its default of 4 costs a fifth more CPU where there are two cores. */
const checkers = String(Math.min(4, availableParallelism()))

/** Up to this number of failed test files, a second run distinguishes a race on a busy machine from a fault. */
const failedFilesRunAgain = 3

const usage = `Usage: npm test [-- --from <step>] [--all]

  --from <step>   begins with the step whose title starts with <step>
  --all           also the tests with browsers, stores and peers, the packages and the conformance suites (npm run test:all)
  --help          prints this

One file: npx vitest run <path>. One test: npx vitest run <path> -t "<title>".`

const values = readOptions()
if (values.help) {
  console.log(usage)
  process.exit(0)
}

/** The test projects of vitest.config.ts that `npm test` runs. */
const projects = values.all ? [] : ['--project=alone', '--project=together']

// Every rule of the protocol at every revision over every transport; otherwise in pairs.
if (values.all) process.env['JACKFIELD_MATRIX'] = 'full'

const results = mkdtempSync(join(tmpdir(), 'jackfield-tests-'))
process.once('exit', () => rmSync(results, { recursive: true, force: true }))
const report = join(results, 'report.json')

const steps: Step[] = [
  {
    title: 'lint and format',
    command: ['biome', 'check', '.'],
    limit: 60,
    fact: (output) => /Checked (\d+ files)/.exec(output)?.[1],
  },
  { title: 'build', command: ['node', 'scripts/build.ts'], limit: 120 },
  {
    title: 'types of tests and tools',
    command: ['tsc', '-p', 'tsconfig.checks.json', '--checkers', checkers],
    limit: 120,
  },
  {
    title: 'tests',
    command: [
      'vitest',
      'run',
      ...projects,
      '--reporter=dot',
      '--reporter=json',
      `--outputFile.json=${report}`,
    ],
    limit: 2400,
    fact: (output) => /Tests\s+(.*)/.exec(plain(output))?.[1],
    again: () => {
      const failed = failedFiles()
      if (failed.length === 0 || failed.length > failedFilesRunAgain) return undefined
      const command = ['vitest', 'run', '--reporter=dot', ...failed.map(({ file }) => file)]
      // A file may fail outside its tests: then all of them run again.
      if (failed.some(({ tests }) => tests.length === 0)) return command
      const names = failed
        .flatMap(({ tests }) => tests)
        .map((name) => name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
      return [...command, '-t', `^(${names.join('|')})$`]
    },
  },
]
if (values.all)
  steps.push(
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
  )

const first =
  values.from === undefined ? 0 : steps.findIndex(({ title }) => title.startsWith(values.from ?? ''))
if (first < 0) {
  console.error(`No step begins with "${values.from}". Steps: ${steps.map(({ title }) => title).join(', ')}`)
  process.exit(2)
}

const started = performance.now()
const flaky: string[] = []
for (const { title, command, limit, fact, again } of steps.slice(first)) {
  const at = performance.now()
  let dots = 0
  const ticker = setInterval(() => {
    const so = dots === 0 ? '' : `, ${dots.toLocaleString('en-GB')} passed`
    console.log(`  ${title}: running for ${seconds(performance.now() - at).trim()}${so}`)
  }, 60_000)
  const { code, output, timedOut } = await run(command, {
    limitMs: limit * 1000,
    onOutput: (text) => {
      dots += text.split('·').length - 1
    },
  })
  clearInterval(ticker)
  const elapsed = seconds(performance.now() - at)
  if (code === 0 && !timedOut) {
    const shown = fact?.(output)
    console.log(`✓ ${title.padEnd(28)} ${elapsed}${shown === undefined ? '' : `  ${shown}`}`)
    continue
  }
  console.log(`✗ ${title.padEnd(28)} ${elapsed}\n`)
  console.log(output.trimEnd())
  const why = timedOut ? `did not finish within ${limit} s and was ended` : `failed with exit code ${code}`
  console.log(`\n"${title}" ${why}. Run it alone: npx ${shellLine(command)}`)
  const second = timedOut ? undefined : again?.()
  if (second === undefined) process.exit(1)
  const failed = failedFiles()
  console.log(`\nRunning what failed once more: npx ${shellLine(second)}`)
  const repeated = await run(second, { limitMs: limit * 1000 })
  console.log(repeated.output.trimEnd())
  if (repeated.code !== 0 || repeated.timedOut) process.exit(1)
  flaky.push(...failed.map(({ file }) => file))
}
console.log(`\nAll passed in ${seconds(performance.now() - started).trim()}.`)
if (flaky.length > 0)
  console.log(
    `These failed first and passed when run by themselves; each is a race to find: ${flaky.join(', ')}`,
  )

function readOptions(): { from?: string; all: boolean; help: boolean } {
  try {
    return parseArgs({
      options: {
        from: { type: 'string' },
        all: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exit(2)
  }
}

/** The test files that failed according to the report of the last run, with the full titles of their failed tests. */
function failedFiles(): { file: string; tests: string[] }[] {
  try {
    const { testResults }: Report = JSON.parse(readFileSync(report, 'utf8'))
    return testResults
      .filter(({ status }) => status === 'failed')
      .map(({ name, assertionResults }) => ({
        file: relative(root, name),
        tests: assertionResults
          .filter(({ status }) => status === 'failed')
          .map(({ ancestorTitles, title }) => [...ancestorTitles, title].join(' > ')),
      }))
  } catch {
    return []
  }
}

/** The arguments as one line for a POSIX shell. */
function shellLine(args: readonly string[]): string {
  return args.map((arg) => (/^[\w./=:-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`)).join(' ')
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`.padStart(8)
}

function plain(text: string): string {
  return text.replaceAll(new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g'), '')
}
