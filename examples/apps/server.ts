import { readFileSync } from 'node:fs'
import { defineServer, reply, tool } from '@jackfield/sdk'
import { app, shownIn, ui } from '@jackfield/sdk/extensions/ui'
import { serveStdio } from '@jackfield/sdk/stdio'
import { z } from 'zod'

const board = app({
  uri: 'ui://weather/board',
  title: 'Weather',
  html: readFileSync(new URL('board.html', import.meta.url), 'utf8'),
  prefersBorder: true,
})
const place = z.object({ place: z.string().default('Bergen') })
const week = z.object({
  place: z.string(),
  days: z.array(z.object({ day: z.string(), sky: z.enum(['sun', 'cloud', 'rain']), high: z.number() })),
})
const names = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const skies = ['sun', 'rain', 'cloud'] as const

function weekIn(place: string, shift: number): z.infer<typeof week> {
  const days = names.map((day, n) => ({
    day,
    sky: skies[(n + shift) % skies.length] ?? 'sun',
    high: 14 + ((n * 3 + shift * 2) % 7),
  }))
  return { place, days }
}

/** The text is for models and for hosts without apps; the board shows the structured content. */
const forecast = tool({
  description: 'The weather of the coming days',
  annotations: { readOnlyHint: true },
  meta: shownIn(board),
  input: place,
  output: week,
  run: ({ place }) => reply({ content: 'Sun, then rain.', structured: weekIn(place, 0) }),
})
let refreshed = 0
/** The board's own button: models, and hosts without apps, do not get this tool. */
const refresh = tool({
  annotations: { readOnlyHint: true },
  meta: shownIn(board, { visibility: ['app'] }),
  input: place,
  output: week,
  run: ({ place }) => weekIn(place, ++refreshed),
})

serveStdio(
  defineServer({
    name: 'weather',
    version: '1.0.0',
    extensions: [ui({ board })],
    tools: { forecast, refresh },
  }),
)
