import type { Random } from '../random.ts'
import { asBytes, type Bytes, changedBytes } from './mutate-bytes.ts'
import { changedValue, type Known, knownValue, partsOf } from './mutate-values.ts'
import { finished } from './odd.ts'

/** How a text encodes a value, for mutants that keep the language it is written in. */
export interface Form {
  /** @throws where the text is none of this language */
  read(text: string): unknown
  /** @throws for what the language cannot say */
  write(value: unknown): string
}

/** What most seeds are written in. */
export const inJson: Form = {
  read: (text) => JSON.parse(text),
  write: (value) => JSON.stringify(value) ?? 'null',
}

const maxBytes = 8 * 1024
/** The mutants of an encoded value that encode another value; others are hardly ever valid. */
const keptForm = 0.8
/** Of those, the ones that are changed once more, byte by byte. */
const thenBytes = 0.06

/** Mutates seeds: mostly their parsed values, if they have one, otherwise their bytes. */
export function mutants(
  seeds: readonly [string, ...string[]],
  form: Form = inJson,
): (random: Random) => Buffer {
  const [first, ...rest] = seeds
  const all: readonly [Bytes, ...Bytes[]] = [asBytes(first), ...rest.map(asBytes)]
  const known = seeds.map((seed) => valueIn(seed, form))
  const parts = partsOf(known.filter((one) => one !== undefined))
  return (random) => {
    const at = random.between(0, seeds.length - 1)
    let bytes = all[at] ?? all[0]
    const value = known[at]
    const keeps = value !== undefined && random.fraction() < keptForm
    if (keeps) bytes = asBytes(finished(written(changedValue(value, parts, random), form)))
    const times = keeps ? Number(random.fraction() < thenBytes) : random.between(1, 4)
    for (let left = times; left > 0; left--) bytes = changedBytes(bytes, all, random)
    return Buffer.from(bytes.slice(0, maxBytes), 'latin1')
  }
}

function valueIn(seed: string, form: Form): Known | undefined {
  try {
    const value = form.read(seed)
    return typeof value === 'object' && value !== null ? knownValue(value) : undefined
  } catch {
    return undefined
  }
}

function written(value: unknown, form: Form): string {
  try {
    return form.write(value)
  } catch {
    // No value of its own language: then it is what another language makes of it.
    return inJson.write(value)
  }
}
