/** A span of days as someone wrote it, in ISO dates. */
export interface Span {
  start: string
  end: string | undefined
  /** What was taken for granted, in words. */
  assumed: string | undefined
}

const months = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
]
const month = `(${months.map((name) => `${name}|${name.slice(0, 3)}`).join('|')}|sept)\\.?`
const day = '(\\d{1,2})(?:st|nd|rd|th)?'
const year = '(?:,?\\s+(\\d{4}))?'
const dash = '\\s*(?:-|–|—|to|until|through)\\s*'

const isoDate = /\b(\d{4})-(\d{2})-(\d{2})\b/g
const monthFirst = new RegExp(
  `\\b${month}\\s+${day}(?!\\d)(?:${dash}(?:${month}\\s+)?${day}(?!\\d))?${year}`,
  'i',
)
const dayFirst = new RegExp(`\\b${day}(?:${dash}${day})?\\s+(?:of\\s+)?${month}\\b${year}`, 'i')
const monthOnly = new RegExp(`\\b(?:in|during|next)\\s+${month}\\b${year}`, 'i')

/** Finds when a trip is meant to be. Dates without a year are the next that lie ahead of `today`. */
export function findSpan(text: string, today: Date): Span | undefined {
  const iso = [...text.matchAll(isoDate)].map((match) => match[0]).filter(isReal)
  const [start, end] = iso
  if (start !== undefined)
    return { start, end: end !== undefined && end > start ? end : undefined, assumed: undefined }
  return monthAndDay(text, today) ?? loose(text, today)
}

/** The day a number of days after a date. */
export function addDays(date: string, days: number): string {
  const time = new Date(`${date}T00:00:00Z`)
  time.setUTCDate(time.getUTCDate() + days)
  return iso(time)
}

/** Days from one date to another. */
export function daysBetween(start: string, end: string): number {
  return Math.round((Date.parse(`${end}T00:00:00Z`) - Date.parse(`${start}T00:00:00Z`)) / 86_400_000)
}

function monthAndDay(text: string, today: Date): Span | undefined {
  const first = monthFirst.exec(text)
  if (first !== null) {
    const [, name = '', from = '', otherMonth, to, stated] = first
    return spanOf(
      monthNumber(name),
      Number(from),
      otherMonth === undefined ? monthNumber(name) : monthNumber(otherMonth),
      to,
      stated,
      today,
    )
  }
  const second = dayFirst.exec(text)
  if (second !== null) {
    const [, from = '', to, name = '', stated] = second
    return spanOf(monthNumber(name), Number(from), monthNumber(name), to, stated, today)
  }
  return undefined
}

function spanOf(
  startMonth: number,
  startDay: number,
  endMonth: number,
  endDay: string | undefined,
  stated: string | undefined,
  today: Date,
): Span | undefined {
  const inYear = (number: number): string => dateOf(number, startMonth, startDay)
  const chosen =
    stated === undefined
      ? inYear(today.getUTCFullYear()) >= iso(today)
        ? today.getUTCFullYear()
        : today.getUTCFullYear() + 1
      : Number(stated)
  const start = inYear(chosen)
  if (!isReal(start)) return undefined
  const end =
    endDay === undefined
      ? undefined
      : dateOf(endMonth < startMonth ? chosen + 1 : chosen, endMonth, Number(endDay))
  return { start, end: end !== undefined && isReal(end) && end > start ? end : undefined, assumed: undefined }
}

function loose(text: string, today: Date): Span | undefined {
  if (/\btomorrow\b/i.test(text)) return { start: addDays(iso(today), 1), end: undefined, assumed: undefined }
  if (/\bnext week\b/i.test(text)) {
    const start = addDays(iso(today), ((8 - today.getUTCDay()) % 7) + (today.getUTCDay() === 1 ? 7 : 0))
    return { start, end: undefined, assumed: `"next week" means Monday, ${start}` }
  }
  if (/\bnext month\b/i.test(text)) {
    const start = dateOf(today.getUTCFullYear(), today.getUTCMonth() + 2, 15)
    return { start, end: undefined, assumed: `"next month" means ${start}` }
  }
  const named = monthOnly.exec(text)
  if (named === null) return undefined
  const span = spanOf(monthNumber(named[1] ?? ''), 15, 1, undefined, named[2], today)
  return span && { ...span, assumed: `no day was given, so ${span.start}` }
}

function monthNumber(name: string): number {
  return months.findIndex((full) => full.startsWith(name.slice(0, 3).toLowerCase())) + 1
}

function dateOf(yearNumber: number, monthOfYear: number, dayOfMonth: number): string {
  const overflow = monthOfYear > 12
  const text = (value: number): string => String(value).padStart(2, '0')
  return `${overflow ? yearNumber + 1 : yearNumber}-${text(overflow ? monthOfYear - 12 : monthOfYear)}-${text(dayOfMonth)}`
}

function isReal(date: string): boolean {
  const time = new Date(`${date}T00:00:00Z`)
  return !Number.isNaN(time.getTime()) && iso(time) === date
}

function iso(date: Date): string {
  return date.toISOString().slice(0, 10)
}
