import { requireKnown } from '../core/known-members.ts'
import { limits } from '../core/limits.ts'

/** Every limit by its name, as a number that may be changed. */
export type Bounds = { readonly [Name in keyof typeof limits]: number }

const names = Object.keys(limits)

/**
 * The default limits with some of them changed.
 * @throws McpError 'INVALID' for a limit that does not exist
 */
export function bounds(changed?: Partial<Bounds>): Bounds {
  if (changed === undefined) return limits
  requireKnown('"limits"', changed, names)
  return { ...limits, ...changed }
}
