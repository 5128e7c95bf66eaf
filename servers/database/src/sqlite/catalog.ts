import type { ForeignKey, TableDescription, TableIndex, TableSummary } from '../engine.ts'
import { identifier } from '../sql.ts'
import type { SqliteConnection } from './connection.ts'
import type { CatalogRow } from './messages.ts'

const kinds: Readonly<Record<string, TableSummary['kind']>> = { view: 'view', virtual: 'virtual table' }

/** Tables and views, without those of SQLite and of its extensions. */
export async function listTables(connection: SqliteConnection, signal: AbortSignal): Promise<TableSummary[]> {
  const all = (sql: string): Promise<CatalogRow[]> =>
    connection.run('catalog', { sql, parameters: [] }, signal)
  const tables = await all(
    `SELECT name, type FROM pragma_table_list
     WHERE schema = 'main' AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name`,
  )
  const analyzed = await all(`SELECT 1 AS found FROM sqlite_schema WHERE name = 'sqlite_stat1'`)
  const estimates =
    analyzed.length === 0
      ? []
      : await all('SELECT tbl, max(CAST(stat AS INTEGER)) AS rows FROM sqlite_stat1 GROUP BY tbl')
  const rowsOf = new Map(estimates.map(({ tbl, rows }) => [tbl, Number(rows)]))
  return tables.map(({ name, type }) => ({
    name: identifier(String(name)),
    kind: kinds[String(type)] ?? 'table',
    estimatedRows: rowsOf.get(name ?? '') ?? null,
    comment: null,
  }))
}

/** Columns, keys, indexes and the definition of a table or view. */
export async function describeTable(
  connection: SqliteConnection,
  table: TableSummary,
  signal: AbortSignal,
): Promise<TableDescription> {
  const all = (sql: string): Promise<CatalogRow[]> =>
    connection.run('catalog', { sql, parameters: [storedName(table.name)] }, signal)
  const [created] = await all('SELECT sql FROM sqlite_schema WHERE name = ?')
  const columns = await all(
    'SELECT name, type, "notnull" AS required, dflt_value AS value, pk, hidden FROM pragma_table_xinfo(?) WHERE hidden <> 1',
  )
  const keys = await all(
    'SELECT id, "table" AS target, "from" AS source, "to" AS referenced FROM pragma_foreign_key_list(?) ORDER BY id, seq',
  )
  const indexes = await all(
    `SELECT list.name, list."unique" AS is_unique, index_schema.sql,
       (SELECT group_concat(coalesce(name, 'expression'), ', ') FROM pragma_index_xinfo(list.name) WHERE key = 1) AS columns
     FROM pragma_index_list(?) AS list LEFT JOIN sqlite_schema AS index_schema ON index_schema.name = list.name ORDER BY list.name`,
  )
  const primary = columns.filter(({ pk }) => Number(pk) > 0).sort((a, b) => Number(a['pk']) - Number(b['pk']))
  return {
    ...table,
    columns: columns.map(({ name, type, required, value, pk, hidden }) => ({
      name: String(name),
      type: String(type),
      nullable: Number(required) === 0 && Number(pk) === 0,
      default: value == null ? null : String(value),
      generated: Number(hidden) >= 2,
      comment: null,
    })),
    primaryKey: primary.map(({ name }) => String(name)),
    foreignKeys: foreignKeysOf(keys),
    indexes: indexes.map(
      ({ name, is_unique, sql, columns: indexed }): TableIndex => ({
        name: String(name),
        unique: Number(is_unique) === 1,
        definition: sql == null ? String(indexed) : String(sql),
      }),
    ),
    constraints: [],
    definition: created?.['sql'] == null ? null : String(created['sql']),
  }
}

/** The name as it is stored, of a name as SQL. */
export function storedName(name: string): string {
  return name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name
}

function foreignKeysOf(rows: readonly CatalogRow[]): ForeignKey[] {
  return [...Map.groupBy(rows, ({ id }) => id).values()].map((parts) => ({
    columns: parts.map(({ source }) => String(source)),
    table: identifier(String(parts[0]?.['target'])),
    // Without columns, the primary key is referenced.
    references: parts.flatMap(({ referenced }) => (referenced == null ? [] : [String(referenced)])),
  }))
}
