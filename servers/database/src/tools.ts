import { type Context, reply, ToolError, tool } from '@jackfield/sdk'
import { z } from 'zod'
import { type Databases, useDatabase } from './databases.ts'
import type { OpenResult } from './engine.ts'
import { EngineError } from './engine.ts'
import { count } from './sql.ts'
import { rowsAsTable, tableAsText, tablesAsList, visible } from './text.ts'

const maxSqlChars = 100_000
const maxParameters = 1_000
const maxListedTables = 500

/** The argument that names a database; optional if there is one. */
export function databaseArgument({ all }: Databases): z.ZodType<string, string | undefined> {
  const names = all.map(({ name }) => name)
  const [first] = names
  const argument = z.enum(names).describe('Name of the database, from list_databases')
  return names.length === 1 && first !== undefined ? argument.default(first) : argument
}

/** Text that every engine receives unchanged. */
const exactText = z
  .string()
  .refine((text) => text.isWellFormed(), 'must be well-formed Unicode, without unpaired surrogates')

export const sqlArgument = exactText
  .min(1)
  .max(maxSqlChars)
  .refine((sql) => !sql.includes('\0'), 'must not contain NUL characters')
  .describe(
    "One SQL statement in the dialect of the database's engine, without values: use parameters for them",
  )

export const parametersArgument = z
  .array(
    z.union([
      exactText,
      z
        .number()
        .refine(
          (value) => !Number.isInteger(value) || Number.isSafeInteger(value),
          'must be given as text above 2^53, so that it stays exact',
        ),
      z.boolean(),
      z.null(),
    ]),
  )
  .max(maxParameters)
  .default([])
  .describe('Values in the order of ?1, ?2, … (SQLite) or $1, $2, … (either engine)')

const cellShape = z.union([
  z.string(),
  z.number(),
  z.boolean(),
  z.null(),
  z.object({ text: z.string(), characters: z.number().int(), cut: z.literal(true) }),
  z.object({ base64: z.string(), bytes: z.number().int(), cut: z.literal(true).optional() }),
])

export const columnsShape = z
  .array(z.object({ name: z.string(), type: z.string() }))
  .describe('Columns in the order of the values; names may repeat')

export const rowsShape = z
  .array(z.array(cellShape))
  .describe(
    'Values by column. Integers beyond 2^53, decimals, dates, JSON, NaN and infinities are text. Bytes are { base64, bytes }. A value with "cut" is the beginning of a longer one: read a part with substr()',
  )

const pageShape = z.object({
  database: z.string(),
  columns: columnsShape,
  rows: rowsShape,
  nextCursor: z
    .string()
    .optional()
    .describe('Pass it to next_page for the following rows; absent on the last page'),
})

const tableShape = z.object({
  name: z.string().describe('As SQL, quoted if necessary'),
  kind: z.enum(['table', 'view', 'materialized view', 'virtual table', 'foreign table']),
  estimatedRows: z.number().nullable().describe("The engine's estimate; null without one"),
  comment: z.string().nullable(),
})

const descriptionShape = tableShape.extend({
  database: z.string(),
  columns: z.array(
    z.object({
      name: z.string(),
      type: z.string(),
      nullable: z.boolean(),
      default: z.string().nullable(),
      generated: z.boolean(),
      comment: z.string().nullable(),
    }),
  ),
  primaryKey: z.array(z.string()),
  foreignKeys: z.array(
    z.object({
      columns: z.array(z.string()),
      table: z.string(),
      references: z.array(z.string()).describe('Empty for the primary key of the table'),
    }),
  ),
  indexes: z.array(z.object({ name: z.string(), unique: z.boolean(), definition: z.string() })),
  constraints: z.array(z.string()),
  definition: z.string().nullable().describe('The statement that created it, or the query of a view'),
})

const readOnly = { readOnlyHint: true, openWorldHint: false }

/** The client that a cursor belongs to: its principal, and its session where there is one. */
function ownerOf({ peer, transport }: Context): string {
  return JSON.stringify([peer.principal, transport.sessionId ?? null])
}

/** Tools about databases and their schemas. */
export function schemaTools(databases: Databases) {
  const database = databaseArgument(databases)
  const list_databases = tool({
    title: 'List databases',
    description: 'List the databases with their engine, and whether they can be changed',
    output: z.object({
      databases: z.array(
        z.object({
          name: z.string(),
          engine: z.enum(['SQLite', 'PostgreSQL']),
          target: z.string().describe('As the server was configured, without passwords'),
          writable: z.boolean().describe('Whether execute can change it, after a person confirmed'),
        }),
      ),
    }),
    annotations: readOnly,
    run: () => ({
      databases: databases.all.map(({ name, engine, target }) => ({
        name,
        engine: engine.kind,
        target: databases.redact(target.shown),
        writable: databases.allowWrites,
      })),
    }),
  })

  const list_tables = tool({
    title: 'List tables',
    description: 'List the tables and views of a database with estimates of their rows',
    input: z.object({
      database,
      search: z.string().max(200).optional().describe('Only names that contain this text, in any case'),
    }),
    output: z.object({
      database: z.string(),
      tables: z.array(tableShape),
      tablesLeft: z.number().int().describe('Tables that are not listed: narrow the search'),
    }),
    annotations: readOnly,
    run: ({ database: name, search = '' }, ctx) =>
      useDatabase(databases, name, ctx.signal, async ({ engine }, signal) => {
        const found = (await engine.tables(signal)).filter((table) =>
          table.name.toLowerCase().includes(search.toLowerCase()),
        )
        const tables = found.slice(0, maxListedTables)
        const tablesLeft = found.length - tables.length
        const more = tablesLeft === 0 ? '' : `\n\n${count(tablesLeft, 'more table')}: use search.`
        return reply({
          content: `${count(found.length, 'table')} in ${name}\n\n${tablesAsList(tables)}${more}`,
          structured: { database: name, tables, tablesLeft },
        })
      }),
  })

  const describe_table = tool({
    title: 'Describe a table',
    description: 'Describe a table or view: columns, keys, indexes, constraints and comments',
    input: z.object({
      database,
      table: z.string().min(1).max(1_000).describe('A name that list_tables returned'),
    }),
    output: descriptionShape,
    annotations: readOnly,
    run: ({ database: name, table }, ctx) =>
      useDatabase(databases, name, ctx.signal, async ({ engine }, signal) => {
        const found = await engine.describe(table, signal)
        if (found === undefined) throw noSuchTable(table)
        return reply({ content: tableAsText(found), structured: { database: name, ...found } })
      }),
  })
  return { list_databases, list_tables, describe_table }
}

function noSuchTable(table: string): EngineError {
  return new EngineError(
    `There is no table or view "${visible(table)}" that can be read. list_tables lists those that there are.`,
  )
}

/** A page to read from the open result of a query. */
interface PageRequest {
  /** Name of the database. */
  name: string
  result: OpenResult
  rows: number
}

/** A function that reads one page for a tool's result, and stores the open result for `next_page` if more rows follow. */
function pageReplies({ limits, cursors }: Databases) {
  return async ({ name, result, rows: most }: PageRequest, ctx: Context, signal: AbortSignal) => {
    const { rows, isLast } = await result.read({ rows: most, bytes: limits.maxBytes }, signal)
    // The cursor of a cancelled call could not be delivered.
    if (!isLast && ctx.signal.aborted) result.close()
    const columns = [...result.columns]
    const nextCursor = isLast || ctx.signal.aborted ? undefined : cursors.add(name, ownerOf(ctx), result)
    const more = nextCursor === undefined ? '' : `\n\nMore rows follow: next_page with cursor ${nextCursor}`
    return reply({
      content: `${count(rows.length, 'row')} of ${name}\n\n${rowsAsTable(columns, rows)}${more}`,
      structured: { database: name, columns, rows, ...(nextCursor === undefined ? {} : { nextCursor }) },
    })
  }
}

/** Tools that read rows. */
export function queryTools(databases: Databases) {
  const { limits, cursors } = databases
  const database = databaseArgument(databases)
  const replyWithPage = pageReplies(databases)
  const limit = z
    .number()
    .int()
    .min(1)
    .max(limits.maxRows)
    .default(limits.maxRows)
    .describe('Rows of a page at most; fewer if they are large')

  const query = tool({
    title: 'Query',
    description:
      'Run one SQL query (SELECT, VALUES or WITH) and return its first page of rows. Read-only: the engine refuses statements that write. Long queries are stopped by a time limit.',
    input: z.object({ database, sql: sqlArgument, parameters: parametersArgument, limit }),
    output: pageShape,
    annotations: readOnly,
    run: ({ database: name, sql, parameters, limit: rows }, ctx) =>
      useDatabase(databases, name, ctx.signal, async ({ engine }, signal) => {
        const result = await engine.open({ sql, parameters }, signal)
        return replyWithPage({ name, result, rows }, ctx, signal)
      }),
  })

  const next_page = tool({
    title: 'Next page',
    description: `Return the rows that follow a page of query or sample_rows. A cursor works once, within ${limits.cursorMs / 1000} s.`,
    input: z.object({
      cursor: z.string().min(1).max(200).describe('nextCursor of the previous page'),
      limit,
    }),
    output: pageShape,
    annotations: readOnly,
    async run({ cursor, limit: rows }, ctx) {
      let claimed: ReturnType<typeof cursors.claim>
      try {
        claimed = cursors.claim(cursor, ownerOf(ctx))
      } catch (error) {
        if (error instanceof EngineError) throw new ToolError(error.message)
        throw error
      }
      const { database: name, result } = claimed
      return useDatabase(databases, name, ctx.signal, (_database, signal) =>
        replyWithPage({ name, result, rows }, ctx, signal),
      )
    },
  })

  const sample_rows = tool({
    title: 'Sample rows',
    description: 'Return some rows of a table, in no particular order, to see what its columns contain',
    input: z.object({
      database,
      table: z.string().min(1).max(1_000).describe('A name that list_tables returned'),
      limit: limit.default(Math.min(10, limits.maxRows)),
    }),
    output: pageShape,
    annotations: readOnly,
    async run({ database: name, table, limit: rows }, ctx) {
      return useDatabase(databases, name, ctx.signal, async ({ engine }, signal) => {
        const found = await engine.describe(table, signal)
        if (found === undefined) throw noSuchTable(table)
        // The name as SQL that the engine's catalogue returned.
        const statement = { sql: `SELECT * FROM ${found.name} LIMIT ${rows}`, parameters: [] }
        const result = await engine.open(statement, signal)
        return replyWithPage({ name, result, rows }, ctx, signal)
      })
    },
  })

  const explain = tool({
    title: 'Explain',
    description: 'Return the plan of a query or of a change of rows, which is not run',
    input: z.object({ database, sql: sqlArgument, parameters: parametersArgument }),
    output: z.object({ database: z.string(), plan: z.string() }),
    annotations: readOnly,
    run: ({ database: name, sql, parameters }, ctx) =>
      useDatabase(databases, name, ctx.signal, async ({ engine }, signal) => {
        const plan = await engine.explain({ sql, parameters }, signal)
        return reply({ content: plan, structured: { database: name, plan } })
      }),
  })
  return { query, next_page, sample_rows, explain }
}
