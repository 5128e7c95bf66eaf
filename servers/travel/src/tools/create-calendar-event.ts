import { reply, ToolError, tool } from '@jackfield/sdk'
import { z } from 'zod'
import { list } from '../domain/words.ts'
import { momentArgument } from '../schemas.ts'
import type { TravelServices } from '../services.ts'
import { yearsOf } from '../store/index.ts'
import { uris } from '../uris.ts'

const eventShape = z.object({
  id: z.string(),
  title: z.string(),
  start: z.string(),
  end: z.string().describe('The last day, or the time it ends'),
  location: z.string().optional(),
  notes: z.string().optional(),
})

export const createCalendarEvent = (services: TravelServices) =>
  tool({
    title: 'Create a calendar event',
    description:
      "Enter an event in the traveller's calendar: whole days, or a time of day. Tells what else is in the calendar then.",
    input: z.object({
      title: z.string().trim().min(1).max(200),
      startDate: momentArgument.describe(
        'First day, or local time it starts: 2027-06-15 or 2027-06-15T18:30',
      ),
      endDate: momentArgument
        .optional()
        .describe(
          'Last day, or local time it ends, in the form of startDate. Left out, the event is on one day',
        ),
      location: z.string().max(200).optional(),
      notes: z.string().max(2000).optional(),
    }),
    output: z.object({ event: eventShape, overlaps: z.array(eventShape), uri: z.string() }),
    annotations: {
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: false,
    },
    run({ title, startDate: start, endDate, location, notes }) {
      const end = endDate ?? start
      if (start.length !== end.length) {
        throw new ToolError('Give startDate and endDate in the same form: both dates, or both with a time.')
      }
      if (end < start) throw new ToolError(`The event would end (${end}) before it starts (${start}).`)
      const years = yearsOf(start, end)
      if (years.length > 2) throw new ToolError('An event may last a year at most.')
      const known = services.calendar.years()
      const overlaps = services.calendar.between(start.slice(0, 10), end.slice(0, 10))
      const event = services.calendar.add({
        title,
        start,
        end,
        ...(location === undefined ? {} : { location }),
        ...(notes === undefined ? {} : { notes }),
      })
      services.notifyUpdated(...years.map(uris.calendar))
      if (years.some((year) => !known.includes(year))) services.notifyListChanged()
      const when = start === end ? `on ${start}` : `from ${start} to ${end}`
      const clash =
        overlaps.length === 0
          ? ''
          : ` The calendar also has ${list(
              overlaps.map((other) => `${other.title} (${other.start})`),
              'and',
            )} then.`
      return reply({
        content: `Entered "${title}" ${when} (${event.id}).${clash}`,
        structured: { event, overlaps, uri: uris.calendar(start.slice(0, 4)) },
      })
    },
  })
