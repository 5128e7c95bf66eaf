import { limitsOf } from '../models/sampling/limits.ts'
import type { SamplingLimits, SamplingSettings } from '../types/index.ts'

/** What one file says, and whether it may only take away: a file of the working folder, or of another application. */
export interface SamplingLayer {
  settings: SamplingSettings
  strict: boolean
}

type Servers = NonNullable<SamplingSettings['servers']>

/** Puts settings of several files together, the first of them before the others; strict ones lower limits and blank more. */
export function mergedSampling(layers: readonly SamplingLayer[]): SamplingSettings {
  const own = layers.filter(({ strict }) => !strict).map(({ settings }) => settings)
  const strict = layers.filter((layer) => layer.strict).map(({ settings }) => settings)
  const names = new Set(layers.flatMap(({ settings }) => Object.keys(settings.servers ?? {})))
  const loose: SamplingSettings = {
    models: unique([
      ...own.flatMap(({ models }) => models ?? []),
      ...strict
        .flatMap(({ models }) => models ?? [])
        .map(({ cost: _cost, currency: _currency, ...facts }) => facts),
    ]),
    limits: joined(own.map(({ limits }) => limits)),
    servers: Object.fromEntries(
      [...names].map((name) => {
        const entries = own.flatMap(({ servers }) => serverOf(servers, name) ?? [])
        const approve = entries.find((entry) => entry.approve !== undefined)?.approve
        const limits = joined(entries.map((entry) => entry.limits))
        const reviewOffline = demanded(
          entries,
          strict.flatMap((layer) => [layer, serverOf(layer.servers, name) ?? {}]),
        )
        return [name, { limits, ...(approve !== undefined && { approve }), ...reviewOffline }]
      }),
    ),
    ...demanded(own, strict),
  }
  const redact = [
    ...own.flatMap((settings) => settings.redact ?? []),
    ...strict.flatMap((settings) => settings.redact ?? []).filter((rule) => !('off' in rule && rule.off)),
  ]
  return {
    ...loose,
    redact,
    limits: lowered(
      loose.limits,
      limitsOf('', { ...loose, servers: {} }),
      strict.map(({ limits }) => limits),
    ),
    servers: Object.fromEntries(
      Object.entries(loose.servers ?? {}).map(([name, entry]) => [
        name,
        {
          ...entry,
          limits: lowered(
            entry.limits,
            limitsOf(name, loose),
            strict.map(({ servers }) => serverOf(servers, name)?.limits),
          ),
        },
      ]),
    ),
  }
}

/** What of a strict layer has no effect, for a warning. */
export function withoutEffect({ servers, redact, models, reviewOffline }: SamplingSettings): string[] {
  const settings = [{ reviewOffline }, ...Object.values(servers ?? {})]
  return [
    ...(settings.some((entry) => entry.reviewOffline === false) ? ['"reviewOffline": false'] : []),
    ...(Object.values(servers ?? {}).some(({ approve }) => approve !== undefined)
      ? ['what approves sampling']
      : []),
    ...(redact?.some((rule) => 'off' in rule && rule.off) ? ['what turns a redaction off'] : []),
    ...(models?.some(({ cost }) => cost !== undefined) ? ['the price of a model'] : []),
  ]
}

/** The first of the user's own settings; a strict layer can only demand the review. */
function demanded(
  own: readonly Pick<SamplingSettings, 'reviewOffline'>[],
  strict: readonly Pick<SamplingSettings, 'reviewOffline'>[],
): Pick<SamplingSettings, 'reviewOffline'> {
  const reviewOffline = strict.some((settings) => settings.reviewOffline === true)
    ? true
    : own.find((settings) => settings.reviewOffline !== undefined)?.reviewOffline
  return reviewOffline === undefined ? {} : { reviewOffline }
}

function lowered(
  limits: Partial<SamplingLimits> | undefined,
  inForce: SamplingLimits,
  wanted: readonly (Partial<SamplingLimits> | undefined)[],
): Partial<SamplingLimits> {
  const result = { ...limits }
  const names = [
    'requestsPerMinute',
    'tokensPerDay',
    'costPerDay',
    'maxTokens',
    'toolRounds',
    'autoTokensPerDay',
    'autoCostPerDay',
  ] as const
  for (const name of names) {
    const least = Math.min(...wanted.map((entry) => entry?.[name] ?? Number.POSITIVE_INFINITY))
    if (least < (inForce[name] ?? Number.POSITIVE_INFINITY)) result[name] = least
  }
  return result
}

function serverOf(servers: Servers | undefined, name: string): Servers[string] | undefined {
  return servers !== undefined && Object.hasOwn(servers, name) ? servers[name] : undefined
}

function joined(limits: readonly (Partial<SamplingLimits> | undefined)[]): Partial<SamplingLimits> {
  const all: Partial<SamplingLimits> = {}
  for (const some of limits.toReversed()) Object.assign(all, some)
  return all
}

function unique<T extends { id: string }>(entries: readonly T[]): T[] {
  return [...new Map(entries.toReversed().map((entry) => [entry.id, entry])).values()].reverse()
}
