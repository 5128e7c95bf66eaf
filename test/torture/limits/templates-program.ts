import { parseTemplate, type UriTemplate } from '../../../packages/sdk/src/server/uri-template.ts'
import { Random } from '../random.ts'
import { cpuMs, input, median, numberIn, report } from './meter.ts'

const operators = ['', '+', '#', '.', '/', ';', '?', '&'] as const
const joints = ['', '/', '-', 'a', '.', ','] as const
const units = ['a', 'a/', '%41', ',', '.', 'a,a', ';v0=a', '&v0=a', '%E6%97%A5', '/a.', '=', 'v0=a&'] as const

/** A template of 2 to 6 variables, each in an expression of its own or with others. */
function templateOf(random: Random): string {
  let text = 'x:'
  const count = random.between(2, 6)
  for (let index = 0; index < count; index++) {
    const more = random.pick(['', '', '*', ':3'] as const)
    const second = random.fraction() < 0.2 ? `,w${index}` : ''
    text += `{${random.pick(operators)}v${index}${more}${second}}${random.pick(joints)}`
  }
  return text
}

/** A URI of about so many characters: one that the template makes, or one that may look like it. */
function uriOf(template: UriTemplate, random: Random, chars: number): string {
  const unit = random.pick(units)
  const end = random.pick(['', '', '!', '#', '\0'] as const)
  if (random.fraction() < 0.3) {
    const first = random.pick(['', '?', ';', '/', '#'] as const)
    return `x:${first}${unit.repeat(Math.floor(chars / unit.length))}${end}`
  }
  const share = chars / template.names.length / unit.length
  const values = template.names.map((name) => [name, unit.repeat(Math.max(1, Math.floor(share)))])
  return template.expand(Object.fromEntries(values)) + end
}

const [trials, seed] = input((given) => [numberIn(given, 'trials'), numberIn(given, 'seed')])
let worst = 0
let matched = 0
const spent: number[] = []
const spentOnDouble: number[] = []
for (let trial = 0; trial < trials; trial++) {
  const random = new Random(seed + trial)
  const text = templateOf(random)
  const template = parseTemplate(text)
  const uri = uriOf(template, new Random(seed - trial), 8000)
  const double = uriOf(template, new Random(seed - trial), 16_000)
  const one = median(3, () =>
    cpuMs(() => {
      if (template.match(uri) !== undefined) matched++
    }),
  )
  if (one > 1000)
    throw new Error(`Seed ${seed}, trial ${trial}: ${text} took ${one} ms for ${uri.slice(0, 40)}`)
  worst = Math.max(worst, one)
  spent.push(one)
  spentOnDouble.push(median(3, () => cpuMs(() => template.match(double))))
}
const sum = (all: readonly number[]): number => all.reduce((total, one) => total + one, 0)
report({ worst, matched, mean: sum(spent) / trials, ratio: sum(spentOnDouble) / Math.max(1, sum(spent)) })
