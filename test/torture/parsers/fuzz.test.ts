import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { campaign } from '../campaign.ts'

const program = fileURLToPath(new URL('./fuzz-program.ts', import.meta.url))
/** How many inputs to make, in place of the campaign's own number. */
const wanted = process.env['JACKFIELD_FUZZ']

/** What the program found. */
interface Found {
  made: Record<string, number>
  slowest: { ms: number; target: string }
  cpuSeconds: number
}

campaign(
  {
    id: 'fuzzed-parsers',
    chapter: 'Parsers',
    claim:
      'No input crashes a parser, keeps it for a second, leaves a rejection to nobody, shows a secret of somebody else, or is taken for what it is not',
    trial:
      'mutant of a message, stream, header, URI, schema, login document, token, configuration, filter or bundle',
    trials: { change: 25_000, long: 20_000_000 },
    longMinutes: 180,
  },
  async (course) => {
    const trials = wanted === undefined ? course.trials : Number(wanted)
    const { made, slowest, cpuSeconds } = await fuzz(course.seed, trials)
    course.made(trials)
    course.measured('parsers', Object.keys(made).length, '')
    course.measured(`slowest input (${slowest.target})`, slowest.ms, 'ms of CPU')
    course.measured('CPU', cpuSeconds, 's')
  },
)

async function fuzz(seed: number, trials: number): Promise<Found> {
  const child = spawn(process.execPath, ['--no-warnings', program, String(seed), String(trials)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000 + trials,
    killSignal: 'SIGKILL',
  })
  let said = ''
  let failed = ''
  child.stdout.on('data', (text: Buffer) => {
    said += text
  })
  child.stderr.on('data', (text: Buffer) => {
    failed += text
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  // Where an input keeps a parser for ever, what was said last is how far the program came.
  if (code !== 0) throw new Error(`The program ended with ${code}. ${failed.slice(-8_000)}`)
  return JSON.parse(said)
}
