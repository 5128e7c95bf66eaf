import { z } from 'zod'
import { limits } from './types.ts'

/** The schemas of what is stored, for arguments and imported files. */

/** Trimmed text in Unicode normalization form NFC. */
export const textLine = (maxChars: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(maxChars)
    .refine((value) => value.isWellFormed(), 'must be well-formed Unicode')
    // Equal names can have different encodings of accents.
    .overwrite((value) => value.normalize())

/** The items of one call. */
export const listOf = <T extends z.ZodType>(item: T) => z.array(item).max(limits.itemsPerCall)

export const name = textLine(limits.nameChars)
export const observation = textLine(limits.observationChars)

export const entity = z.object({
  name: name.describe('The name of the entity'),
  entityType: textLine(limits.typeChars).describe('The type of the entity, such as person or project'),
  observations: listOf(observation).describe('Facts about the entity, one each'),
})

export const relation = z.object({
  from: name.describe('The name of the entity where the relation starts'),
  to: name.describe('The name of the entity where the relation ends'),
  relationType: textLine(limits.typeChars).describe(
    'The type of the relation, in active voice, such as works_at',
  ),
})

export const conversationArgument = textLine(limits.conversationChars)
  .optional()
  .describe('Name of the conversation whose own memory is used. Default: the memory of the server')
