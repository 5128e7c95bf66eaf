import type { SQLInputValue } from 'node:sqlite'
import type { Condition, Term } from './filter.ts'

/** A condition over `trace t`. */
export interface Sql {
  text: string
  values: SQLInputValue[]
}

/** The terms as one condition of SQL; what they want is found by indexes where there is one for it. */
export function sqlOf(terms: readonly Term[]): Sql {
  const parts = terms.map(({ condition, negated }) => {
    const { text, values } = conditionSql(condition)
    return { text: negated ? `NOT coalesce((${text}), 0)` : `(${text})`, values }
  })
  return {
    text: parts.length === 0 ? '1' : parts.map(({ text }) => text).join(' AND '),
    values: parts.flatMap(({ values }) => values),
  }
}

function conditionSql(condition: Condition): Sql {
  switch (condition.key) {
    case 'text':
      return textSql(condition.text)
    case 'dur':
    case 'bytes':
      return rangeSql(condition.key === 'dur' ? 't.ms' : 't.bytes', condition)
    case 'id':
      return among('t.seq', condition.ids)
    case 'row':
      return among('t.activity', condition.ids)
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

function among(column: string, values: readonly SQLInputValue[]): Sql {
  const [only] = values
  if (values.length === 1 && only !== undefined) return { text: `${column} = ?`, values: [only] }
  return { text: `${column} IN (${values.map(() => '?').join(', ')})`, values: [...values] }
}

function wordSql(column: string, oneOf: readonly string[]): Sql {
  const exact = oneOf.filter((one) => !one.includes('*'))
  const globs = oneOf.filter((one) => one.includes('*'))
  const parts = [
    ...(exact.length === 0 ? [] : [among(column, exact)]),
    ...globs.map((glob) => ({
      text: `${column} GLOB ?`,
      values: [glob.replace(/[[?]/g, (special) => `[${special}]`)],
    })),
  ]
  return { text: parts.map(({ text }) => text).join(' OR '), values: parts.flatMap(({ values }) => values) }
}

/** Most things end well; only what did not is in the index. */
function statusSql(oneOf: readonly string[]): Sql {
  const { text, values } = wordSql('t.status', oneOf)
  const mayBeOk = oneOf.some((one) => one === 'ok' || one.includes('*'))
  return mayBeOk ? { text, values } : { text: `(${text}) AND t.status <> 'ok'`, values }
}

function rangeSql(
  column: string,
  { over, least, below, most }: Extract<Condition, { key: 'dur' | 'bytes' }>,
): Sql {
  const bounds: readonly (readonly [string, number | undefined])[] = [
    ['>', over],
    ['>=', least],
    ['<', below],
    ['<=', most],
  ]
  const given = bounds.flatMap(([sign, bound]) => (bound === undefined ? [] : [{ sign, bound }]))
  return {
    text: given.map(({ sign }) => `${column} ${sign} ?`).join(' AND '),
    values: given.map(({ bound }) => bound),
  }
}

/** Everything that comes of these events, near or far. */
function causeSql(ids: readonly number[]): Sql {
  const first = among('s.cause', ids)
  const answers = among('s.reply', ids)
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

function textSql(wanted: string): Sql {
  const plain = pattern(wanted)
  // In JSON, quotes and line feeds are written with a backslash.
  const json = pattern(JSON.stringify(wanted).slice(1, -1))
  const like = `LIKE ? ESCAPE '\\'`
  return {
    text: `t.summary ${like} OR t.payload ${like} OR (t.kind = 'stderr' AND t.payload ${like})
      OR t.activity IN (
        SELECT a.id FROM activity a LEFT JOIN activity_end e ON e.activity = a.id
        WHERE a.detail ${like} OR e.detail ${like}
      )`,
    values: [plain, json, plain, json, json],
  }
}

function pattern(text: string): string {
  return `%${text.replace(/[\\%_]/g, (special) => `\\${special}`)}%`
}
