import type { ForeignKey, TableDescription, TableSummary } from '../engine.ts'
import type { PostgresConnection, RawResult } from './connection.ts'

const kinds: Readonly<Record<string, TableSummary['kind']>> = {
  r: 'table',
  p: 'table',
  v: 'view',
  m: 'materialized view',
  f: 'foreign table',
}

/** The name of a relation as SQL. */
const relationName = "quote_ident(space.nspname) || '.' || quote_ident(relation.relname)"

/** Relations that the role can read, without partitions and those of the system. */
const fromReadable = `FROM pg_class AS relation JOIN pg_namespace AS space ON space.oid = relation.relnamespace
  WHERE relation.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT relation.relispartition
    AND space.nspname NOT IN ('pg_catalog', 'information_schema') AND space.nspname NOT LIKE 'pg\\_toast%'
    AND space.nspname NOT LIKE 'pg\\_temp%' AND has_schema_privilege(space.oid, 'USAGE')
    AND has_any_column_privilege(relation.oid, 'SELECT')`

interface Relation extends TableSummary {
  oid: string
}

/** Tables and views that the role can read. */
export async function listRelations(
  connection: PostgresConnection,
  signal: AbortSignal,
): Promise<Relation[]> {
  return relationsOf(
    await connection.runInternal(`SELECT ${summaryColumns} ${fromReadable} ORDER BY 2`, signal),
  )
}

/** A relation by its name as SQL, by its bare name, or by what the search path finds. */
export async function findRelation(
  connection: PostgresConnection,
  name: string,
  signal: AbortSignal,
): Promise<Relation | undefined> {
  const result = await connection.runInternal(
    `SELECT ${summaryColumns} ${fromReadable} AND (${relationName} = $1 OR relation.relname = $1 OR quote_ident(relation.relname) = $1
       OR space.nspname || '.' || relation.relname = $1)
     ORDER BY ${relationName} = $1 DESC, pg_table_is_visible(relation.oid) DESC, 2 LIMIT 1`,
    signal,
    name,
  )
  return relationsOf(result)[0]
}

const summaryColumns = `relation.oid, ${relationName}, relation.relkind, relation.reltuples, obj_description(relation.oid, 'pg_class')`

function relationsOf({ rows }: RawResult): Relation[] {
  return rows.map(([oid, name, kind, estimate, comment]) => ({
    oid: String(oid),
    name: String(name),
    kind: kinds[String(kind)] ?? 'table',
    // Below 0 it was never analyzed; a view has no rows of its own.
    estimatedRows: kind === 'v' || Number(estimate) < 0 ? null : Number(estimate),
    comment: comment ?? null,
  }))
}

/** Columns, keys, indexes and constraints of a relation. */
export async function describeRelation(
  connection: PostgresConnection,
  { oid, ...table }: Relation,
  signal: AbortSignal,
): Promise<TableDescription> {
  const all = async (sql: string): Promise<(string | null)[][]> =>
    (await connection.runInternal(sql, signal, oid)).rows
  const columns = await all(
    `SELECT attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid), attgenerated <> '',
       attidentity, col_description(attrelid, attnum)
     FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
     WHERE attrelid = $1::oid AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
  )
  const names = (key: string, owner: string): string =>
    `(SELECT json_agg(attname ORDER BY place) FROM unnest(${key}) WITH ORDINALITY AS part (number, place)
       JOIN pg_attribute ON attnum = number AND attrelid = ${owner})`
  const constraints = await all(
    `SELECT contype, pg_get_constraintdef(c.oid), ${names('conkey', 'conrelid')},
       quote_ident(space.nspname) || '.' || quote_ident(target.relname), ${names('confkey', 'confrelid')}, conname
     FROM pg_constraint AS c LEFT JOIN pg_class AS target ON target.oid = confrelid
       LEFT JOIN pg_namespace AS space ON space.oid = target.relnamespace
     WHERE conrelid = $1::oid ORDER BY contype, conname`,
  )
  const indexes = await all(
    `SELECT indexrelid::regclass::text, indisunique, pg_get_indexdef(indexrelid) FROM pg_index
     WHERE indrelid = $1::oid ORDER BY 1`,
  )
  const [definition] = await all(
    `SELECT CASE WHEN relkind IN ('v', 'm') THEN pg_get_viewdef(oid) END FROM pg_class WHERE oid = $1::oid`,
  )
  const ofType = (type: string): (string | null)[][] => constraints.filter(([contype]) => contype === type)
  return {
    ...table,
    columns: columns.map(([name, type, required, value, generated, identity, comment]) => ({
      name: String(name),
      type: String(type),
      nullable: required !== 't',
      default: value ?? (identity === 'a' || identity === 'd' ? 'generated as identity' : null),
      generated: generated === 't' || identity === 'a',
      comment: comment ?? null,
    })),
    primaryKey: ofType('p').flatMap(([, , key]) => parseNames(key)),
    foreignKeys: ofType('f').map(
      ([, , key, target, referenced]): ForeignKey => ({
        columns: parseNames(key),
        table: String(target),
        references: parseNames(referenced),
      }),
    ),
    indexes: indexes.map(([name, unique, index]) => ({
      name: String(name),
      unique: unique === 't',
      definition: String(index),
    })),
    constraints: constraints.flatMap(([type, text]) =>
      type === 'p' || type === 'f' || text == null ? [] : [text],
    ),
    definition: definition?.[0] ?? null,
  }
}

function parseNames(json: string | null | undefined): string[] {
  const names: unknown = JSON.parse(json ?? '[]')
  return Array.isArray(names) ? names.map(String) : []
}
