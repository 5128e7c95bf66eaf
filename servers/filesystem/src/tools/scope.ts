import type { Context } from '@jackfield/sdk'
import { type ToolAnnotations, ToolError } from '@jackfield/sdk'
import { z } from 'zod'
import type { Access } from '../access/access.ts'
import type { Boundary } from '../access/boundary.ts'
import { type Place, type ResolveOptions, withPlace } from '../access/resolve.ts'
import type { Settings } from '../options.ts'

/** What the tools of one server share. */
export interface Scope {
  readonly settings: Settings
  readonly access: Access
}

/** Runs `use` with the place of a path, whose last part may be a link. */
export function at<T>(
  { settings }: Scope,
  boundary: Boundary,
  path: string,
  use: (place: Place) => Promise<T>,
  options: ResolveOptions = { followLast: true },
): Promise<T> {
  return withPlace(boundary, settings.lookup, path, options, use)
}

/** A tool that reads. */
export const reading = { readOnlyHint: true, openWorldHint: false } as const satisfies ToolAnnotations

/** A tool that changes something. */
export function changing(hints: { destructive: boolean; idempotent: boolean }): ToolAnnotations {
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

/** What a change does: create something new, or replace or delete something. */
export type Change = 'create' | 'replace'

/**
 * Asks the person to confirm a change, if the settings require it for such a change.
 * @throws ToolError if the person declines, or the client cannot ask
 */
export async function confirm(
  ctx: Context,
  { settings }: Scope,
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
