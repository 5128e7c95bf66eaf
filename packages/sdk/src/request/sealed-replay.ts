import type { InputStrategy } from './exchange.ts'
import { type ReplayOptions, replay } from './replay.ts'
import { createSealer } from './state.ts'

/** Asks by replay, with states under keys made of these secrets. */
export function sealedReplay(
  options: Omit<ReplayOptions, 'sealer'>,
  secrets: readonly Uint8Array[],
): InputStrategy {
  return replay({ ...options, sealer: createSealer(secrets) })
}
