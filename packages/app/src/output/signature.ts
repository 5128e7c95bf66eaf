import type { JsonSchema, Tool } from '@jackfield/sdk'
import { dereference, isObject } from '../cli/arguments.ts'
import { oneLine } from './sanitize.ts'
import { widthOf, wrap } from './width.ts'

const limits = { depth: 4, choices: 12, sentence: 300 }
/** A non-breaking space; replaced by a plain space after wrapping. */
const nonBreakingSpace = '\u00a0'

/** A schema as a short type: `string`, `"economy" | "business"`, `number[]`. Object members are not listed. */
export function typeText(definition: unknown, root: JsonSchema, separator = ' | ', depth = 0): string {
  if (!isObject(definition) || depth > limits.depth) return 'any'
  const schema = dereference(definition, root)
  const inner = (part: unknown): string => typeText(part, root, separator, depth + 1)
  const joinAlternatives = (parts: string[]): string => {
    const different = [...new Set(parts)]
    const shown = different.slice(0, limits.choices)
    return [...shown, ...(different.length > shown.length ? ['…'] : [])].join(separator)
  }
  if ('const' in schema) return oneLine(JSON.stringify(schema.const))
  if (Array.isArray(schema.enum))
    return joinAlternatives(schema.enum.map((value) => oneLine(JSON.stringify(value))))
  if (schema.type === 'array') {
    const item = inner(schema.items)
    return item.includes(separator) ? `(${item})[]` : `${item}[]`
  }
  const branches = schema.anyOf ?? schema.oneOf
  if (Array.isArray(branches)) return joinAlternatives(branches.map(inner))
  const types = Array.isArray(schema.type) ? schema.type : [schema.type]
  const named = joinAlternatives(types.flatMap((type) => (typeof type === 'string' ? [oneLine(type)] : [])))
  return named === '' ? 'any' : named
}

/**
 * A tool's signature: `add(a: number, b?: number)`, safe to print. With `columns`, over several lines that break between
 * arguments.
 */
export function signatureLines({ name, inputSchema }: Tool, columns?: number): string[] {
  const properties = isObject(inputSchema.properties) ? inputSchema.properties : {}
  const required = Array.isArray(inputSchema.required) ? inputSchema.required : []
  const indent = '    '
  const room = columns === undefined ? undefined : Math.max(1, columns - indent.length)
  const entries = Object.entries(properties)
  const parameters = entries.map(([key, property], n) => {
    const begin = n === 0 ? `${oneLine(name)}(` : ''
    const head = `${begin}${oneLine(key)}${required.includes(key) ? '' : '?'}: `
    const tail = n === entries.length - 1 ? ')' : ','
    const short = `${head}${typeText(property, inputSchema, '|')}${tail}`
    // A parameter that is wider than the line may break at its spaces.
    if (room !== undefined && widthOf(short) > room) return `${head}${typeText(property, inputSchema)}${tail}`
    return short.replaceAll(' ', nonBreakingSpace)
  })
  const text = entries.length === 0 ? `${oneLine(name)}()` : parameters.join(' ')
  if (columns === undefined || room === undefined || widthOf(text) <= columns) {
    return [text.replaceAll(nonBreakingSpace, ' ')]
  }
  return wrap(text, room).map(
    (line, n) => `${n === 0 ? '' : indent}${line.replaceAll(nonBreakingSpace, ' ')}`,
  )
}

/** The first sentence of a description, on one line. An abbreviation or the number of a list item does not end it. */
export function firstSentence(text: string): string {
  const [paragraph = ''] = text.trim().split(/\n\s*\n/)
  const line = oneLine(paragraph.slice(0, 4_000))
  let sentence = ''
  for (const { segment } of new Intl.Segmenter('en', { granularity: 'sentence' }).segment(line)) {
    sentence += segment
    if (!/(?:\b(?:e\.g|i\.e|vs|approx|etc|cf)|(?:^|\s)\d{1,2})\.\s*$/i.test(sentence)) break
  }
  return oneLine(sentence, limits.sentence)
}
