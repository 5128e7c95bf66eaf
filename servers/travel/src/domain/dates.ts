/** A calendar date, `YYYY-MM-DD`. */
export type CalendarDate = string

const dayMs = 86_400_000

/** Whether a text is a date that exists, in the years this server has timetables for. */
export function isDate(text: string): boolean {
  if (!/^20\d\d-\d\d-\d\d$/.test(text)) return false
  const date = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
}

/** Whether a text is a local time on a date that exists, such as `2027-06-15T18:30`. */
export function isDateTime(text: string): boolean {
  const match = /^(.{10})T([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?$/.exec(text)
  return match?.[1] !== undefined && isDate(match[1])
}

export function addDays(date: CalendarDate, days: number): CalendarDate {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * dayMs).toISOString().slice(0, 10)
}

/** Days from one date to another, negative when it comes before. */
export function daysBetween(from: CalendarDate, to: CalendarDate): number {
  return Math.round((Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / dayMs)
}

/** 0 for Sunday to 6 for Saturday. */
export function weekday(date: CalendarDate): number {
  return new Date(`${date}T00:00:00Z`).getUTCDay()
}

/** The position of a date in its year, from 0 to less than 1. */
export function yearFraction(date: CalendarDate): number {
  const start = `${date.slice(0, 4)}-01-01`
  return daysBetween(start, date) / 366
}

/** The date at an instant, in a time zone. */
export function dateIn(timeZone: string, instant: number): CalendarDate {
  return localTime(timeZone, instant).slice(0, 10)
}

/** Local time at an instant, such as `2027-06-15T18:30`. */
export function localTime(timeZone: string, instant: number): string {
  return new Date(instant + offsetMinutes(timeZone, instant) * 60_000).toISOString().slice(0, 16)
}

/** The instant at which clocks in a time zone show a date and a number of minutes after midnight. */
export function instantOf(timeZone: string, date: CalendarDate, minutes: number): number {
  const asUtc = Date.parse(`${date}T00:00:00Z`) + minutes * 60_000
  const guess = asUtc - offsetMinutes(timeZone, asUtc) * 60_000
  return asUtc - offsetMinutes(timeZone, guess) * 60_000
}

const formats = new Map<string, Intl.DateTimeFormat>()
const midnights = new Map<string, Map<number, number>>()
const maxCachedDays = 4000

/** The offset of a time zone from UTC at an instant, in minutes. Cached by day, except for days on which it changes. */
function offsetMinutes(timeZone: string, instant: number): number {
  const day = Math.floor(instant / dayMs)
  const offset = offsetAtMidnight(timeZone, day)
  return offset === offsetAtMidnight(timeZone, day + 1) ? offset : readOffset(timeZone, instant)
}

function offsetAtMidnight(timeZone: string, day: number): number {
  let days = midnights.get(timeZone)
  if (days === undefined || days.size >= maxCachedDays) {
    days = new Map()
    midnights.set(timeZone, days)
  }
  let offset = days.get(day)
  if (offset === undefined) {
    offset = readOffset(timeZone, day * dayMs)
    days.set(day, offset)
  }
  return offset
}

function readOffset(timeZone: string, instant: number): number {
  let format = formats.get(timeZone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
    formats.set(timeZone, format)
  }
  const name = format.formatToParts(instant).find((part) => part.type === 'timeZoneName')?.value ?? 'GMT'
  const match = /^GMT([+-])(\d\d):(\d\d)$/.exec(name)
  if (match === null) return 0
  const minutes = Number(match[2]) * 60 + Number(match[3])
  return match[1] === '-' ? -minutes : minutes
}
