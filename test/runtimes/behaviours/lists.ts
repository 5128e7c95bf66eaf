import type { ServingPlace } from '../serving.ts'
import { calls } from './calls.ts'
import { bounds, callers, refusals } from './refusals.ts'
import { sessions } from './sessions.ts'

type Lists = ServingPlace['behaviours']

/** Everything, of the stateless era. */
export const stateless: Lists = {
  '2026-07-28': [...calls, ...bounds, ...refusals, ...callers],
}

/** Everything, on both eras. */
export const both: Lists = {
  ...stateless,
  '2025-11-25': [...calls, ...bounds, ...refusals, ...callers, ...sessions],
}

/** What remains where something in front of the server reads bodies and refuses them by its own rules. */
export const callsOnly: Lists = {
  '2026-07-28': [...calls, ...bounds],
  '2025-11-25': [...calls, ...bounds, ...sessions],
}
