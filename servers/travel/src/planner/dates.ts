/** The dates of a trip, in ISO form. */
interface Span {
  /** Undefined if the text has only the end of the trip. */
  start: string | undefined
  end: string | undefined
  /** Assumptions, in words. */
  assumed: string | undefined
}

/** A day in a text. */
interface Mention {
  /** Its place in the text. */
  from: number
  to: number
  date: string
  assumed?: string
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
const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
const numbers = [
  'zero',
  'one',
  'two',
  'three',
  'four',
  'five',
  'six',
  'seven',
  'eight',
  'nine',
  'ten',
  'eleven',
  'twelve',
]

/** A count in a pattern: digits or a word, which `numberOf` reads. */
export const countPattern: string = `(\\d{1,4}|${numbers.join('|')}|an?)`
const monthPattern = `(${months.map((name) => `${name}|${name.slice(0, 3)}`).join('|')}|sept)\\.?`
const dayPattern = '(\\d{1,2})(?:st|nd|rd|th)?'
const yearPattern = '(?:,?\\s+(\\d{4}))?'
const dashPattern = '\\s*(?:-|–|—|to|until|through)\\s*'
const weekdayPattern = `(${weekdays.join('|')})`
/** Short names count only after these words, since "sun" has other meanings. */
const shortWeekdayPattern = '(sun|mon|tues?|wed|thu(?:rs?)?|fri|sat)'

const isoDate = /\b(\d{4})-(\d{2})-(\d{2})\b/g
const numericDate = /\b(\d{1,2})([./])(\d{1,2})\2(\d{4})\b/g
const monthFirst = new RegExp(
  `\\b${monthPattern}\\s+${dayPattern}(?!\\d)(?:${dashPattern}(?:${monthPattern}\\s+)?${dayPattern}(?!\\d))?${yearPattern}`,
  'i',
)
const dayFirst = new RegExp(
  `\\b${dayPattern}(?:${dashPattern}${dayPattern})?\\s+(?:of\\s+)?${monthPattern}\\b${yearPattern}`,
  'i',
)
const monthPart = new RegExp(
  `\\b(?:(early|mid|late|beginning|start|middle|end)(?:\\s+of|\\s+in)?[\\s-]+)?(?:(?:in|during|next|this)\\s+)?${monthPattern}\\b${yearPattern}`,
  'gi',
)
const relativeAmount = new RegExp(
  `\\b(?:in\\s+${countPattern}\\s+(day|week|month)s?|${countPattern}\\s+(day|week|month)s?\\s+from\\s+(?:now|today))\\b`,
  'gi',
)
const relativeDay = /\b(?:(the\s+)?day\s+after\s+tomorrow|tomorrow|today|tonight)\b/gi
const namedWeekday = new RegExp(
  `\\b(?:(next|this|coming)\\s+${weekdayPattern}|(?:on\\s+)?${weekdayPattern}|(next|this|coming|on)\\s+${shortWeekdayPattern})\\b`,
  'gi',
)
const weekOrMonth =
  /\b(?:(early|mid|late|beginning of|start of|middle of|end of)[\s-]+)?(?:the\s+)?(?:(next)\s+(week|month)|(this|the|next|coming)\s+(weekend))\b/gi
const dayOfMonth = /\bon\s+the\s+(\d{1,2})(?:st|nd|rd|th)\b(?!\s+of\b)/gi

/** Between the first and the last day of a trip. */
const connectionPattern =
  /^\s*,?\s*(?:and\s+)?(?:-|–|—|to|until|till|through|and|(?:return(?:ing)?|(?:come|coming|get|go|fly)\s+(?:back|home)|back|home))(?:\s+(?:on|the|by|home))*\s*$/i
/** Before the last day of a trip. */
const endingPattern = /\b(?:until|till|return(?:ing)?|back|home)\s+(?:on\s+|by\s+|the\s+|at\s+|home\s+)*$/i

/** Finds the dates of a trip. Dates without a year are the next after `today`. */
export function findSpan(text: string, today: Date): Span | undefined {
  const now = isoDay(today)
  return (
    spanIn(text, isoMentions(text)) ??
    monthAndDay(text, today) ??
    spanIn(text, numericMentions(text)) ??
    spanIn(text, relativeMentions(text, now), (mention) => lastDay(text, mention)) ??
    vagueSpan(text, today)
  )
}

/** The text without durations until the start, such as "in two weeks". */
export function withoutStart(text: string): string {
  return text.replace(relativeAmount, ' ')
}

/** Parses a count: digits, a word, or "a". */
export function numberOf(word: string): number {
  const spelled = numbers.indexOf(word.toLowerCase())
  if (spelled !== -1) return spelled
  return /^an?$/i.test(word) ? 1 : Number(word)
}

/** The day a number of days after a date. */
export function addDays(date: string, days: number): string {
  const time = new Date(`${date}T00:00:00Z`)
  time.setUTCDate(time.getUTCDate() + days)
  return isoDay(time)
}

/** Days from one date to another. */
export function daysBetween(start: string, end: string): number {
  return Math.round((Date.parse(`${end}T00:00:00Z`) - Date.parse(`${start}T00:00:00Z`)) / 86_400_000)
}

/** A date as ISO writes its day. */
export function isoDay(date: Date): string {
  return date.toISOString().slice(0, 10)
}

/** The first day, and the last if it follows; `asEnd` parses the second one relative to the first. */
function spanIn(
  text: string,
  mentions: readonly Mention[],
  readEnd: (second: Mention) => (start: string) => string = ({ date }) =>
    () =>
      date,
): Span | undefined {
  const [first, second] = mentions
  if (first === undefined) return undefined
  if (endingPattern.test(text.slice(Math.max(0, first.from - 40), first.from)))
    return { start: undefined, end: first.date, assumed: first.assumed }
  const between = second === undefined ? '' : text.slice(first.to, second.from)
  const listed = second !== undefined && (connectionPattern.test(between) || areIsoDates(text, first, second))
  const end = second !== undefined && listed ? readEnd(second)(first.date) : undefined
  return {
    start: first.date,
    end: end !== undefined && end > first.date ? end : undefined,
    assumed: first.assumed,
  }
}

/** Two ISO dates are a period, with any text between them. */
function areIsoDates(text: string, ...mentions: Mention[]): boolean {
  return mentions.every(({ from, to }) => /^\d{4}-\d{2}-\d{2}$/.test(text.slice(from, to)))
}

function isoMentions(text: string): Mention[] {
  return [...text.matchAll(isoDate)].flatMap((match) =>
    isValidDate(match[0]) ? [{ from: match.index, to: match.index + match[0].length, date: match[0] }] : [],
  )
}

/** `15.06.2027` has the day first; `06/15/2027` the month, unless that is impossible. */
function numericMentions(text: string): Mention[] {
  return [...text.matchAll(numericDate)].flatMap((match) => {
    const [matchedText, first = '', separator, second = '', statedYear = ''] = match
    const isDayFirst = separator === '.' || Number(first) > 12
    const [dayText, monthText] = isDayFirst ? [first, second] : [second, first]
    const date = dateOf(Number(statedYear), Number(monthText), Number(dayText))
    if (!isValidDate(date)) return []
    const isAmbiguous = separator === '/' && Number(first) <= 12 && Number(second) <= 12 && first !== second
    return [
      {
        from: match.index,
        to: match.index + matchedText.length,
        date,
        ...(isAmbiguous && { assumed: `"${matchedText}" means ${date}` }),
      },
    ]
  })
}

function monthAndDay(text: string, today: Date): Span | undefined {
  const first = monthFirst.exec(text)
  if (first !== null) {
    const [, name = '', from = '', otherMonth, to, statedYear] = first
    const endMonth = monthNumber(otherMonth ?? name)
    return asEndDate(
      text,
      first.index,
      spanOf(monthNumber(name), Number(from), endMonth, to, statedYear, today),
    )
  }
  const second = dayFirst.exec(text)
  if (second === null) return undefined
  const [, from = '', to, name = '', statedYear] = second
  const number = monthNumber(name)
  return asEndDate(text, second.index, spanOf(number, Number(from), number, to, statedYear, today))
}

/** A single day after "back on" or the like is the last one. */
function asEndDate(text: string, index: number, span: Span | undefined): Span | undefined {
  const isEnd = span?.end === undefined && endingPattern.test(text.slice(Math.max(0, index - 40), index))
  return isEnd && span !== undefined ? { ...span, start: undefined, end: span.start } : span
}

function spanOf(
  startMonth: number,
  startDay: number,
  endMonth: number,
  endDay: string | undefined,
  statedYear: string | undefined,
  today: Date,
): Span | undefined {
  const startInYear = (number: number): string => dateOf(number, startMonth, startDay)
  const startYear =
    statedYear === undefined
      ? startInYear(today.getUTCFullYear()) >= isoDay(today)
        ? today.getUTCFullYear()
        : today.getUTCFullYear() + 1
      : Number(statedYear)
  const start = startInYear(startYear)
  if (!isValidDate(start)) return undefined
  const end =
    endDay === undefined
      ? undefined
      : dateOf(endMonth < startMonth ? startYear + 1 : startYear, endMonth, Number(endDay))
  return {
    start,
    end: end !== undefined && isValidDate(end) && end > start ? end : undefined,
    assumed: undefined,
  }
}

/** Days named relative to today, in the order of the text. */
function relativeMentions(text: string, now: string): Mention[] {
  const mentions: Mention[] = []
  const add = (match: RegExpExecArray, date: string, isClear = false): void => {
    const matchedText = match[0]
    const [from, to] = [match.index, match.index + matchedText.length]
    const name = matchedText.replace(/^on\s+/i, '').replace(/\s+/g, ' ')
    if (mentions.some((other) => from < other.to && other.from < to)) return
    mentions.push({ from, to, date, ...(!isClear && { assumed: `"${name}" means ${date}` }) })
  }
  for (const match of text.matchAll(relativeDay)) {
    const words = match[0].toLowerCase()
    add(match, addDays(now, words.includes('after') ? 2 : words === 'tomorrow' ? 1 : 0), true)
  }
  for (const match of text.matchAll(relativeAmount)) {
    const amount = numberOf(match[1] ?? match[3] ?? '')
    const unit = (match[2] ?? match[4] ?? '').toLowerCase()
    add(
      match,
      unit === 'month' ? addMonths(now, amount) : addDays(now, amount * (unit === 'week' ? 7 : 1)),
      true,
    )
  }
  for (const match of text.matchAll(namedWeekday)) {
    const qualifierWord = (match[1] ?? match[4] ?? '').toLowerCase()
    const name = (match[2] ?? match[3] ?? match[5] ?? '').toLowerCase()
    const weekdayIndex = weekdays.findIndex((full) => full.startsWith(name.slice(0, 3)))
    add(
      match,
      qualifierWord === 'next'
        ? weekdayOfNextWeek(now, weekdayIndex)
        : nextWeekday(now, weekdayIndex, qualifierWord === 'this'),
    )
  }
  return mentions.sort((a, b) => a.from - b.from)
}

/** A weekday that ends a trip is the first one after its start, whatever word precedes it. */
function lastDay(text: string, { from, to, date }: Mention): (start: string) => string {
  const name = new RegExp(`${weekdayPattern}|${shortWeekdayPattern}`, 'i').exec(
    text.slice(from, to).replace(/^on\s/i, ''),
  )?.[0]
  const weekdayIndex = weekdays.findIndex(
    (full) => name !== undefined && full.startsWith(name.slice(0, 3).toLowerCase()),
  )
  return (start) => (weekdayIndex === -1 ? date : nextWeekday(start, weekdayIndex, false))
}

/** Periods without exact days: a week, a weekend, a month or a part of it. */
function vagueSpan(text: string, today: Date): Span | undefined {
  const now = isoDay(today)
  const vague = (matchedText: string, start: string): Span => ({
    start,
    end: undefined,
    assumed: `"${matchedText.replace(/\s+/g, ' ')}" means ${start}`,
  })
  for (const match of text.matchAll(weekOrMonth)) {
    const [matchedText, partOfPeriod, , unit, qualifier, weekend] = match
    if (weekend !== undefined) {
      const isNow = [5, 6, 0].includes(weekdayOf(now))
      if (qualifier?.toLowerCase() === 'next') return vague(matchedText, weekdayOfNextWeek(now, 5))
      return vague(matchedText, isNow ? now : nextWeekday(now, 5, true))
    }
    if (unit?.toLowerCase() === 'week') {
      const start = weekdayOfNextWeek(now, 1)
      return { start, end: undefined, assumed: `"next week" means Monday, ${start}` }
    }
    return vague(matchedText, dateOf(today.getUTCFullYear(), today.getUTCMonth() + 2, dayIn(partOfPeriod)))
  }
  for (const match of text.matchAll(dayOfMonth)) {
    const day = Number(match[1])
    for (let daysAhead = 1; daysAhead <= 3; daysAhead += 1) {
      const date = dateOf(today.getUTCFullYear(), today.getUTCMonth() + daysAhead, day)
      if (isValidDate(date) && date > now) return vague(match[0], date)
    }
  }
  for (const match of text.matchAll(monthPart)) {
    const [matchedText, partOfPeriod, name = '', statedYear] = match
    // The name alone may be another word: "may", or a first name.
    if (partOfPeriod === undefined && !/^(?:in|during|next|this)\s/i.test(matchedText)) continue
    const span = spanOf(monthNumber(name), dayIn(partOfPeriod), 1, undefined, statedYear, today)
    if (span === undefined) continue
    return {
      ...span,
      assumed:
        partOfPeriod === undefined
          ? `no day was given, so ${span.start}`
          : `"${matchedText}" means ${span.start}`,
    }
  }
  return undefined
}

/** The day that represents a part of a month; without one, its middle. */
function dayIn(partOfPeriod: string | undefined): number {
  if (/^(?:early|beginning|start)/i.test(partOfPeriod ?? '')) return 5
  return /^(?:late|end)/i.test(partOfPeriod ?? '') ? 25 : 15
}

function weekdayOf(date: string): number {
  return new Date(`${date}T00:00:00Z`).getUTCDay()
}

/** The first such weekday after a date, or on it where `orSame`. */
function nextWeekday(date: string, weekdayIndex: number, includeSameDay: boolean): string {
  const daysAhead = (weekdayIndex - weekdayOf(date) + 7) % 7
  return addDays(date, daysAhead === 0 && !includeSameDay ? 7 : daysAhead)
}

/** That weekday of the week that begins on the next Monday. */
function weekdayOfNextWeek(date: string, weekdayIndex: number): string {
  return addDays(nextWeekday(date, 1, false), (weekdayIndex + 6) % 7)
}

/** The same day of a later month, or its last day where it is shorter. */
function addMonths(date: string, amount: number): string {
  const [yearNumber = 0, monthOfYear = 0, dayNumber = 0] = date.split('-').map(Number)
  const lastDayOfMonth = new Date(Date.UTC(yearNumber, monthOfYear + amount, 0)).getUTCDate()
  return isoDay(new Date(Date.UTC(yearNumber, monthOfYear - 1 + amount, Math.min(dayNumber, lastDayOfMonth))))
}

function monthNumber(name: string): number {
  return months.findIndex((full) => full.startsWith(name.slice(0, 3).toLowerCase())) + 1
}

function dateOf(yearNumber: number, monthOfYear: number, dayNumber: number): string {
  const years = Math.floor((monthOfYear - 1) / 12)
  const text = (value: number): string => String(value).padStart(2, '0')
  return `${yearNumber + years}-${text(monthOfYear - years * 12)}-${text(dayNumber)}`
}

function isValidDate(date: string): boolean {
  const time = new Date(`${date}T00:00:00Z`)
  return !Number.isNaN(time.getTime()) && isoDay(time) === date
}
