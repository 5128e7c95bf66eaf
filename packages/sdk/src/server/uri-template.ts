import { McpError } from '../jsonrpc/error.ts'

/** A variable's value: text, a list, or names with values. */
export type TemplateValue = string | readonly string[] | Readonly<Record<string, string>>

/** Expands one expression as RFC 6570 section 3.2 says. */
function expandPart(
  { operator, specs }: Expression,
  variables: Readonly<Record<string, TemplateValue | undefined>>,
): string {
  const encode = operator.reserved ? encodeReserved : encodeUnreserved
  const labelled = (name: string, text: string): string => {
    if (!operator.named) return text
    return text === '' ? name + operator.empty : `${name}=${text}`
  }
  const values = (spec: Spec): string[] => {
    const value = Object.hasOwn(variables, spec.name) ? variables[spec.name] : undefined
    if (value === undefined) return []
    if (typeof value === 'string') {
      const text = spec.prefix === undefined ? value : [...value].slice(0, spec.prefix).join('')
      return [labelled(spec.name, encode(text))]
    }
    const pairs: (readonly [string, string])[] = isList(value)
      ? value.map((item) => [spec.name, encode(item)])
      : Object.entries(value).map(([key, item]) => [encode(key), encode(item)])
    if (pairs.length === 0) return []
    if (!spec.explode) {
      return [
        labelled(spec.name, pairs.map(([key, item]) => (isList(value) ? item : `${key},${item}`)).join(',')),
      ]
    }
    if (isList(value)) return pairs.map(([name, item]) => labelled(name, item))
    return pairs.map(([key, item]) =>
      item === '' && operator.named ? key + operator.empty : `${key}=${item}`,
    )
  }
  const all = specs.flatMap(values)
  return all.length === 0 ? '' : operator.first + all.join(operator.separator)
}

function isList(value: TemplateValue): value is readonly string[] {
  return Array.isArray(value)
}

function encodeUnreserved(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function encodeReserved(text: string): string {
  return encodeURI(text)
    .replaceAll(/%25([0-9A-Fa-f]{2})/g, '%$1')
    .replaceAll('%5B', '[')
    .replaceAll('%5D', ']')
}

/** A step of a match: exact text, or a run of characters that a value allows. */
type Token =
  | { readonly text: string }
  | {
      readonly allows: (char: string) => boolean
      /** Maximum number of characters; an escaped one counts as one. */
      readonly maxChars: number
      readonly read: (raw: string) => readonly (readonly [string, string | string[]])[] | undefined
      /** Text at the beginning of a run that is not empty; undefined if the run must not be empty. */
      readonly opens: string | undefined
    }

type Run = Extract<Token, { maxChars: number }>
type Variables = Record<string, string | string[]>

const unbounded = Number.MAX_SAFE_INTEGER

/**
 * Matches a URI: backwards, to find the positions from which each token can match the rest, then forwards, with the longest
 * possible run for each token. There is no backtracking, so the time is linear in the length of the URI.
 */
function matchParts(parts: readonly Part[], uri: string): Variables | undefined {
  const text = ascii(uri)
  if (text === undefined) return undefined
  const [first] = parts
  const last = parts[parts.length - 1]
  if (first !== undefined && 'literal' in first && !text.startsWith(first.literal)) return undefined
  if (last !== undefined && 'literal' in last && !text.endsWith(last.literal)) return undefined
  const tokens = parts.flatMap(tokensOf)
  const widths = widthsOf(text)
  const reach = reachOf(tokens, text, widths)
  if (reach[0]?.[0] !== 1) return undefined
  const variables: (readonly [string, string | string[]])[] = []
  let at = 0
  for (const [index, token] of tokens.entries()) {
    if ('text' in token) {
      at += token.text.length
      continue
    }
    const end = farthest(token, text, widths, at, reach[index + 1])
    const values = readOrNothing(token, text.slice(at, end))
    if (values === undefined) return undefined
    variables.push(...values)
    at = end
  }
  return Object.fromEntries(variables)
}

/** The URI with everything beyond ASCII escaped; undefined for text that is not well-formed. */
function ascii(uri: string): string | undefined {
  try {
    return uri.replaceAll(/\P{ASCII}+/gu, encodeURIComponent)
  } catch {
    return undefined
  }
}

function tokensOf(part: Part): Token[] {
  if ('literal' in part) return [{ text: part.literal }]
  const { operator, specs } = part
  if (operator.named) return [namedRun(part)]
  const tokens: Token[] = []
  const [only] = specs
  const alone = specs.length === 1 && only !== undefined && !only.explode
  for (const [index, spec] of specs.entries()) {
    if (spec.explode && index === specs.length - 1) {
      tokens.push(listRun(part, spec, index === 0 ? operator.first : operator.separator))
      continue
    }
    if (operator.optional && alone) return [optionalRun(part, spec)]
    const opening = index === 0 ? operator.first : operator.separator
    if (opening !== '') tokens.push({ text: opening })
    tokens.push(valueRun(part, spec, alone ? '' : operator.separator))
  }
  return tokens
}

function valueRun({ operator }: Expression, spec: Spec, separator: string): Run {
  return {
    allows: operator.reserved
      ? (char) => char !== separator
      : (char) => char !== separator && isOfSegment(char),
    maxChars: spec.prefix ?? unbounded,
    opens: undefined,
    read: (raw) => [[spec.name, spec.explode ? [decodeURIComponent(raw)] : decodeURIComponent(raw)]],
  }
}

function optionalRun({ operator }: Expression, spec: Spec): Run {
  return {
    allows: () => true,
    maxChars: spec.prefix === undefined ? unbounded : spec.prefix + operator.first.length,
    opens: operator.first,
    read: (raw) => (raw === '' ? [] : [[spec.name, decodeURIComponent(raw.slice(operator.first.length))]]),
  }
}

function listRun({ operator }: Expression, spec: Spec, opening: string): Run {
  return {
    allows: operator.reserved
      ? () => true
      : (char) => isOfSegment(char) || char === operator.separator || char === opening,
    maxChars: unbounded,
    opens: opening,
    read: (raw) => [
      [
        spec.name,
        raw === '' ? [] : raw.slice(opening.length).split(operator.separator).map(decodeURIComponent),
      ],
    ],
  }
}

function namedRun({ operator, specs }: Expression): Run {
  return {
    allows: operator.separator === ';' ? (char) => isOfSegment(char) : (char) => char !== '#',
    maxChars: unbounded,
    opens: operator.first,
    read(raw) {
      const values = new Map<string, string | string[]>()
      for (const { name, explode } of specs) if (explode) values.set(name, [])
      if (raw === '') return [...values]
      for (const pair of raw.slice(operator.first.length).split(operator.separator)) {
        const equals = pair.indexOf('=')
        const name = equals === -1 ? pair : pair.slice(0, equals)
        const value = equals === -1 ? '' : decodeURIComponent(pair.slice(equals + 1))
        const spec = specs.find((one) => one.name === name)
        if (spec === undefined || (spec.prefix !== undefined && [...value].length > spec.prefix))
          return undefined
        const before = values.get(name)
        if (Array.isArray(before)) before.push(value)
        else if (before === undefined) values.set(name, value)
        else return undefined
      }
      return [...values]
    },
  }
}

/** Whether a character is allowed in a path segment. */
function isOfSegment(char: string): boolean {
  return char !== '/' && char !== '?' && char !== '#'
}

/** The length of the character at each position: 3 for an escaped byte, more for an escaped character of several bytes. */
function widthsOf(text: string): Uint8Array {
  const widths = new Uint8Array(text.length).fill(1)
  for (let at = text.indexOf('%'); at !== -1; at = text.indexOf('%', at + 1)) {
    const lead = Number.parseInt(text.slice(at + 1, at + 3), 16)
    const bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
    widths[at] = Number.isNaN(lead) ? 1 : Math.min(bytes * 3, text.length - at)
  }
  return widths
}

/** For each token and position, whether the tokens from there on match exactly the rest of the text. */
function reachOf(tokens: readonly Token[], text: string, widths: Uint8Array): Uint8Array[] {
  let after = new Uint8Array(text.length + 1)
  after[text.length] = 1
  const reach = [after]
  for (const token of tokens.toReversed()) {
    const here = new Uint8Array(text.length + 1)
    if ('text' in token) {
      for (let at = text.length - token.text.length; at >= 0; at--) {
        if (after[at + token.text.length] === 1 && text.startsWith(token.text, at)) here[at] = 1
      }
    } else {
      reachRun(token, text, widths, after, here)
    }
    reach.unshift(here)
    after = here
  }
  return reach
}

function reachRun(run: Run, text: string, widths: Uint8Array, after: Uint8Array, here: Uint8Array): void {
  const fewest = new Float64Array(text.length + 1).fill(Number.POSITIVE_INFINITY)
  if (run.opens !== undefined && after[text.length] === 1) here[text.length] = 1
  for (let at = text.length - 1; at >= 0; at--) {
    const next = at + (widths[at] ?? 1)
    if (run.allows(text.charAt(at))) {
      fewest[at] = after[next] === 1 ? 1 : 1 + (fewest[next] ?? Number.POSITIVE_INFINITY)
    }
    const opened = run.opens === undefined || text.startsWith(run.opens, at)
    const empty = run.opens !== undefined && after[at] === 1
    if (empty || (opened && (fewest[at] ?? Number.POSITIVE_INFINITY) <= run.maxChars)) here[at] = 1
  }
}

/** The end of the longest run from here after which the rest still matches. */
function farthest(
  run: Run,
  text: string,
  widths: Uint8Array,
  from: number,
  after: Uint8Array | undefined,
): number {
  let best = from
  let at = from
  if (run.opens !== undefined && !text.startsWith(run.opens, from)) return from
  for (let taken = 0; taken < run.maxChars && at < text.length && run.allows(text.charAt(at)); taken++) {
    at += widths[at] ?? 1
    if (after?.[at] === 1) best = at
  }
  return best
}

function readOrNothing(run: Run, raw: string): ReturnType<Run['read']> {
  try {
    return run.read(raw)
  } catch {
    return undefined
  }
}

/**
 * The variables of an RFC 6570 template, as a type. Exploded variables (`{/path*}`) are arrays; variables of a query
 * (`{?a,b}`), a fragment or path parameters may be absent from a URI.
 */
export type TemplateVariables<T extends string> = string extends T
  ? Record<string, string | string[] | undefined>
  : Whole<
      { [E in Expressions<T> as E extends MayBeAbsent ? never : Plain<E>]: string } & {
        [E in Expressions<T> as E extends MayBeAbsent ? Plain<E> : never]?: string
      } & { [E in Expressions<T> as Exploded<E>]: string[] }
    >

type Whole<T> = { [K in keyof T]: T[K] }
type MayBeAbsent = `${'#' | ';' | '?' | '&'}${string}`
type Expressions<T extends string> = T extends `${string}{${infer E}}${infer Rest}`
  ? E | Expressions<Rest>
  : never
type Bare<E extends string> = E extends `${'+' | '#' | '.' | '/' | ';' | '?' | '&'}${infer Rest}` ? Rest : E
type Listed<E extends string> = E extends `${infer A},${infer B}` ? A | Listed<B> : E
type PlainName<S extends string> = S extends `${string}*` ? never : S extends `${infer N}:${string}` ? N : S
type ExplodedName<S extends string> = S extends `${infer N}*` ? N : never
type Plain<E extends string> = PlainName<Listed<Bare<E>>>
type Exploded<E extends string> = ExplodedName<Listed<Bare<E>>>

/** A parsed template. */
export interface UriTemplate {
  /** Names of the variables, in the order of the template. */
  readonly names: readonly string[]
  /** The URI for these variables; undefined and empty ones are left out as RFC 6570 says. */
  expand(variables: Readonly<Record<string, TemplateValue | undefined>>): string
  /**
   * The variables of a URI, decoded; undefined if it does not match. If several matches are possible, earlier variables are as
   * long as possible. The time is linear in the length of the URI. A decoded value may contain any character, slashes and dots
   * included, so check it before it becomes part of a path.
   */
  match(uri: string): Record<string, string | string[]> | undefined
}

interface Spec {
  readonly name: string
  readonly explode: boolean
  /** Number of characters of the value to use. */
  readonly prefix: number | undefined
}

/** The operator of an expression (RFC 6570, section 2.2). */
interface Operator {
  readonly first: string
  readonly separator: string
  /** Whether values are written as `name=value`. */
  readonly named: boolean
  /** The text after the name of an empty value. */
  readonly empty: '' | '='
  /** Whether reserved characters are not escaped. */
  readonly reserved: boolean
  /** Whether the expression may be absent from a URI that matches. */
  readonly optional: boolean
}

interface Expression {
  readonly operator: Operator
  readonly specs: readonly Spec[]
}

type Part = { readonly literal: string } | Expression

const simple: Operator = {
  first: '',
  separator: ',',
  named: false,
  empty: '',
  reserved: false,
  optional: false,
}
const operators: ReadonlyMap<string, Operator> = new Map([
  ['', simple],
  ['+', { ...simple, reserved: true }],
  ['#', { ...simple, first: '#', reserved: true, optional: true }],
  ['.', { ...simple, first: '.', separator: '.' }],
  ['/', { ...simple, first: '/', separator: '/' }],
  [';', { ...simple, first: ';', separator: ';', named: true, optional: true }],
  ['?', { ...simple, first: '?', separator: '&', named: true, empty: '=', optional: true }],
  ['&', { ...simple, first: '&', separator: '&', named: true, empty: '=', optional: true }],
])
const variable =
  /^((?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*)(\*|:[1-9]\d{0,3})?$/
const maxChars = 2048

/**
 * Reads an RFC 6570 template, all four levels.
 * @throws McpError 'INVALID' for an invalid template, with the position
 */
export function parseTemplate(text: string): UriTemplate {
  if (text.length > maxChars) {
    throw new McpError('INVALID', `A URI template may have at most ${maxChars} characters`)
  }
  const parts = partsOf(text)
  const names = parts.flatMap((part) => ('specs' in part ? part.specs.map(({ name }) => name) : []))
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw invalid(text, `uses the variable "${twice}" twice`)
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
      throw invalid(text, `closes an expression at ${text.indexOf('}', at)} that it did not open`)
    if (literal !== '') parts.push({ literal: encodedLiteral(text, literal) })
    if (open === -1) break
    const close = text.indexOf('}', open)
    if (close === -1) throw invalid(text, `does not close the expression at ${open}`)
    parts.push(expressionOf(text, text.slice(open + 1, close)))
    at = close + 1
  }
  return parts
}

function expressionOf(text: string, body: string): Expression {
  const sign = /^[+#./;?&=,!@|]/.exec(body)?.[0] ?? ''
  const operator = operators.get(sign)
  if (operator === undefined) throw invalid(text, `has "{${body}}", whose operator "${sign}" is reserved`)
  const specs = body
    .slice(sign.length)
    .split(',')
    .map((spec): Spec => {
      const match = variable.exec(spec)
      if (match === null) throw invalid(text, `has "{${body}}", which does not name a variable`)
      const [, name = '', modifier] = match
      const explode = modifier === '*'
      return {
        name,
        explode,
        prefix: modifier === undefined || explode ? undefined : Number(modifier.slice(1)),
      }
    })
  return { operator, specs }
}

/** A literal, encoded for a URI. */
function encodedLiteral(text: string, literal: string): string {
  if (/[\p{Cc} "<>\\^`|]/u.test(literal)) throw invalid(text, 'has a character that no URI may have')
  if (/%(?![0-9A-Fa-f]{2})/.test(literal)) throw invalid(text, 'has a "%" without two hexadecimal digits')
  try {
    return literal.replaceAll(/\P{ASCII}+/gu, encodeURIComponent)
  } catch {
    throw invalid(text, 'is not well-formed text')
  }
}

function invalid(text: string, reason: string): McpError {
  return new McpError('INVALID', `The URI template ${JSON.stringify(text)} ${reason}`)
}
