import { reply, ToolError, tool } from '@jackfield/sdk'
import { z } from 'zod'
import { type Databases, useDatabase } from './databases.ts'
import type { Effects, Parameter } from './engine.ts'
import { count } from './sql.ts'
import { effectsAsLines, rowsAsTable, visible, visibleLines } from './text.ts'
import { columnsShape, databaseArgument, parametersArgument, rowsShape, sqlArgument } from './tools.ts'

/** Maximum characters of a statement that a person is asked to review. */
const maxReviewedChars = 8_000
const maxParameterChars = 500
const maxEffectLines = 30
/** How many times a person is asked if the effects change in the meantime. */
const maxRounds = 3

const confirmation = z.object({
  commit: z.boolean().meta({ title: 'Commit', description: 'Run the statement again and commit it' }),
})

const effectsShape = z.object({
  command: z.string(),
  rows: z.number().int().describe('Rows that the statement itself inserts, updates or deletes'),
  furtherRows: z.number().int().describe('Rows that triggers and foreign keys change besides (SQLite)'),
  tables: z
    .array(
      z.object({
        table: z.string(),
        inserted: z.number().int(),
        updated: z.number().int(),
        deleted: z.number().int(),
      }),
    )
    .describe('All changed rows by table (PostgreSQL)'),
  schema: z.array(z.string()).describe('Changes of the schema'),
})

/**
 * The tool that changes data. No transaction stays open while the person decides: the statement runs and is rolled back to
 * learn its effects; after a yes it runs again and is committed only if its effects are the same, otherwise the person is
 * asked again. On 2026-07-28 the answer comes with another request, so the effects and the commit are steps of its journal.
 */
export const executeTool = (databases: Databases) =>
  tool({
    title: 'Execute',
    description:
      'Change data or schema with one SQL statement (INSERT, UPDATE, DELETE, CREATE, …). It runs in a transaction; the person sees the statement and what it changes, and nothing is committed unless they agree. RETURNING works.',
    input: z.object({
      database: databaseArgument(databases),
      sql: sqlArgument,
      parameters: parametersArgument,
    }),
    output: z.object({
      database: z.string(),
      status: z.enum(['committed', 'unchanged', 'declined', 'cancelled']),
      effects: effectsShape,
      columns: columnsShape,
      rows: rowsShape,
      rowsLeft: z.number().int().describe('Returned rows that are not included'),
    }),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    async run({ database: name, sql, parameters }, ctx) {
      if (!ctx.can('elicitation')) {
        throw new ToolError(
          'Nothing was changed. A change needs a person to confirm it in a form (elicitation), which this client cannot show. Give the statement to the person to run.',
        )
      }
      if (sql.length > maxReviewedChars) {
        throw new ToolError(
          `Nothing was changed. The statement has ${count(sql.length, 'character')}; a person can review at most ${maxReviewedChars.toLocaleString('en-US')}. Use parameters, or several statements.`,
        )
      }
      const statement = { sql, parameters }
      const { maxRows, maxBytes } = databases.limits
      let effects = await ctx.step('preview', () =>
        useDatabase(databases, name, ctx.signal, ({ engine }, signal) => engine.preview(statement, signal)),
      )
      const notCommitted = (status: 'unchanged' | 'declined' | 'cancelled', content: string) =>
        reply({
          content,
          structured: { database: name, status, effects, columns: [], rows: [], rowsLeft: 0 },
        })

      for (let round = 1; round <= maxRounds; round++) {
        if (hasNoEffects(effects)) {
          return notCommitted(
            'unchanged',
            `The statement changes nothing in ${name}, so nothing was committed.`,
          )
        }
        const answer = await ctx.elicit({
          key: `confirm-${round}`,
          message: question(databases, name, statement, effects, round > 1),
          schema: confirmation,
        })
        if (answer.action !== 'accept' || !answer.content.commit) {
          return answer.action === 'cancel'
            ? notCommitted('cancelled', 'The person closed the form without deciding. Nothing was changed.')
            : notCommitted('declined', 'The person declined. Nothing was changed.')
        }
        const confirmed = effects
        const written = await ctx.step(`commit-${round}`, () =>
          useDatabase(databases, name, ctx.signal, ({ engine }, signal) =>
            engine.commit(statement, confirmed, { rows: maxRows, bytes: maxBytes }, signal),
          ),
        )
        effects = written.effects
        if (written.status === 'changed') continue
        const { columns, rows, rowsLeft } = written
        databases.notifyChanged(name, effects.schema.length > 0)
        const table = rows.length === 0 ? '' : `\n\n${rowsAsTable(columns, rows)}`
        const left = rowsLeft === 0 ? '' : `\n\n${count(rowsLeft, 'returned row')} not shown.`
        return reply({
          content: `Committed in ${name}:\n${effectsText(effects)}${table}${left}`,
          structured: { database: name, status: 'committed' as const, effects, columns, rows, rowsLeft },
        })
      }
      throw new ToolError(
        `Nothing was changed. The data changed ${maxRounds} times while the person decided, so the effects were never those confirmed. Try again later, or select the rows by key.`,
      )
    },
  })

function hasNoEffects({ rows, furtherRows, tables, schema }: Effects): boolean {
  return rows === 0 && furtherRows === 0 && tables.length === 0 && schema.length === 0
}

function effectsText(effects: Effects): string {
  const lines = effectsAsLines(effects)
  const shown = lines.slice(0, maxEffectLines).map((line) => `- ${line}`)
  const more = lines.length - shown.length
  return [...shown, ...(more > 0 ? [`- and ${more} more`] : [])].join('\n')
}

/** The question to the person. The effects come first, so that a long statement cannot push them out of view. */
function question(
  databases: Databases,
  name: string,
  { sql, parameters }: { sql: string; parameters: readonly Parameter[] },
  effects: Effects,
  isRepeated: boolean,
): string {
  const target = databases.redact(databases.all.find((one) => one.name === name)?.target.shown ?? '')
  return [
    `${isRepeated ? 'The data changed in the meantime; the statement now has other effects. ' : ''}Commit this change to ${name} (${visible(target)})?`,
    effectsText(effects),
    visibleLines(sql),
    ...(parameters.length === 0 ? [] : [`Parameters:\n${parameters.map(parameterLine).join('\n')}`]),
  ].join('\n\n')
}

function parameterLine(value: Parameter, at: number): string {
  const text = visible(JSON.stringify(value))
  const cut = text.length > maxParameterChars
  return `${at + 1} = ${cut ? `${text.slice(0, maxParameterChars)}… (${count(text.length, 'character')})` : text}`
}
