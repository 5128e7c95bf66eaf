import { limits } from '../core/limits.ts'

/** Every limit by its name, as a number that may be changed. */
export type Bounds = { readonly [Name in keyof typeof limits]: number }

/** The default limits with some of them changed. */
export function bounds(changed?: Partial<Bounds>): Bounds {
  return changed === undefined ? limits : { ...limits, ...changed }
}
