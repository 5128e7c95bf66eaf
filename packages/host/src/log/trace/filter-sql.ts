import type { SQLInputValue } from 'node:sqlite'
import type { Condition, Term } from './filter.ts'

/** An SQL condition on `trace t`, an event. */
export interface Sql {
  text: string
  values: SQLInputValue[]
}

/**
 * The terms as one SQL condition, using indexes where available. Text searches come last, because they read whole payloads, and
 * are limited to the matches of the other terms.
 */
export function sqlOf(terms: readonly Term[]): Sql {
  const isText = ({ condition }: Term): boolean => condition.key === 'text'
  const facts = joined(terms.filter((term) => !isText(term)).map((term) => termSql(term, 't')))
  const texts = terms.filter(isText)
  if (texts.length === 0) return facts
  if (texts.length === terms.length) return joined(texts.map((term) => termSql(term, 't')))
  const searches = joined(texts.map((term) => termSql(term, 'w')))
  return {
    text: `${facts.text} AND EXISTS (SELECT 1 FROM trace w WHERE w.seq = t.seq AND ${searches.text})`,
    values: [...facts.values, ...searches.values],
  }
}

function joined(parts: readonly Sql[]): Sql {
  return {
    text: parts.length === 0 ? '1' : parts.map(({ text }) => text).join(' AND '),
    values: parts.flatMap(({ values }) => values),
  }
}

function termSql({ condition, negated }: Term, row: string): Sql {
  const { text, values } = conditionSql(condition, row)
  return { text: negated ? `NOT coalesce((${text}), 0)` : `(${text})`, values }
}

function conditionSql(condition: Condition, row: string): Sql {
  switch (condition.key) {
    case 'text':
      return textSql(condition.text, row)
    case 'dur':
    case 'bytes':
      return rangeSql(condition.key === 'dur' ? 't.ms' : 't.bytes', condition)
    case 'id':
      return inList('t.seq', condition.ids)
    case 'row':
      return inList('t.activity', condition.ids)
    case 'cause':
      return causeSql(condition.ids)
    case 'since':
      return { text: 't.at >= ?', values: [condition.atMs] }
    case 'until':
      return { text: 't.at < ?', values: [condition.atMs] }
    case 'status':
      return statusSql(condition.oneOf)
    default:
      return wordSql(`t.${condition.key}`, condition.oneOf)
  }
}

function inList(column: string, values: readonly SQLInputValue[]): Sql {
  const [only] = values
  if (values.length === 1 && only !== undefined) return { text: `${column} = ?`, values: [only] }
  return { text: `${column} IN (${values.map(() => '?').join(', ')})`, values: [...values] }
}

function wordSql(column: string, patterns: readonly string[]): Sql {
  const exact = patterns.filter((one) => !one.includes('*'))
  const globs = patterns.filter((pattern) => pattern.includes('*'))
  const parts = [
    ...(exact.length === 0 ? [] : [inList(column, exact)]),
    ...globs.map((glob) => ({
      text: `${column} GLOB ?`,
      values: [glob.replace(/[[?]/g, (special) => `[${special}]`)],
    })),
  ]
  return { text: parts.map(({ text }) => text).join(' OR '), values: parts.flatMap(({ values }) => values) }
}

/** Only unsuccessful outcomes are indexed, since most are successful. */
function statusSql(oneOf: readonly string[]): Sql {
  const { text, values } = wordSql('t.status', oneOf)
  const mayBeOk = oneOf.some((one) => one === 'ok' || one.includes('*'))
  return mayBeOk ? { text, values } : { text: `(${text}) AND t.status <> 'ok'`, values }
}

function rangeSql(
  column: string,
  { over, min, below, max }: Extract<Condition, { key: 'dur' | 'bytes' }>,
): Sql {
  const bounds: readonly (readonly [string, number | undefined])[] = [
    ['>', over],
    ['>=', min],
    ['<', below],
    ['<=', max],
  ]
  const comparisons = bounds.flatMap(([sign, bound]) => (bound === undefined ? [] : [{ sign, bound }]))
  return {
    text: comparisons.map(({ sign }) => `${column} ${sign} ?`).join(' AND '),
    values: comparisons.map(({ bound }) => bound),
  }
}

/** All direct and indirect effects of these events. */
function causeSql(ids: readonly number[]): Sql {
  const first = inList('s.cause', ids)
  const answers = inList('s.reply', ids)
  return {
    text: `t.seq IN (
      WITH RECURSIVE under (seq) AS (
        SELECT s.seq FROM trace s WHERE ${first.text} OR ${answers.text}
        UNION SELECT s.seq FROM under u JOIN trace s ON s.cause = u.seq
      ) SELECT seq FROM under
    )`,
    values: [...first.values, ...answers.values],
  }
}

/** `row`: the alias of the event in the statement. */
function textSql(searched: string, row: string): Sql {
  const plainPattern = likePattern(searched)
  // In JSON, quotes and line feeds are escaped.
  const jsonPattern = likePattern(JSON.stringify(searched).slice(1, -1))
  const like = `LIKE ? ESCAPE '\\'`
  const stderrCondition =
    jsonPattern === plainPattern ? '' : ` OR (${row}.kind = 'stderr' AND ${row}.payload ${like})`
  return {
    text: `${row}.payload ${like}${stderrCondition} OR ${row}.summary ${like} OR (${row}.activity IS NOT NULL AND EXISTS (
        SELECT 1 FROM activity a LEFT JOIN activity_end e ON e.activity = a.id
        WHERE a.id = ${row}.activity AND (a.detail ${like} OR e.detail ${like})
      ))`,
    values: [
      jsonPattern,
      ...(jsonPattern === plainPattern ? [] : [plainPattern]),
      plainPattern,
      jsonPattern,
      jsonPattern,
    ],
  }
}

function likePattern(text: string): string {
  return `%${text.replace(/[\\%_]/g, (special) => `\\${special}`)}%`
}
