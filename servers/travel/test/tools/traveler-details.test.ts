import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ConnectOptions } from '@jackfield/sdk/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { clientOf, eras, filling, type Question, readJson, textOf } from '../fixture.ts'

const wish = { destination: 'Barcelona', departure: '2027-06-15', returnDate: '2027-06-22', travelers: 2 }
const details = {
  travelerNames: 'Ada Lovelace, Alan Turing',
  contactEmail: 'ada@example.com',
  contactPhone: '+1 555 0100',
  emergencyContact: 'Grace Hopper',
  emergencyPhone: '+1 555 0199',
  specialRequests: 'Vegetarian meals',
}

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'travel-'))
  onTestFinished(() => rmSync(made, { recursive: true }))
  return made
}

function rootsAt(...paths: string[]): ConnectOptions {
  return { onRoots: paths.map((path) => ({ uri: pathToFileURL(path).href, name: 'trips' })) }
}

describe.each(eras)('details of the travellers on %s', (era) => {
  test('are requested in a flat form after the price was confirmed', async () => {
    const asked: Question[] = []
    const client = await clientOf(era, filling({ confirmBooking: true }, asked))
    await client.call('bookVacation', wish)
    const [, form] = asked
    expect(form?.message).toContain('Who travels to Barcelona')
    if (form === undefined || form.mode === 'url') throw new Error('no form')
    expect(Object.keys(form.requestedSchema.properties)).toEqual(Object.keys(details))
    expect(form.requestedSchema.required ?? []).toEqual([])
    for (const field of Object.values(form.requestedSchema.properties)) {
      expect(field).toMatchObject({
        type: 'string',
        title: expect.any(String),
        maxLength: expect.any(Number),
      })
    }
    expect(form.requestedSchema.properties['contactEmail']).toMatchObject({ format: 'email' })
  })

  test('are in the saved itinerary, and in no result or resource', async () => {
    const root = folder()
    const client = await clientOf(era, { ...filling({ confirmBooking: true, ...details }), ...rootsAt(root) })
    const result = await client.call('bookVacation', { ...wish, saveItinerary: true })
    expect(result.isError).toBeFalsy()
    expect(result.structuredContent?.booking?.detailsGiven.toSorted()).toEqual(
      Object.keys(details).toSorted(),
    )
    expect(result.structuredContent?.missingDetails).toBeUndefined()
    const [name = ''] = readdirSync(root)
    expect(result.structuredContent?.itinerary).toBe(pathToFileURL(join(root, name)).href)
    const page = readFileSync(join(root, name), 'utf8')
    for (const value of Object.values(details)) expect(page).toContain(value)
    const seen = [
      JSON.stringify(result),
      JSON.stringify(await readJson(client, 'travel://bookings')),
      JSON.stringify(await client.read('trips://history/barcelona-2027')),
    ].join()
    for (const value of Object.values(details)) expect(seen).not.toContain(value)
  })

  test('that were left out are listed, and the trip is booked', async () => {
    const client = await clientOf(era, filling({ confirmBooking: true, travelerNames: ' Ada \u0007' }))
    const { structuredContent } = await client.call('bookVacation', wish)
    expect(structuredContent).toMatchObject({
      status: 'booked',
      booking: { detailsGiven: ['travelerNames'] },
    })
    expect(structuredContent?.missingDetails).toEqual([
      'an e-mail address',
      'a phone number',
      'an emergency contact',
      'one name for each of 2 travellers: 1 given',
    ])
  })

  test('are not requested if the traveller does not want that', async () => {
    const asked: Question[] = []
    const client = await clientOf(era, filling({ confirmBooking: true }, asked))
    await client.call('bookVacation', { ...wish, travelerDetails: 'skip' })
    expect(asked).toHaveLength(1)
  })

  test.each([
    ['decline', 'declined'],
    ['cancel', 'cancelled'],
  ] as const)('with %s instead book nothing', async (action, status) => {
    const client = await clientOf(era, {
      onElicit: ({ message }) =>
        message.includes('confirm') ? { action: 'accept', content: { confirmBooking: true } } : { action },
    })
    const result = await client.call('bookVacation', wish)
    expect(result.structuredContent).toEqual({ status })
    expect(textOf(result)).toContain('Nothing was booked')
    expect(await readJson(client, 'travel://bookings')).toEqual({ bookings: [] })
  })

  test('a client without roots gets its booking, and a note that no itinerary was saved', async () => {
    const client = await clientOf(era, filling({ confirmBooking: true }))
    const { structuredContent } = await client.call('bookVacation', { ...wish, saveItinerary: true })
    expect(structuredContent).toMatchObject({
      status: 'booked',
      notes: [expect.stringContaining('The itinerary was not saved: only folders')],
    })
    expect(structuredContent?.itinerary).toBeUndefined()
  })

  test('an existing itinerary is not changed, and the trip is booked once', async () => {
    const root = folder()
    writeFileSync(join(root, 'barcelona-2027.md'), 'mine')
    const client = await clientOf(era, { ...filling({ confirmBooking: true }), ...rootsAt(root) })
    const { structuredContent } = await client.call('bookVacation', { ...wish, saveItinerary: true })
    expect(structuredContent?.notes).toEqual([expect.stringContaining('exists already')])
    expect(readFileSync(join(root, 'barcelona-2027.md'), 'utf8')).toBe('mine')
    expect(Object(await readJson(client, 'travel://bookings')).bookings).toHaveLength(1)
  })
})

const calendar = `BEGIN:VCALENDAR
BEGIN:VEVENT
SUMMARY:Team offsite\\, Lisbon
DTSTART;VALUE=DATE:20270614
DTEND;VALUE=DATE:20270617
LOCATION:Lisbon
END:VEVENT
BEGIN:VEVENT
SUMMARY:Standup with a very
  long title
DTSTART;TZID=Europe/Madrid:20270618T093000
DTEND;TZID=Europe/Madrid:20270618T094500
RRULE:FREQ=DAILY
END:VEVENT
BEGIN:VEVENT
SUMMARY:Broken
DTSTART:soon
END:VEVENT
BEGIN:VEVENT
SUMMARY:Next decade
DTSTART:20370618T093000Z
END:VEVENT
END:VCALENDAR
`

/** The three folders of the documentation: work, templates, and documents of clients. */
function workspace(): { roots: string[]; planning: string } {
  const base = folder()
  const [planning, templates, documents] = ['travel-planning', 'travel-templates', 'client-documents'].map(
    (name) => join(base, name),
  )
  if (planning === undefined || templates === undefined || documents === undefined)
    throw new Error('no folders')
  for (const path of [planning, templates, documents]) mkdirSync(path)
  mkdirSync(join(planning, '.hidden'))
  writeFileSync(join(planning, 'calendar.ics'), calendar)
  writeFileSync(join(planning, '.hidden', 'passport.pdf'), 'hidden')
  writeFileSync(join(planning, 'notes.md'), 'no template')
  writeFileSync(
    join(templates, 'city.md'),
    '# {{destination}} for {{ travelers }}\n\n{{flights}}\n\n{{documents}}\n',
  )
  writeFileSync(join(templates, 'wrong.md'), '{{passport_number}} {{flights}}')
  writeFileSync(join(documents, 'Passport Ada.pdf'), 'P<SECRET-NUMBER-X123')
  writeFileSync(join(documents, 'scan.png'), 'SECRET-SCAN')
  return { roots: [planning, templates, documents], planning }
}

describe.each(eras)('files in the folders of the client on %s', (era) => {
  test('are calendars, templates and documents, whose contents are never read', async () => {
    const { roots } = workspace()
    const client = await clientOf(era, rootsAt(...roots))
    const result = await client.call('findTravelFiles', { from: '2027-06-01', to: '2027-06-30' })
    expect(result.isError).toBeFalsy()
    expect(result.structuredContent).toMatchObject({
      roots: roots.map((path) => ({ uri: pathToFileURL(path).href, name: 'trips' })),
      events: [
        { title: 'Team offsite, Lisbon', start: '2027-06-14', end: '2027-06-16', location: 'Lisbon' },
        {
          title: 'Standup with a very long title',
          start: '2027-06-18T09:30',
          end: '2027-06-18T09:45',
          timeZone: 'Europe/Madrid',
          repeats: true,
        },
      ],
      templates: [{ path: 'city.md' }, { path: 'wrong.md' }],
      documents: [
        { kind: 'passport', path: 'Passport Ada.pdf', bytes: 20 },
        { kind: 'other', path: 'scan.png' },
      ],
      notes: ['1 event of calendar.ics cannot be used'],
    })
    expect(JSON.stringify(result)).not.toContain('SECRET')
    expect(JSON.stringify(result)).not.toContain('hidden')
  })

  test('fill a template with a booking, and link its documents', async () => {
    const { roots, planning } = workspace()
    const client = await clientOf(era, {
      ...filling({ confirmBooking: true, ...details }),
      ...rootsAt(...roots),
    })
    const { structuredContent } = await client.call('bookVacation', wish)
    const booking = structuredContent?.booking?.id ?? ''
    const saved = await client.call('saveItinerary', {
      booking,
      template: 'city.md',
      filename: 'filled.md',
    })
    expect(saved.isError, textOf(saved)).toBeFalsy()
    const page = readFileSync(join(planning, 'filled.md'), 'utf8')
    expect(page).toMatch(/^# Barcelona for Ada Lovelace, Alan Turing\n\n- Out: /)
    expect(page).toContain(
      `- passport: [Passport Ada.pdf](<${pathToFileURL(join(roots[2] ?? '', 'Passport Ada.pdf')).href}>)`,
    )
    expect(page).not.toContain('SECRET')
    expect(JSON.stringify(saved)).not.toContain('Ada')

    const wrong = await client.call('saveItinerary', { booking, template: 'wrong.md', filename: 'x.md' })
    expect(textOf(wrong)).toContain('placeholders that do not exist: passport_number. Use title, destination')
    const none = await client.call('saveItinerary', { booking, template: 'none.md', filename: 'x.md' })
    expect(textOf(none)).toContain('Templates are city.md and wrong.md')
    expect(readdirSync(planning)).not.toContain('x.md')
  })

  test('without roots cannot be found, and the error explains it', async () => {
    const client = await clientOf(era)
    const result = await client.call('findTravelFiles', {})
    expect(result.isError).toBe(true)
    expect(textOf(result)).toContain('this client has no roots')
  })

  test('behind a link are ignored', async () => {
    const outside = folder()
    writeFileSync(join(outside, 'visa.pdf'), 'SECRET')
    const root = folder()
    symlinkSync(outside, join(root, 'linked'))
    symlinkSync(join(outside, 'visa.pdf'), join(root, 'visa.pdf'))
    const client = await clientOf(era, rootsAt(root))
    const { structuredContent } = await client.call('findTravelFiles', {})
    expect(structuredContent?.documents).toEqual([])
  })
})
