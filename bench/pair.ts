import { median, medianTimes } from './process.ts'

/** What one stdio server or client cost: medians of the rounds. */
export interface PairRow {
  name: string
  /** CPU microseconds of its process for each call. */
  cpu: number
  perSecond: number
  /** The same in multiples of what the plain one, which comes first, did. */
  times: { cpu: number; perSecond: number }
}

/** The rows of a table out of what each round gave, by name. */
export function pairRows(
  names: readonly { name: string }[],
  cpu: ReadonlyMap<string, readonly number[]>,
  rates: ReadonlyMap<string, readonly number[]>,
): PairRow[] {
  const plain = names[0]?.name ?? ''
  const of = (from: ReadonlyMap<string, readonly number[]>, name: string): readonly number[] =>
    from.get(name) ?? []
  return names.map(({ name }) => ({
    name,
    cpu: median(of(cpu, name)),
    perSecond: median(of(rates, name)),
    times: {
      cpu: medianTimes(of(cpu, name), of(cpu, plain)),
      perSecond: medianTimes(of(rates, name), of(rates, plain)),
    },
  }))
}
