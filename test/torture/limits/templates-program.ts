import { parseTemplate, type UriTemplate } from '@jackfield/sdk'
import { Random } from '../random.ts'
import { cpuMs, input, numberIn, report } from './meter.ts'

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
const scales = [1, 2, 4]
const timesEach = 3
let worst = 0
let matched = 0
/** Milliseconds for the URIs of each length. */
const spent = scales.map(() => 0)
for (let trial = 0; trial < trials; trial++) {
  const random = new Random(seed + trial)
  const text = templateOf(random)
  const template = parseTemplate(text)
  for (const [at, scale] of scales.entries()) {
    const uri = uriOf(template, new Random(seed - trial), scale * 8000)
    if (scale === 1 && template.match(uri) !== undefined) matched++
    const least = Math.min(...Array.from({ length: timesEach }, () => cpuMs(() => template.match(uri))))
    if (least > 1000)
      throw new Error(`Seed ${seed}, trial ${trial}: ${text} took ${least} ms for ${uri.slice(0, 40)}`)
    if (scale === 1) worst = Math.max(worst, least)
    spent[at] = (spent[at] ?? 0) + least
  }
}
const [first = Number.NaN, , last = Number.NaN] = spent
report({ worst, matched, mean: first / trials, ratio: Math.sqrt(last / first) })
