import { execFileSync } from 'node:child_process'
import {
  existsSync,
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
import { clientOf, eras, filling, textOf } from '../fixture.ts'

/** A root with a folder, beside a folder that is none of the client's. */
function folders(): { root: string; outside: string } {
  const base = mkdtempSync(join(tmpdir(), 'travel-'))
  onTestFinished(() => rmSync(base, { recursive: true }))
  const root = join(base, 'trips')
  const outside = join(base, 'trips-private')
  mkdirSync(join(root, 'summer'), { recursive: true })
  mkdirSync(outside)
  writeFileSync(join(outside, 'diary.md'), 'secret')
  return { root, outside }
}

function rootsAt(...paths: string[]): ConnectOptions {
  return { onRoots: paths.map((path, i) => ({ uri: pathToFileURL(path).href, name: `root ${i + 1}` })) }
}

const plan = { title: 'Barcelona, June', content: '- Sagrada Família at nine' }

describe.each(eras)('saveItinerary on %s', (era) => {
  test('writes a plan as markdown into the first root', async () => {
    const { root } = folders()
    const client = await clientOf(era, rootsAt(root))
    const result = await client.call('saveItinerary', plan)
    expect(result.isError).toBeFalsy()
    expect(result.structuredContent).toMatchObject({ filename: 'barcelona-june.md', replaced: false })
    expect(readFileSync(join(root, 'barcelona-june.md'), 'utf8')).toBe(
      '# Barcelona, June\n\n- Sagrada Família at nine\n',
    )
    expect(result.structuredContent?.uri).toBe(pathToFileURL(join(root, 'barcelona-june.md')).href)
    expect(readdirSync(root).toSorted()).toEqual(['barcelona-june.md', 'summer'])
  })

  test('writes the itinerary of a booking with flights, hotel, weather and calendar', async () => {
    const { root } = folders()
    const client = await clientOf(era, {
      ...rootsAt(root),
      ...filling({ confirmBooking: true }),
    })
    const booked = await client.call('bookVacation', {
      destination: 'Barcelona',
      departure: '2027-06-22',
      returnDate: '2027-06-29',
    })
    const booking = booked.structuredContent?.booking
    const result = await client.call('saveItinerary', {
      booking: booking?.id.toLowerCase() ?? '',
      filename: 'summer/barcelona',
    })
    expect(result.isError).toBeFalsy()
    const text = readFileSync(join(root, 'summer', 'barcelona.md'), 'utf8')
    expect(text).toContain(`Booking ${booking?.id}`)
    expect(text).toContain(booking?.outbound.legs[0]?.flight)
    expect(text).toContain(booking?.stay.hotel)
    expect(text).toContain('- 2027-06-24: ')
    expect(text).toContain("Maya's birthday dinner")
  })

  test('writes the notes of a past trip by its name', async () => {
    const { root } = folders()
    const client = await clientOf(era, rootsAt(root))
    const result = await client.call('saveItinerary', { title: 'barcelona-2023' })
    expect(result.isError).toBeFalsy()
    expect(readFileSync(join(root, 'barcelona-2023.md'), 'utf8')).toContain('Sagrada Família')
  })

  test('writes into the root that was named', async () => {
    const one = folders()
    const two = folders()
    const client = await clientOf(era, rootsAt(one.root, two.root))
    await client.call('saveItinerary', { ...plan, root: 'root 2' })
    expect(existsSync(join(two.root, 'barcelona-june.md'))).toBe(true)
    const wrong = await client.call('saveItinerary', { ...plan, root: 'root 3' })
    expect(wrong.isError).toBe(true)
    expect(textOf(wrong)).toContain('Open are root 1 and root 2')
  })

  test('replaces a file only on request', async () => {
    const { root } = folders()
    writeFileSync(join(root, 'barcelona-june.md'), 'mine')
    const client = await clientOf(era, rootsAt(root))
    const kept = await client.call('saveItinerary', plan)
    expect(kept.isError).toBe(true)
    expect(textOf(kept)).toContain('overwrite')
    expect(readFileSync(join(root, 'barcelona-june.md'), 'utf8')).toBe('mine')
    const replaced = await client.call('saveItinerary', { ...plan, overwrite: true })
    expect(replaced.structuredContent?.replaced).toBe(true)
    expect(readFileSync(join(root, 'barcelona-june.md'), 'utf8')).toContain('Sagrada')
  })

  test.each([
    ['../trips-private/plan.md', 'must not lead out'],
    ['summer/../../trips-private/plan.md', 'must not lead out'],
    ['..', 'must end in .md'],
    ['summer/..', 'must end in .md'],
    ['/etc/plan.md', 'must be relative'],
    ['~/plan.md', 'must be relative'],
    ['C:\\plan.md', 'must be relative'],
    ['\\\\host\\share\\plan.md', 'must be relative'],
    ['..\\plan.md', 'not a name'],
    ['summer//plan.md', 'empty name'],
    ['./plan.md', 'empty name'],
    ['plan.md\u0000.txt', 'must end in .md'],
    ['plan\u0000.md', 'not a name'],
    ['plan.md:stream.md', 'not a name'],
    ['nul.md', 'not a name'],
    ['summer./plan.md', 'not a name'],
    ['winter/plan.md', 'does not exist'],
    ['plan.exe', 'must end in .md'],
    ['.bashrc', 'must end in .md'],
    [`${'x'.repeat(300)}.md`, 'too long'],
    [`${'a/'.repeat(20)}plan.md`, 'folders deep'],
  ])('refuses to write %j', async (filename, message) => {
    const { root, outside } = folders()
    const client = await clientOf(era, rootsAt(root))
    const result = await client.call('saveItinerary', { ...plan, filename, overwrite: true })
    expect(result.isError).toBe(true)
    expect(textOf(result)).toContain(message)
    expect(readdirSync(root)).toEqual(['summer'])
    expect(readdirSync(join(root, 'summer'))).toEqual([])
    expect(readdirSync(outside)).toEqual(['diary.md'])
  })

  test('uses a name of encoded dots literally', async () => {
    const { root, outside } = folders()
    const client = await clientOf(era, rootsAt(root))
    const result = await client.call('saveItinerary', { ...plan, filename: '%2e%2e%2fplan.md' })
    expect(result.isError).toBeFalsy()
    expect(readdirSync(root)).toContain('%2e%2e%2fplan.md')
    expect(readdirSync(outside)).toEqual(['diary.md'])
  })

  test.each([
    ['a folder that is a link', 'linked/plan.md'],
    ['a folder behind a link inside the root', 'summer/inner/plan.md'],
    ['a file that is a link', 'link.md'],
    ['a file that is a link to nothing', 'dangling.md'],
    ['a file that is a folder', 'folder.md'],
    ['a file that is a pipe', 'pipe.md'],
  ])('does not change %s', async (_what, filename) => {
    const { root, outside } = folders()
    symlinkSync(outside, join(root, 'linked'))
    symlinkSync(outside, join(root, 'summer', 'inner'))
    symlinkSync(join(outside, 'diary.md'), join(root, 'link.md'))
    symlinkSync(join(outside, 'new.md'), join(root, 'dangling.md'))
    mkdirSync(join(root, 'folder.md'))
    execFileSync('mkfifo', [join(root, 'pipe.md')])
    const client = await clientOf(era, rootsAt(root))
    const result = await client.call('saveItinerary', { ...plan, filename, overwrite: true })
    expect(result.isError).toBe(true)
    expect(textOf(result)).toMatch(/link|folder|device/)
    expect(readdirSync(outside)).toEqual(['diary.md'])
    expect(readFileSync(join(outside, 'diary.md'), 'utf8')).toBe('secret')
    expect(readdirSync(root).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })

  test('writes into a root that its owner named through a link', async () => {
    const { root, outside } = folders()
    symlinkSync(root, join(outside, 'shortcut'))
    const client = await clientOf(era, rootsAt(join(outside, 'shortcut')))
    const result = await client.call('saveItinerary', plan)
    expect(result.isError).toBeFalsy()
    expect(readdirSync(root)).toContain('barcelona-june.md')
  })

  test.each([
    ['no roots at all', {}, 'this client has no roots'],
    ['an empty list of roots', { onRoots: [] }, 'opened no folder'],
    ['a root on another host', { onRoots: [{ uri: 'file://server/share' }] }, 'opened no folder'],
    ['a root that is gone', rootsAt(join(tmpdir(), 'travel-never-there')), 'does not exist'],
  ])('writes nothing if the client has %s, and reports why', async (_what, options, message) => {
    const client = await clientOf(era, options)
    const result = await client.call('saveItinerary', plan)
    expect(result.isError).toBe(true)
    expect(textOf(result)).toContain(message)
  })

  test.each([
    ['neither booking nor title', {}, 'reference of a booking'],
    ['a booking that is none', { booking: 'JF-NOTHING' }, 'Nothing is booked yet'],
    ['a trip that is none', { title: 'Mars 2031' }, 'Give the content'],
  ])('reports what is missing from %s', async (_what, args, message) => {
    const { root } = folders()
    const client = await clientOf(era, rootsAt(root))
    const result = await client.call('saveItinerary', args)
    expect(result.isError).toBe(true)
    expect(textOf(result)).toContain(message)
    expect(readdirSync(root)).toEqual(['summer'])
  })
})
