import type { Outcome, Prompt, Resource, ResourceTemplate, Tool } from '@jackfield/sdk'
import { isRecord, type JsonRecord } from '../shared/json.ts'

/** What a gateway lists, as the servers wrote it, by the key it is known under. */
export interface Rows {
  readonly tools: ReadonlyMap<string, Tool>
  readonly prompts: ReadonlyMap<string, Prompt>
  readonly resources: ReadonlyMap<string, Resource>
  readonly templates: ReadonlyMap<string, ResourceTemplate>
}

const lists = new Map<string, { column: string; key: string; of: keyof Rows }>([
  ['tools/list', { column: 'tools', key: 'name', of: 'tools' }],
  ['prompts/list', { column: 'prompts', key: 'name', of: 'prompts' }],
  ['resources/list', { column: 'resources', key: 'uri', of: 'resources' }],
  ['resources/templates/list', { column: 'resourceTemplates', key: 'uriTemplate', of: 'templates' }],
])

export function isList(method: string): boolean {
  return lists.has(method)
}

/** A page of a list with every entry as its server wrote it; entries that no server wrote are left out. */
export function asWritten(method: string, outcome: Outcome, rows: Rows): Outcome {
  const list = lists.get(method)
  if (list === undefined || outcome.type !== 'complete') return outcome
  const page = outcome.result[list.column]
  if (!Array.isArray(page)) return outcome
  const written = (entry: unknown): JsonRecord[] => {
    const key = isRecord(entry) ? entry[list.key] : undefined
    const row = typeof key === 'string' ? rows[list.of].get(key) : undefined
    return row === undefined ? [] : [{ ...row }]
  }
  return { ...outcome, result: { ...outcome.result, [list.column]: page.flatMap(written) } }
}
