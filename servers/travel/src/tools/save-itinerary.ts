import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { reply, ToolError, tool } from '@jackfield/sdk'
import { z } from 'zod'
import {
  fillTemplate,
  forecastDays,
  type ItineraryContext,
  itineraryOf,
  itineraryPartNames,
  itineraryParts,
} from '../domain/itinerary.ts'
import { findPlace } from '../domain/places.ts'
import { list, slug } from '../domain/words.ts'
import { findFiles, readText } from '../files/documents.ts'
import { FolderError } from '../files/folder.ts'
import { type OpenRoot, openRoots } from '../files/roots.ts'
import { namesOf, WriteError, writeBelow } from '../files/write.ts'
import type { Booking } from '../schemas.ts'
import type { TravelServices } from '../services.ts'

const outcome = 'Nothing was written'
const maxTemplateBytes = 200_000

const input = z.object({
  booking: z.string().max(40).optional().describe('Reference of a booking to write the itinerary of'),
  title: z
    .string()
    .trim()
    .min(1)
    .max(200)
    .optional()
    .describe('Title of the itinerary; needed where no booking is given. The name of a trip finds its notes'),
  content: z.string().max(200_000).optional().describe('Markdown to write, or to add to a booking'),
  template: z
    .string()
    .min(1)
    .max(400)
    .optional()
    .describe(
      `For a booking: path of a Markdown file in a root, from findTravelFiles, whose placeholders are filled in: ${itineraryPartNames.map((name) => `{{${name}}}`).join(' ')}`,
    ),
  filename: z
    .string()
    .min(1)
    .max(400)
    .optional()
    .describe(
      'Path of the file inside the root, ending in .md. Its folders must exist. Default: made from the title',
    ),
  root: z.string().max(4000).optional().describe('Name or URI of the root to write in. Default: the first'),
  overwrite: z.boolean().default(false).describe('Replace a file of that name'),
})

type SaveRequest = z.infer<typeof input>

export const saveItinerary = (services: TravelServices) =>
  tool({
    title: 'Save an itinerary',
    description:
      'Write the itinerary of a booking, or any travel plan, as a markdown file into one of the folders (roots) that the client opened to this server. The itinerary of a booking has its traveller details and names the travel documents in these folders.',
    input,
    output: z.object({
      uri: z.string(),
      root: z.string(),
      filename: z.string(),
      bytes: z.number().int(),
      replaced: z.boolean(),
      notes: z.array(z.string()).optional(),
    }),
    annotations: {
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: true,
      openWorldHint: false,
    },
    async run(request, ctx) {
      const booking = bookingOf(services, request)
      const plan = booking === undefined ? planOf(services, request) : undefined
      const title = plan?.title ?? request.title ?? booking?.trip ?? 'trip'
      const filename = markdownName(request.filename ?? `${slug(title)}.md`)
      const roots = await openRoots(ctx, outcome)
      const root = findRoot(roots, request.root)
      const notes: string[] = []
      const text =
        plan?.text ??
        (booking === undefined
          ? ''
          : await itineraryText(services, booking, {
              roots,
              root,
              filename,
              notes,
              request,
              signal: ctx.signal,
            }))
      const written = await write(root, filename, text, request.overwrite)
      return reply({
        content: [
          {
            type: 'text',
            text: [
              `${written.replaced ? 'Replaced' : 'Saved'} ${filename} (${written.bytes} bytes) in the root "${root.name}".`,
              ...notes,
            ].join('\n'),
          },
          { type: 'resource_link', uri: written.uri, name: filename, title, mimeType: 'text/markdown' },
        ],
        structured: { root: root.uri, filename, ...written, ...(notes.length === 0 ? {} : { notes }) },
      })
    },
  })

/**
 * Writes the itinerary of a new booking into the first of the roots, under the name of its trip.
 * @throws ToolError with the reason
 */
export async function saveNewItinerary(
  services: TravelServices,
  booking: Booking,
  roots: readonly [OpenRoot, ...OpenRoot[]],
  signal: AbortSignal,
): Promise<{ uri: string; filename: string; notes: string[] }> {
  const [root] = roots
  const filename = `${booking.trip}.md`
  const notes: string[] = []
  const text = await itineraryText(services, booking, { roots, root, filename, notes, request: {}, signal })
  const { uri } = await write(root, filename, text, false)
  return { uri, filename, notes }
}

async function write(root: OpenRoot, filename: string, text: string, overwrite: boolean) {
  const written = await writeBelow(root.path, filename, text, { overwrite }).catch((error: unknown) => {
    if (error instanceof WriteError) throw new ToolError(`${error.message}.`, { cause: error })
    throw error
  })
  return { uri: pathToFileURL(join(root.path, filename)).href, ...written }
}

/** The file that an itinerary is written for. */
interface ItineraryTarget {
  roots: readonly OpenRoot[]
  /** The root of the file, for links to documents. */
  root: OpenRoot
  filename: string
  /** Receives notes about missing parts, with reasons. */
  notes: string[]
  request: Pick<SaveRequest, 'content' | 'template'>
  signal: AbortSignal
}

async function itineraryText(
  services: TravelServices,
  booking: Booking,
  target: ItineraryTarget,
): Promise<string> {
  const { notes, request, signal } = target
  // First, so that an invalid path is rejected before any lookup.
  checkPath(target.filename)
  const found = await findFiles(target.roots, signal)
  const context: ItineraryContext = {
    details: services.bookings.detailsOf(booking.id),
    weather: await forecast(services, booking, notes, signal),
    events: services.calendar.between(booking.departure, booking.returnDate),
    documents: found.files.flatMap(({ kind, document = 'other', root, path, uri }) =>
      kind === 'document' ? [{ kind: document, name: path, link: linkTo(target, root, path, uri) }] : [],
    ),
    notes: request.content,
  }
  if (request.template === undefined) return itineraryOf(booking, context)
  const templates = found.files.filter(({ kind }) => kind === 'template')
  const template = templates.find(({ path, uri }) => path === request.template || uri === request.template)
  if (template === undefined) {
    throw new ToolError(
      `${outcome}: the open folders have no template "${request.template}". ${
        templates.length === 0
          ? 'A template is a Markdown file whose path has "template" in it; there is none.'
          : `Templates are ${list(
              templates.map(({ path }) => path),
              'and',
            )}.`
      }`,
    )
  }
  const text = await readText(template, maxTemplateBytes).catch((error: unknown) => {
    if (!(error instanceof FolderError)) throw error
    throw new ToolError(`${outcome}: the template ${template.path} was not read: ${error.message}.`, {
      cause: error,
    })
  })
  const filled = fillTemplate(text, itineraryParts(booking, context))
  if ('text' in filled) return filled.text
  throw new ToolError(
    `${outcome}: the template ${template.path} has placeholders that do not exist: ${list(filled.unknown, 'and')}. Use ${list([...itineraryPartNames], 'and')}.`,
  )
}

/** A link that works in the saved file: relative within its root, else the URI. */
function linkTo({ root, filename }: ItineraryTarget, of: OpenRoot, path: string, uri: string): string {
  if (of.uri !== root.uri) return uri
  return relative(dirname(filename), path).replaceAll('\\', '/').split('/').map(encodeURIComponent).join('/')
}

async function forecast(
  services: TravelServices,
  booking: Booking,
  notes: string[],
  signal: AbortSignal,
): Promise<{ date: string; summary: string }[]> {
  const place = findPlace(booking.destination.code)
  if (place === undefined) return []
  try {
    return await Promise.all(
      forecastDays(booking).map(async (date) => {
        const { summary } = await services.provider.weather(place.city, date, signal)
        return { date, summary }
      }),
    )
  } catch (error) {
    if (!(error instanceof ToolError)) throw error
    notes.push(`The itinerary has no weather: ${error.message}`)
    return []
  }
}

function bookingOf(
  services: TravelServices,
  { booking: id, template, title }: SaveRequest,
): Booking | undefined {
  if (id !== undefined) {
    const booking = services.bookings.find(id)
    if (booking === undefined) throw new ToolError(unknownBooking(services, id))
    return booking
  }
  if (template !== undefined) {
    throw new ToolError(`${outcome}. A template needs the reference of a booking to fill it with.`)
  }
  if (title === undefined) {
    throw new ToolError(`${outcome}. Give the reference of a booking, or a title with content.`)
  }
  return undefined
}

/** A plan without a booking: the content, or the notes of the trip with this title. */
function planOf(
  services: TravelServices,
  { title = '', content }: SaveRequest,
): { title: string; text: string } {
  if (content !== undefined) return { title, text: `# ${title}\n\n${content.trim()}\n` }
  const trip = services.trips
    .all()
    .find((known) => known.name === slug(title) || known.title.toLowerCase() === title.toLowerCase())
  if (trip === undefined) {
    throw new ToolError(`${outcome}: no trip is known as "${title}". Give the content to write.`)
  }
  return { title: trip.name, text: `# ${trip.title}\n\n${trip.notes.trim()}\n` }
}

function unknownBooking(services: TravelServices, id: string): string {
  const known = services.bookings
    .all()
    .map((booking) => `${booking.id} (${booking.destination.city}, ${booking.departure})`)
  return `${outcome}: there is no booking "${id}". ${
    known.length === 0 ? 'Nothing is booked yet.' : `Booked are ${list(known.slice(0, 10), 'and')}.`
  }`
}

function markdownName(filename: string): string {
  const last = filename.split('/').at(-1) ?? ''
  if (/\.(md|markdown)$/i.test(last)) return filename
  if (last !== '' && !last.includes('.')) return `${filename}.md`
  throw new ToolError(`${outcome}: "${filename}" must end in .md, because itineraries are markdown.`)
}

function checkPath(filename: string): void {
  try {
    namesOf(filename)
  } catch (error) {
    if (error instanceof WriteError) throw new ToolError(`${error.message}.`, { cause: error })
    throw error
  }
}

function findRoot(roots: readonly [OpenRoot, ...OpenRoot[]], wanted: string | undefined): OpenRoot {
  if (wanted === undefined) return roots[0]
  const root = roots.find(({ uri, name }) => uri === wanted || name === wanted)
  if (root !== undefined) return root
  throw new ToolError(
    `${outcome}: no root is called "${wanted}". Open are ${list(
      roots.map(({ name }) => name),
      'and',
    )}.`,
  )
}
