import { addDays, isDate } from '../domain/dates.ts'

/** An event of a calendar file. */
export interface FileEvent {
  title: string
  /** A date, or a date with a time: `2027-06-15`, `2027-06-15T18:30`. */
  start: string
  /** The last day, or the time it ends. */
  end: string
  /** The zone of the times as the file names it; absent for whole days and for local times. */
  timeZone?: string
  location?: string
  /** Whether the event repeats. Only its first occurrence is listed. */
  repeats?: true
}

const maxEvents = 2_000

/** Reads the events of an iCalendar file (RFC 5545): their title, time and place. Events without a usable start are counted. */
export function readCalendar(text: string): { events: FileEvent[]; skipped: number } {
  const events: FileEvent[] = []
  let skipped = 0
  let properties: Map<string, Property> | undefined
  for (const line of text.replace(/\r?\n[ \t]/g, '').split(/\r?\n/)) {
    if (/^BEGIN:VEVENT\s*$/i.test(line)) properties = new Map()
    else if (/^END:VEVENT\s*$/i.test(line) && properties !== undefined) {
      const event = events.length < maxEvents ? eventOf(properties) : undefined
      if (event === undefined) skipped++
      else events.push(event)
      properties = undefined
    } else if (properties !== undefined) {
      const property = propertyOf(line)
      if (property !== undefined && !properties.has(property.name)) properties.set(property.name, property)
    }
  }
  return { events, skipped }
}

interface Property {
  name: string
  parameters: string
  value: string
}

function propertyOf(line: string): Property | undefined {
  const [, name, parameters = '', value = ''] =
    /^([A-Za-z-]+)((?:;(?:"[^"]*"|[^":])*)?):(.*)$/.exec(line) ?? []
  return name === undefined ? undefined : { name: name.toUpperCase(), parameters, value }
}

function eventOf(properties: ReadonlyMap<string, Property>): FileEvent | undefined {
  const start = momentOf(properties.get('DTSTART'))
  if (start === undefined) return undefined
  const ends = momentOf(properties.get('DTEND'))
  // The end of a whole-day event is the day after its last one.
  const end = ends === undefined ? start : ends.length === 10 ? addDays(ends, -1) : ends
  const zone = zoneOf(properties.get('DTSTART'))
  const location = textOf(properties.get('LOCATION'))
  return {
    title: textOf(properties.get('SUMMARY')) || '(no title)',
    start,
    end: end < start ? start : end,
    ...(zone === undefined || start.length === 10 ? {} : { timeZone: zone }),
    ...(location === '' ? {} : { location }),
    ...(properties.has('RRULE') || properties.has('RDATE') ? { repeats: true as const } : {}),
  }
}

function momentOf(property: Property | undefined): string | undefined {
  const [, year, month, day, hour, minute] =
    /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\dZ?)?\s*$/.exec(property?.value ?? '') ?? []
  const date = `${year}-${month}-${day}`
  if (!isDate(date)) return undefined
  return hour === undefined ? date : `${date}T${hour}:${minute}`
}

function zoneOf(property: Property | undefined): string | undefined {
  if (property?.value.trimEnd().endsWith('Z')) return 'UTC'
  return /;TZID="?([^";:]{1,60})/i.exec(property?.parameters ?? '')?.[1]
}

/** Text without escapes, in one line of at most 200 characters. */
function textOf(property: Property | undefined): string {
  return (property?.value ?? '')
    .replace(/\\[nN]/g, ' ')
    .replace(/\\(.)/g, '$1')
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, 200)
}
