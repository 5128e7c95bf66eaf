import { median, medianTimes } from './process.ts'

/** The cost of one stdio server or client: medians of the rounds. */
export interface PairRow {
  name: string
  /** CPU microseconds of its process for each call. */
  cpu: number
  perSecond: number
  /** Multiples of the plain program, which is the first row. */
  times: { cpu: number; perSecond: number }
}

/** Table rows from the values of each round, by name. */
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
