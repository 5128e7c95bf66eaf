import { ErrorCode, type PromptMessage, prompt, RpcError } from '@jackfield/sdk'
import { z } from 'zod'
import type { Databases } from './databases.ts'
import { completeTable, namesFrom, tableUri } from './resources.ts'

const questions = [
  'What does this data contain, and how do its tables relate?',
  'Which values are missing, duplicated or out of range?',
  'How did the numbers develop over time?',
]

export const analysePrompt = (databases: Databases) =>
  prompt({
    title: 'Analyse',
    description: 'Answer a question from the data of a database, or of one of its tables',
    input: z.object({
      question: z.string().min(1).max(2_000).describe('What to find out'),
      database: z.string().max(64).optional().describe('Name of the database; all of them by default'),
      table: z.string().max(1_000).optional().describe('A table of the database to begin with'),
    }),
    complete: {
      question: (typed) => questions.filter((one) => one.toLowerCase().startsWith(typed.toLowerCase())),
      database: (typed) => namesFrom(databases, typed),
      table: (typed, { arguments: { database }, signal }) =>
        completeTable(databases, database, typed, signal),
    },
    run({ question, database, table }): PromptMessage[] {
      const chosen = databases.all.filter(({ name }) => database === undefined || name === database)
      const [first] = chosen
      if (first === undefined) {
        throw new RpcError(
          ErrorCode.InvalidParams,
          `There is no database "${database}". There are: ${databases.all.map(({ name }) => name).join(', ')}.`,
        )
      }
      if (table !== undefined && chosen.length > 1) {
        throw new RpcError(ErrorCode.InvalidParams, 'Give the database of the table.')
      }
      const lines = [
        question,
        '',
        `Answer from ${chosen.map(({ name, engine }) => `the ${engine.kind} database ${name}`).join(' and ')}:`,
        '1. Read the linked schema. Look at a few rows with sample_rows where names do not explain themselves.',
        '2. Query with aggregates and conditions instead of reading all rows. Pass values as parameters.',
        '3. Check a surprising number with a second query.',
        '4. Answer in a few sentences with the numbers, and show the SQL they come from. Say what the data does not show.',
        ...(chosen.length > 1
          ? ['One statement reads one database: query each, and combine the results yourself by their keys.']
          : []),
      ]
      return [
        { role: 'user', content: { type: 'text', text: lines.join('\n') } },
        ...chosen.map(({ name }): PromptMessage => {
          const uri = table === undefined ? `db://${name}/schema` : tableUri(name, table)
          return {
            role: 'user',
            content: { type: 'resource_link', uri, name: uri, mimeType: 'text/markdown' },
          }
        }),
      ]
    },
  })
