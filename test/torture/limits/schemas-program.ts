import { McpError } from '@jackfield/sdk'
import { compileSchema } from '@jackfield/sdk/schema'
import { Random } from '../random.ts'
import { hostile, type Pair, pairOf } from './hostile-schemas.ts'
import { input, loopMs, numberIn, report } from './meter.ts'

const outcomes = { right: 0, wrong: 0, refused: 0 }

/** Checks one pair as a client checks the result of a peer's tool. Gives the milliseconds that took. */
function check({ schema, value }: Pair): number {
  return loopMs(() => {
    try {
      const why = compileSchema(schema).check(value)
      outcomes[why === undefined ? 'right' : 'wrong']++
    } catch (error) {
      if (!(error instanceof McpError) || error.code !== 'INVALID') throw error
      outcomes.refused++
    }
  })
}

const [pairs, seed] = input((given) => [numberIn(given, 'pairs'), numberIn(given, 'seed')])
const found: Record<string, number> = {}
let worst = 0
for (const [name, make] of Object.entries(hostile)) {
  const spent = check(make())
  worst = Math.max(worst, spent)
  found[`of ${name}`] = spent
}
let worstOfChance = 0
for (let pair = 0; pair < pairs; pair++) {
  // Each has numbers of its own, so that one that fails can be made again without those before it.
  const made = pairOf(new Random(seed + pair))
  try {
    worstOfChance = Math.max(worstOfChance, check(made))
  } catch (cause) {
    throw new Error(`Seed ${seed}, pair ${pair}: ${JSON.stringify(made.schema)}`, { cause })
  }
}
report({ ...found, worst, 'worst of chance': worstOfChance, ...outcomes })
