import { offlineModel } from '../models/index.ts'
import type { Model } from '../types/index.ts'
import type { SamplingDeps } from './deps.ts'
import { reviewsOffline } from './limits.ts'

/**
 * Whether a model answers a server without a review: only the built-in offline planner itself, which needs no network,
 * costs nothing and involves no third party. Another model of that id does not.
 */
export function passesOffline(
  server: string,
  model: Model | undefined,
  { settings }: Pick<SamplingDeps, 'settings'>,
): boolean {
  return model === offlineModel && !reviewsOffline(server, settings)
}
