import type { GivenValue } from '../types/index.ts'
import { partsOf, soundsSecret } from './variables.ts'

/** Values as they are written; one with a name that says that it is secret is not shown, unless it is only a reference. */
export function givenValues(values: Readonly<Record<string, string>> = {}): GivenValue[] {
  return Object.entries(values).map(([name, value]) => {
    const read = partsOf(value)
    const isReference = 'parts' in read && read.parts.every(({ kind }) => kind !== 'text')
    const shown = soundsSecret(name) && !isReference ? `[${name}]` : withoutPassword(value)
    return { name, value: shown }
  })
}

function withoutPassword(value: string): string {
  return value.replace(/(:\/\/[^\s/?#@:]*):[^\s/?#@]+@/g, '$1:[password]@')
}
