/** The variables of an RFC 6570 template, as a type. Exploded and list variables are arrays of strings. */
export type TemplateVariables<T extends string> = string extends T
  ? Record<string, string | string[]>
  : { [V in VariableNames<T>]: V extends ExplodedNames<T> ? string[] : string }

type Expressions<T extends string> = T extends `${string}{${infer E}}${infer Rest}`
  ? E | Expressions<Rest>
  : never
type Bare<E extends string> = E extends `${'+' | '#' | '.' | '/' | ';' | '?' | '&'}${infer Rest}` ? Rest : E
type Listed<E extends string> = E extends `${infer A},${infer B}` ? A | Listed<B> : E
type Specs<T extends string> = Listed<Bare<Expressions<T>>>
type Named<S extends string> = S extends `${infer N}*` ? N : S extends `${infer N}:${string}` ? N : S
type VariableNames<T extends string> = Named<Specs<T>>
type ExplodedNames<T extends string> =
  Specs<T> extends infer S ? (S extends `${infer N}*` ? N : never) : never

/** A parsed template. */
export interface UriTemplate {
  readonly names: readonly string[]
  /** The URI for these variables; undefined ones are left out. */
  expand(variables: Readonly<Record<string, string | readonly string[] | undefined>>): string
  /** The variables of a URI, decoded; undefined when it does not match. Time grows with the URI's length alone. */
  match(uri: string): Record<string, string | string[]> | undefined
}

interface Spec {
  name: string
  explode: boolean
  prefix: number | undefined
}

interface Operator {
  first: string
  separator: string
  named: boolean
  emptyEquals: boolean
  reserved: boolean
  /** Whether the whole expression may be absent from a URI. */
  optional: boolean
}

type Part = { literal: string } | { operator: Operator; specs: Spec[]; allows: (code: number) => boolean }

const simple = {
  first: '',
  separator: ',',
  named: false,
  emptyEquals: false,
  reserved: false,
  optional: false,
}
const operators: Readonly<Record<string, Operator>> = {
  '': simple,
  '+': { ...simple, reserved: true },
  '#': { ...simple, first: '#', reserved: true },
  '.': { ...simple, first: '.', separator: '.' },
  '/': { ...simple, first: '/', separator: '/' },
  ';': { ...simple, first: ';', separator: ';', named: true, optional: true },
  '?': { ...simple, first: '?', separator: '&', named: true, emptyEquals: true, optional: true },
  '&': { ...simple, first: '&', separator: '&', named: true, emptyEquals: true, optional: true },
}
const expression = /^([+#./;?&]?)([A-Za-z0-9_.%]+(?:\*|:\d{1,4})?(?:,[A-Za-z0-9_.%]+(?:\*|:\d{1,4})?)*)$/
const maxChars = 2048

/**
 * Reads an RFC 6570 template, all four levels.
 * @throws TypeError for text that is not one, saying where
 */
export function parseTemplate(text: string): UriTemplate {
  if (text.length > maxChars) throw new TypeError(`A URI template may have at most ${maxChars} characters`)
  const parts = partsOf(text)
  const names = parts.flatMap((part) => ('specs' in part ? part.specs.map((spec) => spec.name) : []))
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw new TypeError(`The URI template ${text} uses the variable "${twice}" twice`)
  return {
    names,
    expand: (variables) =>
      parts.map((part) => ('literal' in part ? part.literal : expandPart(part, variables))).join(''),
    match: (uri) => matchParts(parts, uri),
  }
}

function partsOf(text: string): Part[] {
  const parts: Part[] = []
  let at = 0
  while (at < text.length) {
    const open = text.indexOf('{', at)
    const literal = open === -1 ? text.slice(at) : text.slice(at, open)
    if (literal.includes('}'))
      throw new TypeError(`The URI template ${text} closes an expression it did not open`)
    if (literal !== '') parts.push({ literal })
    if (open === -1) break
    const close = text.indexOf('}', open)
    const found = close === -1 ? null : expression.exec(text.slice(open + 1, close))
    if (found === null)
      throw new TypeError(`The URI template ${text} has an expression that is not valid at ${open}`)
    parts.push(expressionPart(found[1] ?? '', found[2] ?? ''))
    at = close + 1
  }
  return parts
}

function expressionPart(sign: string, list: string): Part {
  const operator = operators[sign] ?? simple
  const specs = list.split(',').map((spec) => {
    const [name = spec, prefix] = spec.replace('*', '').split(':')
    return { name, explode: spec.endsWith('*'), prefix: prefix === undefined ? undefined : Number(prefix) }
  })
  const several = specs.length > 1 || specs.some((spec) => spec.explode)
  const extra = operator.named ? `${operator.separator}=,` : several ? operator.separator : ''
  return { operator, specs, allows: charTest(operator.reserved, extra + (operator.first === '.' ? '' : '.')) }
}

/** Which characters a value may show in a URI: unreserved and escaped ones, what separates values, or nearly all. */
function charTest(reserved: boolean, extra: string): (code: number) => boolean {
  return (code) => {
    if (code > 127 || (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122))
      return true
    const char = String.fromCharCode(code)
    if (reserved) return code > 32 && code < 127
    return "-_~%!'()*@$+:".includes(char) || extra.includes(char)
  }
}

function expandPart(
  part: Extract<Part, { specs: Spec[] }>,
  variables: Parameters<UriTemplate['expand']>[0],
): string {
  const { operator } = part
  const encode = (value: string): string => encodeValue(value, operator.reserved)
  const pairs = part.specs.flatMap(({ name, explode, prefix }) => {
    const value = variables[name]
    if (value === undefined || (typeof value !== 'string' && value.length === 0)) return []
    const label = (text: string): string => {
      if (!operator.named) return text
      return text === '' && !operator.emptyEquals ? name : `${name}=${text}`
    }
    if (typeof value === 'string')
      return [label(encode(prefix === undefined ? value : [...value].slice(0, prefix).join('')))]
    return explode ? value.map((item) => label(encode(item))) : [label(value.map(encode).join(','))]
  })
  return pairs.length === 0 ? '' : operator.first + pairs.join(operator.separator)
}

function encodeValue(value: string, reserved: boolean): string {
  if (reserved)
    return encodeURI(value)
      .replaceAll(/%25([0-9A-Fa-f]{2})/g, '%$1')
      .replaceAll('%5B', '[')
      .replaceAll('%5D', ']')
  return encodeURIComponent(value).replaceAll(
    /[!'()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** For every part and position, the farthest end from which the rest still matches: linear in parts × characters. */
function matchParts(parts: readonly Part[], uri: string): Record<string, string | string[]> | undefined {
  const size = uri.length
  let rest = new Int32Array(size + 1).fill(-1)
  rest[size] = size
  const ends: Int32Array[] = []
  for (const part of parts.toReversed()) {
    const here = new Int32Array(size + 1).fill(-1)
    if ('literal' in part) {
      for (let p = size - part.literal.length; p >= 0; p--) {
        const end = p + part.literal.length
        if ((rest[end] ?? -1) !== -1 && uri.startsWith(part.literal, p)) here[p] = end
      }
    } else {
      fillExpression(part, uri, rest, here)
    }
    ends.unshift(here)
    rest = here
  }
  return (rest[0] ?? -1) === -1 ? undefined : collect(parts, ends, uri)
}

function fillExpression(
  part: Extract<Part, { specs: Spec[] }>,
  uri: string,
  rest: Int32Array,
  here: Int32Array,
): void {
  const span = new Int32Array(uri.length + 1).fill(-1)
  for (let p = uri.length; p >= 0; p--) {
    const further = p < uri.length && part.allows(uri.charCodeAt(p)) ? (span[p + 1] ?? -1) : -1
    span[p] = further !== -1 ? further : (rest[p] ?? -1) !== -1 ? p : -1
  }
  const { first, optional } = part.operator
  for (let p = uri.length; p >= 0; p--) {
    const from = p + first.length
    const end = uri.startsWith(first, p) && from <= uri.length ? (span[from] ?? -1) : -1
    if (end > from) here[p] = end
    else if (optional && (rest[p] ?? -1) !== -1) here[p] = p
  }
}

function collect(
  parts: readonly Part[],
  ends: readonly Int32Array[],
  uri: string,
): Record<string, string | string[]> | undefined {
  const variables: [string, string | string[]][] = []
  let at = 0
  for (const [i, part] of parts.entries()) {
    const end = ends[i]?.[at] ?? -1
    if ('specs' in part && end > at) {
      const values = valuesOf(part, uri.slice(at + part.operator.first.length, end))
      if (values === undefined) return undefined
      variables.push(...values)
    }
    at = end
  }
  return Object.fromEntries(variables)
}

function valuesOf(
  part: Extract<Part, { specs: Spec[] }>,
  text: string,
): [string, string | string[]][] | undefined {
  const { operator, specs } = part
  try {
    const [only] = specs
    if (operator.named) return namedValues(specs, text.split(operator.separator))
    if (only !== undefined && specs.length === 1) {
      return [
        [
          only.name,
          only.explode ? text.split(operator.separator).map(decodeURIComponent) : decodeURIComponent(text),
        ],
      ]
    }
    const values = text.split(operator.separator)
    if (values.length > specs.length) return undefined
    return values.flatMap((value, i): [string, string | string[]][] => {
      const spec = specs[i]
      return spec === undefined
        ? []
        : [[spec.name, spec.explode ? [decodeURIComponent(value)] : decodeURIComponent(value)]]
    })
  } catch {
    return undefined
  }
}

function namedValues(specs: readonly Spec[], pairs: readonly string[]): [string, string | string[]][] {
  const values = new Map<string, string | string[]>()
  for (const pair of pairs) {
    const equals = pair.indexOf('=')
    const name = equals === -1 ? pair : pair.slice(0, equals)
    const value = decodeURIComponent(equals === -1 ? '' : pair.slice(equals + 1))
    const spec = specs.find((one) => one.name === name)
    if (spec === undefined) continue
    const before = values.get(name)
    values.set(name, spec.explode ? [...(Array.isArray(before) ? before : []), value] : value)
  }
  return [...values]
}
