import { type Context, reply, ToolError, tool } from '@jackfield/sdk'
import { z } from 'zod'
import { conversationArgument, entity, listOf, name, observation, relation, textLine } from './schemas.ts'
import type { Memory } from './server.ts'
import { quoted } from './store.ts'
import { type Graph, limits } from './types.ts'

/** The tools: the arguments and results are those of the memory server of the MCP reference servers, with additions. */

/** Maximum entities that one call deletes without a confirmation of the person. */
const maxUnconfirmedDeletions = 20
const defaultPageSize = 100
const defaultSearchLimit = 50

const entityOutput = z.object({ name: z.string(), entityType: z.string(), observations: z.array(z.string()) })
const relationOutput = z.object({ from: z.string(), to: z.string(), relationType: z.string() })
const graphOutput = z.object({
  entities: z.array(entityOutput),
  relations: z.array(relationOutput),
  omittedRelations: z
    .number()
    .int()
    .optional()
    .describe('Relations of these entities that are left out; open_nodes with fewer names returns them'),
})
const deletionOutput = z.object({ success: z.boolean(), message: z.string() })

const createHints = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}
const deleteHints = { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false }
const readHints = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }

export const createEntities = (memory: Memory) =>
  tool({
    title: 'Create Entities',
    description:
      'Create multiple new entities in the knowledge graph. Entities that exist are left as they are: use add_observations for them',
    input: z.object({ entities: listOf(entity), conversation: conversationArgument }),
    output: z.object({
      entities: z.array(entityOutput).describe('The new entities'),
      existing: z.array(z.string()).optional().describe('Names that existed already and were not changed'),
    }),
    annotations: createHints,
    run({ entities, conversation }, ctx) {
      const { created, existing } = memory.store.createEntities(memory.keyOf(ctx, conversation), entities)
      memory.notifyChanged()
      const unchanged =
        existing.length === 0
          ? ''
          : ` Not changed, since they exist: ${quoted(existing)}. Use add_observations to add to them.`
      return reply({
        content: `Created ${count(created.length, 'entity', 'entities')}.${unchanged}`,
        structured: { entities: created, ...(existing.length > 0 && { existing }) },
      })
    },
  })

export const createRelations = (memory: Memory) =>
  tool({
    title: 'Create Relations',
    description:
      'Create multiple new relations between entities in the knowledge graph. Relations should be in active voice. Both entities must exist',
    input: z.object({ relations: listOf(relation), conversation: conversationArgument }),
    output: z.object({ relations: z.array(relationOutput).describe('The new relations') }),
    annotations: createHints,
    run({ relations, conversation }, ctx) {
      const { created, existing } = memory.store.createRelations(memory.keyOf(ctx, conversation), relations)
      memory.notifyChanged()
      return reply({
        content: `Created ${count(created.length, 'relation')}.${existing > 0 ? ` ${existing} existed already.` : ''}`,
        structured: { relations: created },
      })
    },
  })

export const addObservations = (memory: Memory) =>
  tool({
    title: 'Add Observations',
    description: 'Add new observations to existing entities in the knowledge graph',
    input: z.object({
      observations: listOf(
        z.object({
          entityName: name.describe('The name of the entity to add the observations to'),
          contents: listOf(observation).describe('Facts about the entity, one each'),
        }),
      ),
      conversation: conversationArgument,
    }),
    output: z.object({
      results: z.array(z.object({ entityName: z.string(), addedObservations: z.array(z.string()) })),
    }),
    annotations: createHints,
    run({ observations, conversation }, ctx) {
      const results = memory.store.addObservations(memory.keyOf(ctx, conversation), observations)
      memory.notifyChanged()
      const added = results.reduce((sum, { addedObservations }) => sum + addedObservations.length, 0)
      const requested = observations.reduce((sum, { contents }) => sum + contents.length, 0)
      const known = requested > added ? ` ${requested - added} existed already.` : ''
      return reply({ content: `Added ${count(added, 'observation')}.${known}`, structured: { results } })
    },
  })

export const deleteEntities = (memory: Memory) =>
  tool({
    title: 'Delete Entities',
    description: `Delete multiple entities and their associated relations from the knowledge graph. For more than ${maxUnconfirmedDeletions} entities at once the person is asked`,
    input: z.object({
      entityNames: listOf(name).describe('An array of entity names to delete'),
      conversation: conversationArgument,
    }),
    output: deletionOutput,
    annotations: deleteHints,
    async run({ entityNames, conversation }, ctx) {
      const key = memory.keyOf(ctx, conversation)
      const existing = memory.store.countExisting(key, entityNames)
      if (existing > maxUnconfirmedDeletions && !(await isConfirmed(ctx, existing, entityNames))) {
        return deletionReply(false, 'The person did not agree. Nothing was deleted.')
      }
      const result = memory.store.deleteEntities(key, entityNames)
      memory.notifyChanged()
      const relations = result.relations > 0 ? ` and ${count(result.relations, 'relation')}` : ''
      return deletionReply(
        true,
        `Deleted ${count(result.deleted.length, 'entity', 'entities')}${relations}.${notFound(result.missing)}`,
      )
    },
  })

export const deleteObservations = (memory: Memory) =>
  tool({
    title: 'Delete Observations',
    description: 'Delete specific observations from entities in the knowledge graph',
    input: z.object({
      deletions: listOf(
        z.object({
          entityName: name.describe('The name of the entity containing the observations'),
          observations: listOf(observation).describe('The observations to delete, word for word'),
        }),
      ),
      conversation: conversationArgument,
    }),
    output: deletionOutput,
    annotations: deleteHints,
    run({ deletions, conversation }, ctx) {
      const result = memory.store.deleteObservations(memory.keyOf(ctx, conversation), deletions)
      memory.notifyChanged()
      const requested = deletions.reduce((sum, { observations }) => sum + observations.length, 0)
      const left = requested > result.deleted ? ` ${requested - result.deleted} did not exist.` : ''
      return deletionReply(
        true,
        `Deleted ${count(result.deleted, 'observation')}.${left}${notFound(result.missing)}`,
      )
    },
  })

export const deleteRelations = (memory: Memory) =>
  tool({
    title: 'Delete Relations',
    description: 'Delete multiple relations from the knowledge graph',
    input: z.object({
      relations: listOf(relation).describe('An array of relations to delete'),
      conversation: conversationArgument,
    }),
    output: deletionOutput,
    annotations: deleteHints,
    run({ relations, conversation }, ctx) {
      const result = memory.store.deleteRelations(memory.keyOf(ctx, conversation), relations)
      memory.notifyChanged()
      const left = relations.length - result.deleted
      return deletionReply(
        true,
        `Deleted ${count(result.deleted, 'relation')}.${left > 0 ? ` ${left} did not exist.` : ''}`,
      )
    },
  })

export const readGraph = (memory: Memory) =>
  tool({
    title: 'Read Graph',
    description:
      'Read the entire knowledge graph, page by page: call again with nextCursor as long as there is one',
    input: z.object({
      cursor: z.string().max(20).optional().describe('nextCursor of the page before'),
      limit: z
        .number()
        .int()
        .min(1)
        .max(limits.entitiesPerPage)
        .default(defaultPageSize)
        .describe('The most entities on a page'),
      conversation: conversationArgument,
    }),
    output: graphOutput.extend({
      nextCursor: z.string().optional().describe('Cursor of the next page; absent on the last'),
      total: z.number().int().describe('Entities in the graph'),
    }),
    annotations: readHints,
    run({ cursor, limit, conversation }, ctx) {
      if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) {
        throw new ToolError(
          '"cursor" must be the nextCursor of a page before. Leave it out for the first page.',
        )
      }
      const { next, ...page } = memory.store.page(memory.keyOf(ctx, conversation), Number(cursor ?? 0), limit)
      return reply({
        structured: { ...toOutput(page), ...(next !== undefined && { nextCursor: String(next) }) },
      })
    },
  })

export const searchNodes = (memory: Memory) =>
  tool({
    title: 'Search Nodes',
    description:
      'Search the knowledge graph for entities whose name, type or observations contain words of the query, the best match first',
    input: z.object({
      query: textLine(limits.queryChars).describe(
        'Words to match against entity names, types, and observation content; words that begin with them match too',
      ),
      limit: z
        .number()
        .int()
        .min(1)
        .max(limits.entitiesPerPage)
        .default(defaultSearchLimit)
        .describe('The most entities to return'),
      conversation: conversationArgument,
    }),
    output: graphOutput.extend({ total: z.number().int().describe('Entities that match') }),
    annotations: readHints,
    run({ query, limit, conversation }, ctx) {
      return reply({
        structured: toOutput(memory.store.search(memory.keyOf(ctx, conversation), query, limit)),
      })
    },
  })

export const openNodes = (memory: Memory) =>
  tool({
    title: 'Open Nodes',
    description: 'Open specific nodes in the knowledge graph by their names',
    input: z.object({
      names: listOf(name).describe('An array of entity names to retrieve'),
      conversation: conversationArgument,
    }),
    output: graphOutput.extend({
      missing: z.array(z.string()).optional().describe('Names without an entity'),
      omitted: z
        .array(z.string())
        .optional()
        .describe('Names that did not fit into this result: open them next'),
    }),
    annotations: readHints,
    run({ names, conversation }, ctx) {
      const { missing, omitted, ...graph } = memory.store.open(memory.keyOf(ctx, conversation), names)
      return reply({
        structured: {
          ...toOutput(graph),
          ...(missing.length > 0 && { missing }),
          ...(omitted.length > 0 && { omitted }),
        },
      })
    },
  })

async function isConfirmed(ctx: Context, existing: number, names: readonly string[]): Promise<boolean> {
  if (!ctx.can('elicitation')) {
    throw new ToolError(
      `Nothing was deleted. Deleting ${existing} entities at once needs the person's agreement, and this client cannot ask for it. Delete at most ${maxUnconfirmedDeletions} in one call.`,
    )
  }
  const answer = await ctx.elicit({
    key: 'delete-entities',
    message: `Delete ${existing} entities from memory, with their observations and relations? ${quoted(names)}`,
    schema: z.object({
      confirm: z
        .boolean()
        .meta({ title: 'Delete', description: `Delete ${existing} entities; this cannot be undone` }),
    }),
  })
  return answer.action === 'accept' && answer.content.confirm
}

function deletionReply(success: boolean, message: string) {
  return reply({ content: message, structured: { success, message } })
}

/** Leaves out a count of zero. */
function toOutput<T extends Graph & { omittedRelations: number }>({ omittedRelations, ...graph }: T) {
  return { ...graph, ...(omittedRelations > 0 && { omittedRelations }) }
}

function notFound(missing: readonly string[]): string {
  return missing.length === 0 ? '' : ` No entity has the name ${quoted(missing)}.`
}

function count(n: number, one: string, several = `${one}s`): string {
  return `${n} ${n === 1 ? one : several}`
}
