import { readFile, realpath } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { Host } from '@jackfield/host'
import { readJson } from '@jackfield/sdk/internal'
import { isObject } from '../cli/arguments.ts'

/** An expected effect of the conversation, checked at its source. */
export interface Check {
  claim: string
  /** Why it is missing; undefined if it is present. */
  problem: string | undefined
}

/** Checks the effects of a planned trip: one booking, its calendar event, its file, and their activity rows. */
export async function checkTrip(
  host: Host,
  trip: { city: string; departure: string; folder: string },
): Promise<Check[]> {
  const checks: Check[] = []
  const check = async (claim: string, inspect: () => Promise<string | undefined>): Promise<void> => {
    const problem = await inspect().catch((error: unknown) =>
      error instanceof Error ? error.message : String(error),
    )
    checks.push({ claim, problem })
  }

  const bookings = recordsIn(await readTravelJson(host, 'travel://bookings'), 'bookings')
  const [booking] = bookings
  const reference = booking === undefined ? '(none)' : String(booking.id)
  await check(`travel://bookings holds the booking ${reference}, once`, async () =>
    bookings.length === 1 && booking?.departure === trip.departure
      ? undefined
      : `it holds ${bookings.length} bookings`,
  )
  await check('the seat and the room are those the person chose', async () => {
    const choices = JSON.stringify(booking?.choices)
    return choices ===
      JSON.stringify({ seatPreference: 'window', roomType: 'sea view', travelInsurance: false })
      ? undefined
      : `they are ${choices}`
  })
  await check('the calendar has the trip, once', async () => {
    const year = trip.departure.slice(0, 4)
    const events = recordsIn(await readTravelJson(host, `calendar://events/${year}`), 'events')
    const count = events.filter(
      (event) => String(event.title).includes(trip.city) && event.start === trip.departure,
    ).length
    return count === 1 ? undefined : `it has it ${count} times`
  })
  const readsFiles = host.connections.has('files')
  const andRead = readsFiles ? ', and the file server reads the same text' : ''
  await check(`the itinerary lies inside the root${andRead}`, async () => {
    const saved = host.activity({ kind: 'call' }).find((row) => row.detail.tool === 'saveItinerary')
    const name = textAt(saved?.detail.result, 'structuredContent', 'filename')
    if (name === undefined) return 'no file was saved'
    const root = await realpath(trip.folder)
    const file = await realpath(join(root, name))
    if (relative(root, file).startsWith('..')) return `${file} lies outside`
    const own = await readFile(file, 'utf8')
    if (!own.includes(reference)) return `it does not name ${reference}`
    if (!readsFiles) return undefined
    const { result } = await host.call('files__read_text_file', { path: file }, { caller: 'person' })
    const read = result.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
    return result.isError !== true && read.trim() === own.trim()
      ? undefined
      : 'the file server reads something else'
  })
  await check('every call has a row in the activity log, with who decided', async () => {
    const rows = host.activity({ kind: 'call' })
    const without = rows.filter((row) => textAt(row.detail.decision, 'rule') === undefined)
    return rows.length > 0 && without.length === 0
      ? undefined
      : `${without.length} of ${rows.length} rows have no decision`
  })
  return checks
}

/** The content of a travel server resource, as JSON. */
async function readTravelJson(host: Host, uri: string): Promise<unknown> {
  const { contents } = await host.read('travel', uri)
  const [first] = contents
  return first !== undefined && 'text' in first ? parseJson(first.text) : undefined
}

/** The JSON value of a text; undefined if it is invalid. */
export function parseJson(value: string): unknown {
  try {
    return readJson(value)
  } catch {
    return undefined
  }
}

/** The objects in a list, or in the list member of that name. */
export function recordsIn(value: unknown, member: string): Record<string, unknown>[] {
  const list = Array.isArray(value) ? value : isObject(value) ? value[member] : undefined
  return Array.isArray(list) ? list.filter(isObject) : []
}

/** The text at a path in a value. */
export function textAt(value: unknown, ...path: string[]): string | undefined {
  let current = value
  for (const name of path) current = isObject(current) ? current[name] : undefined
  return typeof current === 'string' ? current : undefined
}
