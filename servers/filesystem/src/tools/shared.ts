import type { Context } from '@jackfield/sdk'
import { type ToolAnnotations, ToolError } from '@jackfield/sdk'
import { z } from 'zod'
import type { Access } from '../access/access.ts'
import type { Boundary } from '../access/boundary.ts'
import { type Place, type ResolveOptions, withPlace } from '../access/resolve.ts'
import type { Settings } from '../options.ts'

/** What the tools, resources and subscriptions of one server use. */
export interface ToolDependencies {
  readonly settings: Settings
  readonly access: Access
}

/** Resolves a path within the boundary, and runs `use` with the result. A link as the last part is followed by default. */
export function withPath<T>(
  { settings }: ToolDependencies,
  boundary: Boundary,
  path: string,
  use: (place: Place) => Promise<T>,
  options: ResolveOptions = { followLast: true },
): Promise<T> {
  return withPlace(boundary, settings.lookup, path, options, use)
}

/** Annotations of a tool that only reads. */
export const readAnnotations = { readOnlyHint: true, openWorldHint: false } as const satisfies ToolAnnotations

/** Annotations of a tool that writes. */
export function writeAnnotations(hints: { destructive: boolean; idempotent: boolean }): ToolAnnotations {
  return {
    readOnlyHint: false,
    destructiveHint: hints.destructive,
    idempotentHint: hints.idempotent,
    openWorldHint: false,
  }
}

export const pathArgument = z
  .string()
  .describe('Absolute path, or a path relative to an allowed directory; ~ is the home directory')

/** `replace`: the change replaces or deletes something. */
export type Change = 'create' | 'replace'

/**
 * Asks the person to confirm a change, if the settings require it for such a change.
 * @throws ToolError if the person declines, or the client cannot ask
 */
export async function confirm(
  ctx: Context,
  { settings }: ToolDependencies,
  change: Change,
  question: string,
): Promise<void> {
  const { confirm: policy } = settings
  if (policy === 'never' || (policy === 'overwrite' && change === 'create')) return
  if (!ctx.can('elicitation')) {
    throw new ToolError(
      'Nothing was changed: this needs the confirmation of a person, and this client cannot ask for it (it does not support ' +
        'elicitation). A person can allow it without confirmation by starting the server with --confirm never.',
    )
  }
  const { action } = await ctx.elicit({ message: question, schema: confirmation })
  if (action === 'accept') return
  const what = action === 'decline' ? 'the person declined' : 'the person did not decide'
  throw new ToolError(`Nothing was changed: ${what}. Do not try again unless you are asked to.`)
}

/** Accepting the form is the confirmation: it has no fields. */
const confirmation = z.object({})
