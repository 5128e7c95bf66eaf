import { McpError } from '../jsonrpc/error.ts'
import { expandPart, type TemplateValue } from './uri-expand.ts'
import { matchParts } from './uri-match.ts'

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
  readonly names: readonly string[]
  /** The URI for these variables; undefined and empty ones are left out as RFC 6570 says. */
  expand(variables: Readonly<Record<string, TemplateValue | undefined>>): string
  /**
   * The variables of a URI, decoded; undefined when it does not match. Where several readings are possible, earlier
   * variables take as much as they can. Time grows with the length of the URI alone. A decoded value may hold any
   * character, slashes and dots included, so check it before it becomes part of a path.
   */
  match(uri: string): Record<string, string | string[]> | undefined
}

/** One variable of an expression. */
export interface Spec {
  readonly name: string
  readonly explode: boolean
  /** How many characters of the value count. */
  readonly prefix: number | undefined
}

/** What the sign of an expression means. */
export interface Operator {
  readonly first: string
  readonly separator: string
  /** Whether values stand as `name=value`. */
  readonly named: boolean
  /** What follows the name of an empty value. */
  readonly empty: '' | '='
  /** Whether reserved characters stand as they are. */
  readonly reserved: boolean
  /** Whether the expression may be absent from a URI that matches. */
  readonly optional: boolean
}

export interface Expression {
  readonly operator: Operator
  readonly specs: readonly Spec[]
}

export type Part = { readonly literal: string } | Expression

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
 * @throws McpError 'INVALID' for text that is not one, saying where
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
  if (operator === undefined) throw invalid(text, `has "{${body}}", whose sign "${sign}" is reserved`)
  const specs = body
    .slice(sign.length)
    .split(',')
    .map((spec): Spec => {
      const found = variable.exec(spec)
      if (found === null) throw invalid(text, `has "{${body}}", which does not name a variable`)
      const [, name = '', modifier] = found
      const explode = modifier === '*'
      return {
        name,
        explode,
        prefix: modifier === undefined || explode ? undefined : Number(modifier.slice(1)),
      }
    })
  return { operator, specs }
}

/** A literal as it stands in a URI. */
function encodedLiteral(text: string, literal: string): string {
  if (/[\p{Cc} "<>\\^`|]/u.test(literal)) throw invalid(text, 'has a character that no URI may have')
  if (/%(?![0-9A-Fa-f]{2})/.test(literal)) throw invalid(text, 'has a "%" that escapes nothing')
  try {
    return literal.replaceAll(/\P{ASCII}+/gu, encodeURIComponent)
  } catch {
    throw invalid(text, 'is not well-formed text')
  }
}

function invalid(text: string, why: string): McpError {
  return new McpError('INVALID', `The URI template ${JSON.stringify(text)} ${why}`)
}
