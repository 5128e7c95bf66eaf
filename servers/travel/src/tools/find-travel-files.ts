import { reply, ToolError, tool } from '@jackfield/sdk'
import { z } from 'zod'
import { addDays } from '../domain/dates.ts'
import { count } from '../domain/words.ts'
import { findFiles, readText, type TravelFile } from '../files/documents.ts'
import { FolderError } from '../files/folder.ts'
import { type FileEvent, readCalendar } from '../files/icalendar.ts'
import { openRoots } from '../files/roots.ts'
import { dateArgument } from '../schemas.ts'
import type { TravelServices } from '../services.ts'

const maxCalendarBytes = 1_000_000
const maxListed = 200

const fileShape = z.object({
  root: z.string().describe('Name of the root'),
  path: z.string().describe('Path within the root'),
  uri: z.string(),
  modified: z.string(),
})

export const findTravelFiles = (services: TravelServices) =>
  tool({
    title: 'Find travel files',
    description:
      'Look into the folders (roots) that the client opened: events of calendar files (.ics), templates for saveItinerary, and travel documents such as passports. Documents are listed by name and kind; their contents are never read.',
    input: z.object({
      from: dateArgument.optional().describe('First day of the events. Default: today'),
      to: dateArgument.optional().describe('Last day of the events. Default: a year after the first'),
    }),
    output: z.object({
      roots: z.array(z.object({ uri: z.string(), name: z.string() })),
      events: z.array(
        z.object({
          title: z.string(),
          start: z.string(),
          end: z.string(),
          timeZone: z.string().optional(),
          location: z.string().optional(),
          repeats: z.literal(true).optional(),
          calendar: z.string().describe('Path of its file'),
        }),
      ),
      templates: z.array(fileShape),
      documents: z.array(fileShape.extend({ kind: z.string(), bytes: z.number().int() })),
      notes: z.array(z.string()).describe('What is left out, and why'),
    }),
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    async run({ from = services.now().toISOString().slice(0, 10), to = addDays(from, 365) }, ctx) {
      if (to < from) throw new ToolError(`The last day (${to}) is before the first (${from}).`)
      const roots = await openRoots(ctx, 'Nothing was looked at')
      const { files, notes } = await findFiles(roots, ctx.signal)
      const calendars = files.filter(({ kind }) => kind === 'calendar')
      const read = await Promise.all(calendars.map((file) => eventsOf(file, notes)))
      const inTime = read
        .flat()
        .filter(({ start, end }) => start.slice(0, 10) <= to && end.slice(0, 10) >= from)
        .toSorted((a, b) => (a.start < b.start ? -1 : 1))
      if (inTime.length > maxListed) {
        notes.push(`Only the first ${maxListed} of ${inTime.length} events are listed: ask for fewer days`)
      }
      const events = inTime.slice(0, maxListed)
      const templates = files.filter(({ kind }) => kind === 'template').map(shown)
      const documents = files
        .filter(({ kind }) => kind === 'document')
        .map((file) => ({ ...shown(file), kind: file.document ?? 'other', bytes: file.bytes }))
      return reply({
        content: [
          `In ${count(roots.length, 'folder')} (${roots.map(({ name }) => name).join(', ')}): ${count(events.length, 'event')} from ${from} to ${to}, ${count(templates.length, 'template')}, ${count(documents.length, 'document')}.`,
          ...events.map(
            ({ title, start, end, location, repeats }) =>
              `- ${start === end ? start : `${start} to ${end}`}: ${title}${location === undefined ? '' : `, ${location}`}${repeats ? ' (repeats; the first time)' : ''}`,
          ),
          ...templates.map(({ root, path }) => `- template: ${path} in ${root}`),
          ...documents.map(
            ({ kind, root, path, modified }) => `- ${kind}: ${path} in ${root}, changed ${modified}`,
          ),
          ...notes,
        ].join('\n'),
        structured: {
          roots: roots.map(({ uri, name }) => ({ uri, name })),
          events,
          templates,
          documents,
          notes,
        },
      })
    },
  })

async function eventsOf(file: TravelFile, notes: string[]): Promise<(FileEvent & { calendar: string })[]> {
  try {
    const { events, skipped } = readCalendar(await readText(file, maxCalendarBytes))
    if (skipped > 0) notes.push(`${count(skipped, 'event')} of ${file.path} cannot be used`)
    return events.map((event) => ({ ...event, calendar: file.path }))
  } catch (error) {
    if (!(error instanceof FolderError)) throw error
    notes.push(`The calendar ${file.path} was not read: ${error.message}`)
    return []
  }
}

function shown({ root, path, uri, modified }: TravelFile): z.infer<typeof fileShape> {
  return { root: root.name, path, uri, modified }
}
