import type { FlightOption } from './schedule.ts'

export function usd(amount: number): string {
  return `$${amount.toLocaleString('en-US')}`
}

/** `9 h 50 min`. */
export function duration(minutes: number): string {
  const hours = Math.floor(minutes / 60)
  const rest = minutes % 60
  if (hours === 0) return `${rest} min`
  return rest === 0 ? `${hours} h` : `${hours} h ${rest} min`
}

export function count(number: number, one: string, several = `${one}s`): string {
  return `${number} ${number === 1 ? one : several}`
}

/** `a, b and c`. */
export function list(items: readonly string[], word: 'and' | 'or'): string {
  return items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} ${word} ${items.at(-1)}`
}

/** One option in one line, for people and models alike. */
export function optionLine(option: FlightOption): string {
  const days = dayShift(option)
  const route = [option.legs[0]?.from ?? '', ...option.legs.map(({ to }) => to)].join('–')
  const stops =
    option.stops === 0
      ? 'nonstop'
      : option.layovers.map(({ airport, minutes }) => `1 stop in ${airport}, ${duration(minutes)}`).join('; ')
  return [
    option.id,
    usd(option.priceUsd),
    `${option.departs.slice(11)} → ${option.arrives.slice(11)}${days === 0 ? '' : ` (${days > 0 ? '+' : ''}${days} d)`}`,
    route,
    stops,
    duration(option.durationMinutes),
    option.airlines.join(' and '),
  ].join(' | ')
}

function dayShift(option: FlightOption): number {
  const day = (time: string): number => Date.parse(`${time.slice(0, 10)}T00:00:00Z`) / 86_400_000
  return day(option.arrives) - day(option.departs)
}

/** A name as part of a URI or a file name: lower case, hyphens, no accents. */
export function slug(text: string): string {
  const made = text
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 60)
  return made === '' ? 'trip' : made
}
