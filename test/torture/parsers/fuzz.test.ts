import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { campaign } from '../campaign.ts'

const program = fileURLToPath(new URL('./fuzz-program.ts', import.meta.url))
/** Which trials to make in place of the campaign's own, as `25000` or `5000000..100000000`. */
const wanted = process.env['JACKFIELD_FUZZ']
/** What one process makes: what was made before is not lost with a later one. */
const atOnce = 5_000_000

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
    claim: 'Parsers: no crash, no input over 1 s, no unhandled rejection, no leaked secret, no wrong result',
    trial:
      'mutant of a message, stream, header, URI, schema, form, result, login document, token, configuration, filter, bundle, recording, address, skill, task or reply of a model',
    // With the same seed in every run of the tests, more trials find nothing new: those are for `npm run torture`.
    trials: { change: 2_000_000, long: 100_000_000, test: 8_000 },
    changeMinutes: 15,
    longMinutes: 360,
  },
  async (campaignRun) => {
    const { from, until } = rangeOf(wanted ?? String(campaignRun.trials))
    const made = new Map<string, number>()
    let slowest = { ms: 0, target: '' }
    let cpuSeconds = 0
    for (let at = from; at < until; at += atOnce) {
      const end = Math.min(until, at + atOnce)
      const found = await fuzz(campaignRun.seed, at, end)
      for (const [name, count] of Object.entries(found.made)) made.set(name, (made.get(name) ?? 0) + count)
      if (found.slowest.ms > slowest.ms) slowest = found.slowest
      cpuSeconds += found.cpuSeconds
      if (end < until)
        console.log(`To go on from here: JACKFIELD_SEED=${campaignRun.seed} JACKFIELD_FUZZ=${end}..${until}`)
    }
    campaignRun.setTrials(until - from)
    campaignRun.measured('parsers', made.size, '')
    campaignRun.measured('inputs of the parser that had the fewest', Math.min(...made.values()), '')
    campaignRun.measured(`slowest input (${slowest.target})`, slowest.ms, 'ms of CPU')
    campaignRun.measured('CPU', Math.round(cpuSeconds), 's')
  },
)

function rangeOf(text: string): { from: number; until: number } {
  const [, from = '0', until] = /^(?:(\d+)\.\.)?(\d+)$/.exec(text) ?? []
  if (until === undefined)
    throw new Error(`JACKFIELD_FUZZ is "${text}". Give a count, or a range such as 5000000..100000000`)
  return { from: Number(from), until: Number(until) }
}

async function fuzz(seed: number, from: number, until: number): Promise<Found> {
  const args = ['--no-warnings', program, String(seed), String(until - from), String(from)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  let failed = ''
  child.stdout.on('data', (text: Buffer) => {
    output += text
  })
  child.stderr.on('data', (text: Buffer) => {
    failed = (failed + text).slice(-8_000)
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (code !== 0) throw new Error(`The program ended with ${code}. ${failed}`)
  return JSON.parse(output)
}
