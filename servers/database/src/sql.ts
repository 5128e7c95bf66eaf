import { type Engine, EngineError, type Parameter } from './engine.ts'

/** The lexical parts of SQL that matter here. Comments and whitespace are skipped. */
interface Token {
  kind: 'word' | 'parameter' | 'other'
  text: string
  at: number
}

const space = { SQLite: /[ \t\n\r\f\ufeff]+/y, PostgreSQL: /[ \t\n\r\f\v]+/y }
const lineComment = { SQLite: /--[^\n]*/y, PostgreSQL: /--[^\n\r]*/y }
const quoted = /'[^']*(?:''[^']*)*'?|"[^"]*(?:""[^"]*)*"?|`[^`]*(?:``[^`]*)*`?|\[[^\]]*\]?/y
const word = /[A-Za-z_\u0080-\u{10ffff}][\w$\u0080-\u{10ffff}]*|\d[\w.]*/uy
const parameter = /\?\d*|[$:@][\w$\u0080-\u{10ffff}]+/uy

/** Reads SQL into tokens as SQLite does. For PostgreSQL only what precedes the first keyword is exact. */
function* tokens(sql: string, dialect: Engine['kind']): Generator<Token> {
  const match = (pattern: RegExp, at: number): string | undefined => {
    pattern.lastIndex = at
    return pattern.exec(sql)?.[0]
  }
  for (let at = 0; at < sql.length; ) {
    if (sql.startsWith('/*', at)) {
      at = endOfComment(sql, at, dialect === 'PostgreSQL')
      continue
    }
    const skipped = match(space[dialect], at) ?? match(lineComment[dialect], at)
    if (skipped !== undefined) {
      at += skipped.length
      continue
    }
    const found: [Token['kind'], string | undefined][] = [
      ['other', match(quoted, at)],
      ['word', match(word, at)],
      ['parameter', match(parameter, at)],
    ]
    const [kind, text = ''] = found.find(([, text]) => text !== undefined) ?? ['other', sql[at]]
    yield { kind, text, at }
    at += text.length
  }
}

function endOfComment(sql: string, start: number, nested: boolean): number {
  const mark = /\/\*|\*\//g
  mark.lastIndex = start + 2
  for (let depth = 1; ; ) {
    const found = mark.exec(sql)
    if (found === null) return sql.length
    if (found[0] === '*/') depth--
    else if (nested) depth++
    if (depth === 0) return mark.lastIndex
  }
}

/** The first keyword of a statement in upper case; empty if it begins with something else. */
export function firstKeyword(sql: string, dialect: Engine['kind']): string {
  for (const { kind, text } of tokens(sql, dialect)) {
    if (text === '(' || text === ';') continue
    return kind === 'word' ? text.toUpperCase() : ''
  }
  return ''
}

/** Whether SQL for SQLite has only comments, whitespace and semicolons. */
export function isBlank(sql: string): boolean {
  for (const { text } of tokens(sql, 'SQLite')) if (text !== ';') return false
  return true
}

/** Parameters as node:sqlite binds them: those of `?` in order, the others by name. */
export interface BoundParameters {
  inOrder: Parameter[]
  named: Record<string, Parameter>
}

/**
 * Assigns parameters to the placeholders of a statement of SQLite. SQLite itself would read NULL for a missing one.
 * @throws EngineError if their numbers differ, or for a placeholder without a number
 */
export function bindParameters(sql: string, parameters: readonly Parameter[]): BoundParameters {
  const bound: BoundParameters = { inOrder: [], named: {} }
  let highest = 0
  for (const { kind, text } of tokens(sql, 'SQLite')) {
    if (kind !== 'parameter') continue
    const number = text === '?' ? highest + 1 : Number(/^[?$]([1-9]\d*)$/.exec(text)?.[1])
    if (Number.isNaN(number)) {
      throw new EngineError(`The placeholder ${text} has no number: write ?1, ?2 and so on.`)
    }
    highest = Math.max(highest, number)
    const value = parameters[number - 1] ?? null
    if (text === '?') bound.inOrder.push(value)
    else bound.named[text] = value
  }
  if (highest !== parameters.length) {
    throw new EngineError(
      `The statement has ${count(highest, 'parameter')}, but ${parameters.length} ${parameters.length === 1 ? 'was' : 'were'} given.`,
    )
  }
  return bound
}

/** An identifier as SQL: quoted unless it is a plain lower-case name that is not a keyword. */
export function identifier(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) && !keywords.has(name) ? name : `"${name.replaceAll('"', '""')}"`
}

/** Keywords of either engine that a table or column may be named after, and that need quotes then. */
const keywords: ReadonlySet<string> = new Set(
  `all alter analyse analyze and any array as asc asymmetric authorization autoincrement between binary both by case cast
  check collate collation column commit concurrently constraint create cross current_catalog current_date current_role
  current_schema current_time current_timestamp current_user default deferrable delete desc distinct do drop else end
  escape except exists false fetch for foreign freeze from full grant group having ilike in index initially inner insert
  intersect into is isnull join lateral leading left like limit localtime localtimestamp natural not nothing notnull null
  offset on only or order outer overlaps placing primary raise references returning right row rows select session_user set
  similar some symmetric system_user table tablesample then to trailing transaction true union unique update user using
  values variadic verbose view when where window with`.split(/\s+/),
)

/** A number with its noun. */
export function count(number: number, noun: string): string {
  return `${number.toLocaleString('en-US')} ${noun}${number === 1 ? '' : 's'}`
}
