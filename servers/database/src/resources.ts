import { ErrorCode, type Resource, RpcError, template } from '@jackfield/sdk'
import { type Databases, useDatabase } from './databases.ts'
import type { TableDescription } from './engine.ts'
import { maxSchemaTables, schemaAsText, tableAsText } from './text.ts'

const mimeType = 'text/markdown'
const maxListedTables = 500

const failed = (message: string): RpcError => new RpcError(ErrorCode.InternalError, message)

/** The URI of a table. */
export function tableUri(database: string, table: string): string {
  const name = encodeURIComponent(table).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  )
  return `db://${database}/tables/${name}`
}

export const schemaResource = (databases: Databases) =>
  template({
    uriTemplate: 'db://{database}/schema',
    title: 'Schema',
    description: `The tables and views of a database; the first ${maxSchemaTables} with columns, keys and indexes`,
    mimeType,
    complete: { database: (typed) => namesFrom(databases, typed) },
    list: (): Resource[] =>
      databases.all.map(({ name, engine }) => ({
        uri: `db://${name}/schema`,
        name: `${name}-schema`,
        title: `Schema of ${name}`,
        description: `Tables and views of the ${engine.kind} database ${name}`,
        mimeType,
      })),
    async read({ database: name }, ctx) {
      if (!databases.all.some((one) => one.name === name)) return undefined
      return useDatabase(
        databases,
        name,
        ctx.signal,
        async ({ engine }, signal) => {
          const tables = await engine.tables(signal)
          const described: TableDescription[] = []
          for (const table of tables.slice(0, maxSchemaTables)) {
            const description = await engine.describe(table.name, signal)
            // A table that was dropped meanwhile.
            if (description !== undefined) described.push(description)
          }
          return schemaAsText(name, engine.kind, described, tables.slice(maxSchemaTables))
        },
        failed,
      )
    },
  })

export const tableResource = (databases: Databases) =>
  template({
    uriTemplate: 'db://{database}/tables/{table}',
    title: 'Table',
    description: 'Columns, keys, indexes and comments of one table or view',
    mimeType,
    complete: {
      database: (typed) => namesFrom(databases, typed),
      table: (typed, { arguments: { database }, signal }) =>
        completeTable(databases, database, typed, signal),
    },
    async list(ctx): Promise<Resource[]> {
      const lists = await Promise.all(
        databases.all.map(({ name }) =>
          useDatabase(
            databases,
            name,
            ctx.signal,
            ({ engine }, signal) => engine.tables(signal),
            failed,
          ).then(
            (tables) =>
              tables.slice(0, maxListedTables).map((table) => ({
                uri: tableUri(name, table.name),
                name: `${name}: ${table.name}`,
                description: table.comment ?? `${table.kind} of the database ${name}`,
                mimeType,
              })),
            (error: unknown) => {
              // One database that cannot be reached does not hide the others.
              if (!(error instanceof RpcError)) throw error
              ctx.log('warning', error.message)
              return []
            },
          ),
        ),
      )
      return lists.flat()
    },
    async read({ database: name, table }, ctx) {
      if (!databases.all.some((one) => one.name === name)) return undefined
      return useDatabase(
        databases,
        name,
        ctx.signal,
        async ({ engine }, signal) => {
          const found = await engine.describe(table, signal)
          return found && tableAsText(found)
        },
        failed,
      )
    },
  })

/** Names of databases that begin with a text. */
export function namesFrom({ all }: Databases, typed: string): string[] {
  return all.map(({ name }) => name).filter((name) => name.toLowerCase().startsWith(typed.toLowerCase()))
}

/** Names of tables that contain a text, those that begin with it first; of the only database if none is given. */
export async function completeTable(
  databases: Databases,
  database: string | undefined,
  typed: string,
  signal: AbortSignal,
): Promise<string[]> {
  const name = database ?? (databases.all.length === 1 ? databases.all[0]?.name : undefined)
  if (name === undefined || !databases.all.some((one) => one.name === name)) return []
  const tables = await useDatabase(
    databases,
    name,
    signal,
    ({ engine }, limited) => engine.tables(limited),
    failed,
  )
  const wanted = typed.toLowerCase()
  const names = tables.map((table) => table.name).filter((table) => table.toLowerCase().includes(wanted))
  const begins = (table: string): boolean =>
    table.toLowerCase().startsWith(wanted) || table.toLowerCase().includes(`.${wanted}`)
  return [...names.filter(begins), ...names.filter((table) => !begins(table))]
}
