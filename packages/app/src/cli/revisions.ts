import type { ConnectOptions } from '@jackfield/sdk/client'
import { usageError } from './exit.ts'

type Revisions = NonNullable<ConnectOptions['revisions']>

const legacy: Revisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
const modern: Revisions = ['2026-07-28']

/** The revisions allowed by `--era` and `--revision`; undefined means all. */
export function revisionsFor(options: { era?: string; revision?: string }): Revisions | undefined {
  const { era = 'auto', revision } = options
  const byEra =
    era === 'auto'
      ? [...legacy, ...modern]
      : era === 'legacy'
        ? legacy
        : era === 'modern'
          ? modern
          : undefined
  if (byEra === undefined) throw usageError(`--era is auto, modern or legacy, not "${era}".`)
  if (revision === undefined) return era === 'auto' ? undefined : byEra
  const one = [...legacy, ...modern].find((known) => known === revision)
  if (one === undefined)
    throw usageError(`--revision is one of ${[...legacy, ...modern].join(', ')}, not "${revision}".`)
  if (!byEra.includes(one)) throw usageError(`--revision ${one} does not belong to --era ${era}.`)
  return [one]
}
