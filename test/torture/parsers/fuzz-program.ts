import { Random } from '../random.ts'
import { authTargets } from './fuzz-auth.ts'
import { hostTargets } from './fuzz-host.ts'
import { serverTargets } from './fuzz-server.ts'
import type { Target } from './fuzz-target.ts'
import { wireTargets } from './fuzz-wire.ts'
import { mutant } from './mutate.ts'

// Gives mutants of seeds to every parser. It takes the seed, how many to make, and optionally the one to begin with; it
// prints what it found as one line of JSON, and exits with 1 at the first input that fails.

const slowMs = 1_000
const tellEvery = 10_000
const [seedText, trialsText, fromText] = process.argv.slice(2)
const seed = Number(seedText)
const from = Number(fromText ?? 0)
const until = from + Number(trialsText)
const targets: readonly Target[] = [
  ...wireTargets(),
  ...authTargets(),
  ...hostTargets(),
  ...(await serverTargets()),
]
const shares = targets.flatMap((target) => Array.from({ length: target.share }, () => target))
const made = new Map<string, number>()
let slowest = { ms: 0, target: '' }
let current = ''

process.on('unhandledRejection', (error) => fail(error, 'left a rejection to nobody'))
process.on('uncaughtException', (error) => fail(error, 'threw later'))

for (let trial = from; trial < until; trial++) {
  // Each trial has a chance of its own, so that one can be repeated without those before it.
  const random = new Random(seed + trial * 7919)
  if (trial % tellEvery === 0) process.stderr.write(`Trial ${trial}\n`)
  const target = shares[random.between(0, shares.length - 1)]
  if (target === undefined) break
  const input = mutant(random.pick(target.seeds), target.seeds, random)
  current = `${target.name}, seed ${seed}, trial ${trial}: ${JSON.stringify(input.toString('latin1').slice(0, 2_000))}`
  made.set(target.name, (made.get(target.name) ?? 0) + 1)
  const began = process.cpuUsage()
  try {
    const done = target.run(input, random)
    if (done instanceof Promise) await done
  } catch (error) {
    if (!target.allows(error)) fail(error, 'threw')
  }
  const { user, system } = process.cpuUsage(began)
  const ms = (user + system) / 1_000
  if (ms > slowest.ms) slowest = { ms, target: target.name }
  if (ms > slowMs) fail(new Error(`${ms} ms`), 'was slow')
  if ('polluted' in {} || Object.keys(Object.prototype).length > 0)
    fail(new Error('Object.prototype'), 'changed a prototype')
}

const { user, system } = process.cpuUsage()
console.log(JSON.stringify({ made: Object.fromEntries(made), slowest, cpuSeconds: (user + system) / 1e6 }))
process.exit(0)

function fail(error: unknown, how: string): never {
  const said = error instanceof Error ? (error.stack ?? error.message) : String(error)
  console.error(`A parser ${how}\n${current}\n${said}`)
  process.exit(1)
}
