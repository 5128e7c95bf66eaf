import { Worker } from 'node:worker_threads'
import { Random } from '../random.ts'
import { authTargets } from './fuzz-auth.ts'
import { clientTargets } from './fuzz-client.ts'
import { extensionTargets } from './fuzz-extensions.ts'
import { hostTargets } from './fuzz-host.ts'
import { loginTargets } from './fuzz-logins.ts'
import { modelTargets } from './fuzz-models.ts'
import { placeTargets } from './fuzz-places.ts'
import { playbackTargets } from './fuzz-playback.ts'
import { serverTargets } from './fuzz-server.ts'
import type { Target } from './fuzz-target.ts'
import { wireTargets } from './fuzz-wire.ts'
import { mutants } from './mutate.ts'

// Gives mutants of seeds to every parser. It takes the seed, how many to make, and optionally the one to begin with; it
// prints what it found as one line of JSON, and exits with 1 at the first input that fails.

/** Some four times the slowest seen. */
const slowMs = 250
const stackLines = 20
/** Trials in a row for one parser: code that has just run runs faster. */
const atOnce = 250
const leastShare = 0.007
/** Trials between two turns of the event loop, in which unhandled rejections are reported. */
const turnEvery = 64
const [seedText, trialsText, fromText] = process.argv.slice(2)
const seed = Number(seedText)
const from = Number(fromText ?? 0)
const until = from + Number(trialsText)
const targets: readonly Target[] = [
  ...wireTargets(),
  ...authTargets(),
  ...hostTargets(),
  ...clientTargets(),
  ...loginTargets(),
  ...modelTargets(),
  ...playbackTargets(),
  ...placeTargets(),
  ...extensionTargets(),
  ...(await serverTargets()),
]
const shares = targets.flatMap((target, at) => Array.from({ length: target.share }, () => at))
const makers = targets.map(({ seeds, form }) => mutants(seeds, form))
const made = targets.map(() => 0)
const watched = new Int32Array(new SharedArrayBuffer(4))
const slowest = { ms: 0, target: '' }
let turned = from
let trial = from

for (const { name, share } of targets) {
  if (share / shares.length < leastShare)
    throw new Error(`Too few inputs are for ${name}: ${share} of ${shares.length}`)
}

process.on('unhandledRejection', (error) => fail(error, 'left an unhandled rejection'))
process.on('uncaughtException', (error) => fail(error, 'threw later'))
// Most inputs are refused, and to say where in the code costs more than all else.
Error.stackTraceLimit = 0
new Worker(new URL('./fuzz-watch.ts', import.meta.url), { workerData: watched.buffer }).unref()

for (; trial < until; trial++) {
  Atomics.store(watched, 0, trial)
  const began = performance.now()
  const done = give(trial)
  if (done !== undefined) await done
  const ms = performance.now() - began
  if (ms > slowest.ms) await measure(ms)
  if ('polluted' in {} || Object.keys(Object.prototype).length > 0)
    fail(new Error('Object.prototype'), 'changed a prototype')
  if (trial - turned < turnEvery) continue
  await new Promise((resolve) => setImmediate(resolve))
  turned = trial + 1
}
await new Promise((resolve) => setImmediate(resolve))

const { user, system } = process.cpuUsage()
const named = targets.map(({ name }, at) => [name, made[at]])
console.log(JSON.stringify({ made: Object.fromEntries(named), slowest, cpuSeconds: (user + system) / 1e6 }))
process.exit(0)

/** What one trial is. Each has a chance of its own, so that one can be repeated without those before it. */
function trialOf(number: number): { at: number; target: Target; input: Buffer; random: Random } {
  const random = new Random(seed + number * 7919)
  const at = shares[Math.floor(number / atOnce) % shares.length] ?? 0
  const target = targets[at]
  const make = makers[at]
  if (target === undefined || make === undefined) throw new Error('There are no targets')
  return { at, target, input: make(random), random }
}

/** Makes one trial; a promise where the parser takes its time. */
function give(number: number): Promise<void> | undefined {
  const { at, target, input, random } = trialOf(number)
  made[at] = (made[at] ?? 0) + 1
  try {
    const done = target.run(input, random)
    return done instanceof Promise ? done.catch((error) => judge(error, target)) : undefined
  } catch (error) {
    return judge(error, target)
  }
}

function judge(error: unknown, target: Target): undefined {
  if (!target.allows(error)) fail(error, 'threw')
}

/** A busy machine or a collection of garbage makes any input look slow: it is so where it is slow each time. */
async function measure(seen: number): Promise<void> {
  let least = seen
  for (let again = 0; again < 3 && least > slowest.ms; again++) {
    const began = process.cpuUsage()
    const { target, input, random } = trialOf(trial)
    try {
      await target.run(input, random)
    } catch (error) {
      judge(error, target)
    }
    const { user, system } = process.cpuUsage(began)
    least = Math.min(least, (user + system) / 1_000)
  }
  if (least <= slowest.ms) return
  slowest.ms = least
  slowest.target = trialOf(trial).target.name
  if (least > slowMs) fail(new Error(`${least} ms of CPU`), 'was slow')
}

function fail(error: unknown, how: string): never {
  if (how === 'threw' && Error.stackTraceLimit === 0) {
    Error.stackTraceLimit = stackLines
    // Once more, to see where in the code it is thrown.
    void give(trial)
  }
  const description = error instanceof Error ? (error.stack ?? error.message) : String(error)
  const { target, input } = trialOf(trial)
  const text = JSON.stringify(input.toString('latin1').slice(0, 2_000))
  console.error(`A parser ${how}\n${target.name}, seed ${seed}, trial ${trial}: ${text}\n${description}`)
  if (how !== 'threw' && turned < trial) console.error(`It may be any trial since ${turned}`)
  process.exit(1)
}
