import type { FlightOption } from './schedule.ts'

/** The best options by price, time, stops and comfort, best first. Needs no model. */
export function rank(options: readonly FlightOption[]): FlightOption[] {
  const cheapest = Math.min(...options.map(({ priceUsd }) => priceUsd))
  const quickest = Math.min(...options.map(({ durationMinutes }) => durationMinutes))
  const cost = (option: FlightOption): number =>
    option.priceUsd / cheapest +
    0.8 * (option.durationMinutes / quickest) +
    0.25 * option.stops +
    0.15 * badHours(option) -
    0.06 * option.comfort
  return options.toSorted((a, b) => cost(a) - cost(b) || (a.id < b.id ? -1 : 1))
}

/** Describes the advantages of one option among all. */
export function strengths(option: FlightOption, options: readonly FlightOption[]): string {
  const cheaper = options.filter(({ priceUsd }) => priceUsd < option.priceUsd).length
  const quicker = options.filter(({ durationMinutes }) => durationMinutes < option.durationMinutes).length
  const texts = [
    cheaper === 0 ? 'the cheapest' : cheaper < options.length / 4 ? 'among the cheapest' : undefined,
    quicker === 0 ? 'the quickest' : quicker < options.length / 4 ? 'among the quickest' : undefined,
    option.stops === 0 ? 'nonstop' : `one stop in ${option.layovers.map(({ city }) => city).join(', ')}`,
    option.comfort >= 4 ? 'a comfortable airline' : undefined,
    badHours(option) === 0 ? 'leaves and arrives at good hours' : undefined,
  ].filter((text) => text !== undefined)
  const text = texts.join(', ')
  return `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}.`
}

/** The number of departure and arrival that are at night, from 0 to 2. */
function badHours(option: FlightOption): number {
  return [option.departs, option.arrives].filter((time) => {
    const hour = Number(time.slice(11, 13))
    return hour < 7 || hour >= 23
  }).length
}
