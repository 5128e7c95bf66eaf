import { randomUUID } from 'node:crypto'
import { type CallToolResult, McpError } from '@jackfield/sdk'
import { readJson } from '@jackfield/sdk/internal'
import type { ResultTable } from '../store/index.ts'
import type { KeptResult, Results, ResultText } from '../types/index.ts'
import { fit } from './fit.ts'
import { valuesAt } from './path.ts'
import { documentOf, wholeText } from './text.ts'

const scheme = 'jackfield://results/'

/**
 * Results that were too large for a model, and what of them it reads later. `parentOf` tells which conversation another
 * was forked from: what was given to that one is known to the fork as well.
 */
export function createResults(
  table: ResultTable,
  parentOf: (conversation: string) => string | null | undefined = () => undefined,
  now: () => number = Date.now,
): Results {
  function knows(conversation: string, given: string | null): boolean {
    for (let own: string | null | undefined = conversation; typeof own === 'string'; own = parentOf(own)) {
      if (own === given) return true
    }
    return false
  }

  function get(id: string): KeptResult | undefined {
    const row = table.get(id.startsWith(scheme) ? id.slice(scheme.length) : id)
    if (row === undefined) return undefined
    const result: CallToolResult = readJson(row.result)
    return { ...row, uri: `${scheme}${row.id}`, result }
  }
  return {
    get,
    fit: (result, { characters, server = '', tool = '', conversation = null, activity = null }) =>
      fit(result, characters, () => {
        const id = randomUUID()
        const at = new Date(now()).toISOString()
        table.put({ id, server, tool, conversation, activity, at, result: JSON.stringify(result) })
        return id
      }),
    read(id, { path, from = 0, characters } = {}, { conversation } = {}): ResultText {
      const kept = get(id)
      if (kept === undefined || (conversation !== undefined && !knows(conversation, kept.conversation))) {
        throw new McpError(
          'INVALID',
          `There is no result ${JSON.stringify(id)} any more, or here. Call the tool again for a new one.`,
        )
      }
      const text = path === undefined ? wholeText(kept.result) : found(kept.result, path)
      const begin = Math.min(Math.max(0, Math.trunc(from)), text.length)
      const part = text.slice(begin, characters === undefined ? undefined : begin + Math.max(1, characters))
      const end = begin + part.length
      return { text: part, from: begin, total: text.length, ...(end < text.length && { next: end }) }
    },
  }
}

/** What a path finds: a text as it is, anything else as JSON; several values one a line. */
function found(result: CallToolResult, path: string): string {
  return valuesAt(documentOf(result), path)
    .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
    .join('\n')
}
