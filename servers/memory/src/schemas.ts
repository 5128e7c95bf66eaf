import { z } from 'zod'
import { limits } from './types.ts'

/** The schemas of what is stored, for arguments and imported files. */

/** Text that SQLite and JSON store unchanged. */
export const line = (most: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(most)
    .refine((value) => value.isWellFormed(), 'must be well-formed Unicode')
    // One text for one name, however its accents are encoded.
    .overwrite((value) => value.normalize())

export const many = <T extends z.ZodType>(item: T) => z.array(item).max(limits.itemsPerCall)

export const name = line(limits.nameChars)
export const observation = line(limits.observationChars)

export const entity = z.object({
  name: name.describe('The name of the entity'),
  entityType: line(limits.typeChars).describe('The type of the entity, such as person or project'),
  observations: many(observation).describe('Facts about the entity, one each'),
})

export const relation = z.object({
  from: name.describe('The name of the entity where the relation starts'),
  to: name.describe('The name of the entity where the relation ends'),
  relationType: line(limits.typeChars).describe(
    'The type of the relation, in active voice, such as works_at',
  ),
})

export const conversationArgument = line(limits.conversationChars)
  .optional()
  .describe('Name of the conversation whose own memory is used. Default: the memory of the server')
