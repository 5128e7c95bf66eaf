import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Context, reply, ToolError, tool } from '@jackfield/sdk'
import { z } from 'zod'
import { itineraryOf } from '../domain/itinerary.ts'
import { slug } from '../domain/words.ts'
import { type OpenRoot, usableRoots } from '../files/roots.ts'
import { WriteError, writeBelow } from '../files/write.ts'
import type { World } from '../world.ts'
import { list } from './arguments.ts'

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

type Wish = z.infer<typeof input>

export const saveItinerary = (world: World) =>
  tool({
    title: 'Save an itinerary',
    description:
      'Write the itinerary of a booking, or any travel plan, as a markdown file into one of the folders (roots) that the client opened to this server.',
    input,
    output: z.object({
      uri: z.string(),
      root: z.string(),
      filename: z.string(),
      bytes: z.number().int(),
      replaced: z.boolean(),
    }),
    annotations: {
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: true,
      openWorldHint: false,
    },
    async run(wish, ctx) {
      const { title, text } = pageOf(world, wish)
      const filename = markdownName(wish.filename ?? `${slug(title)}.md`)
      const root = await rootFor(ctx, wish.root)
      const written = await writeBelow(root.path, filename, text, { overwrite: wish.overwrite }).catch(
        (error: unknown) => {
          if (error instanceof WriteError) throw new ToolError(`${error.message}.`, { cause: error })
          throw error
        },
      )
      const uri = pathToFileURL(join(root.path, filename)).href
      return reply({
        content: [
          {
            type: 'text',
            text: `${written.replaced ? 'Replaced' : 'Saved'} ${filename} (${written.bytes} bytes) in the root "${root.name}".`,
          },
          { type: 'resource_link', uri, name: filename, title, mimeType: 'text/markdown' },
        ],
        structured: { uri, root: root.uri, filename, ...written },
      })
    },
  })

function pageOf(world: World, { booking: id, title, content }: Wish): { title: string; text: string } {
  if (id !== undefined) {
    const booking = world.bookings.find(id)
    if (booking === undefined) throw new ToolError(unknownBooking(world, id))
    const page = itineraryOf(booking, world.calendar.between(booking.departure, booking.returnDate))
    return {
      title: title ?? booking.trip,
      text: content === undefined ? page : `${page}\n## Notes\n\n${content.trim()}\n`,
    }
  }
  if (title === undefined) {
    throw new ToolError('Nothing was written. Give the reference of a booking, or a title with content.')
  }
  if (content !== undefined) return { title, text: `# ${title}\n\n${content.trim()}\n` }
  const trip = world.trips
    .all()
    .find((known) => known.name === slug(title) || known.title.toLowerCase() === title.toLowerCase())
  if (trip === undefined) {
    throw new ToolError(`Nothing was written: no trip is known as "${title}". Give the content to write.`)
  }
  return { title: trip.name, text: `# ${trip.title}\n\n${trip.notes.trim()}\n` }
}

function unknownBooking(world: World, id: string): string {
  const known = world.bookings
    .all()
    .map((booking) => `${booking.id} (${booking.destination.city}, ${booking.departure})`)
  return `Nothing was written: there is no booking "${id}". ${
    known.length === 0 ? 'Nothing is booked yet.' : `Booked are ${list(known.slice(0, 10), 'and')}.`
  }`
}

function markdownName(filename: string): string {
  const last = filename.split('/').at(-1) ?? ''
  if (/\.(md|markdown)$/i.test(last)) return filename
  if (last !== '' && !last.includes('.')) return `${filename}.md`
  throw new ToolError(`Nothing was written: "${filename}" must end in .md, because itineraries are markdown.`)
}

async function rootFor(ctx: Context, wanted: string | undefined): Promise<OpenRoot> {
  if (!ctx.can('roots')) {
    throw new ToolError(
      'Nothing was written. An itinerary is only written into a folder that the client opened to this server (a root), and this client has no roots. Use a client with roots, or show the itinerary instead.',
    )
  }
  const roots = usableRoots(await ctx.roots())
  const [first] = roots
  if (first === undefined) {
    throw new ToolError(
      'Nothing was written: the client opened no folder (root) to this server. Open one in the client, then try again.',
    )
  }
  if (wanted === undefined) return first
  const root = roots.find(({ uri, name }) => uri === wanted || name === wanted)
  if (root === undefined) {
    throw new ToolError(
      `Nothing was written: no root is called "${wanted}". Open are ${list(
        roots.map(({ name }) => name),
        'and',
      )}.`,
    )
  }
  return root
}
