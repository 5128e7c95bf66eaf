import type { Model, SamplingLimits, SamplingSettings, SamplingStage } from '../../types/index.ts'
import { offlineModel } from '../offline/model.ts'
import type { SamplingDeps } from './deps.ts'

const defaults: SamplingLimits = {
  requestsPerMinute: 5,
  tokensPerDay: 100_000,
  maxTokens: 8_192,
  toolRounds: 10,
  autoTokensPerDay: 20_000,
}

/** The limits of one server: its own, else those of every server, else the defaults. */
export function limitsOf(server: string, { limits, servers }: SamplingSettings): SamplingLimits {
  return { ...defaults, ...limits, ...own(servers, server)?.limits }
}

/** The looks that the config leaves out for a server. */
export function approvedByConfig(server: string, { servers }: SamplingSettings): readonly SamplingStage[] {
  return own(servers, server)?.approve ?? []
}

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

function reviewsOffline(server: string, { reviewOffline = false, servers }: SamplingSettings): boolean {
  return own(servers, server)?.reviewOffline ?? reviewOffline
}

function own<T>(entries: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return entries !== undefined && Object.hasOwn(entries, name) ? entries[name] : undefined
}
