import type { Cell, Column, Effects, TableDescription, TableSummary } from './engine.ts'
import { count } from './sql.ts'

/** Characters of a cell in a Markdown table; the structured result has more. */
const maxShownChars = 200
/** Tables that the schema describes; further ones are listed. */
export const maxSchemaTables = 50

/** A text with control and direction characters as escapes, so that it shows as what it is. */
export function visible(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
    (character) => escapes[character] ?? `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}

const escapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** A statement for a person: with its lines, and otherwise as `visible`. */
export function visibleLines(text: string): string {
  return text.replaceAll('\t', '  ').split(/\r?\n/).map(visible).join('\n')
}

function truncated(text: string): string {
  const characters = [...text]
  return characters.length <= maxShownChars
    ? text
    : `${characters.slice(0, maxShownChars).join('')}… (${count(characters.length, 'character')})`
}

function cellText(cell: Cell): string {
  if (cell === null) return 'NULL'
  if (typeof cell !== 'object') return truncated(String(cell))
  if ('base64' in cell) return `(${count(cell.bytes, 'byte')})`
  return `${cell.text.slice(0, maxShownChars)}… (${count(cell.characters, 'character')})`
}

function escapeCell(text: string): string {
  return visible(text).replaceAll('\\', '\\\\').replaceAll('|', '\\|')
}

/** Rows as a Markdown table. */
export function rowsAsTable(columns: readonly Column[], rows: readonly (readonly Cell[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(escapeCell).join(' | ')} |`
  const names = columns.map(({ name }) => truncated(name))
  return [line(names), line(names.map(() => '---')), ...rows.map((row) => line(row.map(cellText)))].join('\n')
}

/** Tables as a Markdown list. */
export function tablesAsList(tables: readonly TableSummary[]): string {
  return tables
    .map(({ name, kind, estimatedRows, comment }) => {
      const rows = estimatedRows === null ? '' : `, about ${count(estimatedRows, 'row')}`
      return `- ${visible(name)} (${kind}${rows})${comment === null ? '' : `: ${visible(truncated(comment))}`}`
    })
    .join('\n')
}

/** One table in Markdown. */
export function tableAsText(table: TableDescription): string {
  const rows = table.estimatedRows === null ? '' : `, about ${count(table.estimatedRows, 'row')}`
  const parts = [
    `## ${visible(table.name)}`,
    `${table.kind}${rows}${table.comment === null ? '' : `: ${visible(truncated(table.comment))}`}`,
    table.columns
      .map((column) => {
        const facts = [
          column.type,
          table.primaryKey.includes(column.name) ? 'primary key' : '',
          column.nullable || table.primaryKey.includes(column.name) ? '' : 'not null',
          column.generated ? 'generated' : '',
          column.default === null ? '' : `default ${visible(truncated(column.default))}`,
        ].filter((fact) => fact !== '')
        const comment = column.comment === null ? '' : `: ${visible(truncated(column.comment))}`
        return `- ${[visible(column.name), facts.join(', ')].join(' ').trimEnd()}${comment}`
      })
      .join('\n'),
    ...table.foreignKeys.map(
      ({ columns, table: target, references }) =>
        `Foreign key (${columns.map(visible).join(', ')}) references ${visible(target)}${references.length === 0 ? '' : ` (${references.map(visible).join(', ')})`}`,
    ),
    ...table.indexes.map(
      ({ name, unique, definition }) =>
        `${unique ? 'Unique index' : 'Index'} ${visible(name)}: ${visible(truncated(definition))}`,
    ),
    ...table.constraints.map((constraint) => `Constraint: ${visible(truncated(constraint))}`),
  ]
  return parts.filter((part) => part !== '').join('\n\n')
}

/** The schema of a database in Markdown: every table, described as far as they were read. */
export function schemaAsText(
  database: string,
  kind: string,
  described: readonly TableDescription[],
  rest: readonly TableSummary[],
): string {
  return [
    `# ${database} (${kind})`,
    described.length === 0 && rest.length === 0 ? 'The database has no tables.' : '',
    ...described.map(tableAsText),
    rest.length === 0 ? '' : `## ${count(rest.length, 'more table')}\n\n${tablesAsList(rest)}`,
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

/** The effects of a statement, one on each line. */
export function effectsAsLines({ rows, furtherRows, tables, schema, command }: Effects): string[] {
  const byTable = tables.map(({ table, inserted, updated, deleted }) => {
    const parts = [
      inserted > 0 ? `${count(inserted, 'row')} inserted` : '',
      updated > 0 ? `${count(updated, 'row')} updated` : '',
      deleted > 0 ? `${count(deleted, 'row')} deleted` : '',
    ]
    return `${visible(table)}: ${parts.filter((part) => part !== '').join(', ')}`
  })
  return [
    ...schema.map(visible),
    ...(schema.length === 0 || rows > 0 ? [`${command} of ${count(rows, 'row')}`] : []),
    ...(furtherRows > 0 ? [`${count(furtherRows, 'further row')} changed by triggers and foreign keys`] : []),
    ...byTable,
  ]
}
