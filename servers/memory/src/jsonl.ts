import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { ToolError } from '@jackfield/sdk'
import { z } from 'zod'
import { entity, relation } from './schemas.ts'
import type { MemoryStore } from './store.ts'
import { type Entity, type GraphKey, limits, type Relation } from './types.ts'

/**
 * The JSON Lines format of the MCP reference server: a line for each entity, `{"type":"entity","name","entityType",
 * "observations"}`, and for each relation, `{"type":"relation","from","to","relationType"}`.
 */

const lineSchema = z.discriminatedUnion('type', [
  entity.extend({
    type: z.literal('entity'),
    observations: z.array(entity.shape.observations.element).max(limits.observationsPerEntity),
  }),
  relation.extend({ type: z.literal('relation') }),
])

/** Numbers of what an import added. */
export interface ImportResult {
  entities: number
  observations: number
  relations: number
  /** Names in relations without an entity. They were created as entities of the type `unknown`. */
  unknown: string[]
}

/**
 * Imports a file into a graph: the whole file, or nothing if a line is invalid. Existing entities get the new observations.
 * @throws Error that names the line
 */
export async function importGraph(store: MemoryStore, key: GraphKey, file: string): Promise<ImportResult> {
  const entities: Entity[] = []
  const relations: Relation[] = []
  let number = 0
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    number++
    if (text.trim() === '') continue
    const parsed = parseLine(text, `${file}, line ${number}`)
    if (parsed.type === 'entity') entities.push(parsed)
    else relations.push(parsed)
  }
  try {
    return store.merge(key, entities, relations)
  } catch (error) {
    if (error instanceof ToolError) throw new Error(`${file} was not imported. ${error.message}`)
    throw error
  }
}

/** The lines of a graph: entities first, then relations. */
export function* exportLines(store: MemoryStore, key: GraphKey): Generator<string> {
  for (const one of store.allEntities(key)) yield JSON.stringify({ type: 'entity', ...one })
  for (const one of store.allRelations(key)) yield JSON.stringify({ type: 'relation', ...one })
}

function parseLine(text: string, where: string): z.infer<typeof lineSchema> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Error(`${where} is not JSON. Nothing was imported.`)
  }
  const parsed = lineSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new Error(
    `${where} is not an entity or relation: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}. Nothing was imported.`,
  )
}
