import { defineServer, reply, tool } from '@jackfield/sdk'
import { app, shownIn, ui } from '@jackfield/sdk/extensions/ui'
import { serveStdio } from '@jackfield/sdk/stdio'
import { z } from 'zod'

const board = app({
  uri: 'ui://weather/board',
  title: 'Weather',
  html: '<!doctype html><title>Weather</title><p id="days">Waiting for the forecast</p>',
  csp: { connectDomains: ['https://api.example.com'] },
  prefersBorder: true,
})
const week = z.object({ days: z.array(z.string()) })

/** The text is for models and for hosts without apps; the board shows the structured content. */
const forecast = tool({
  description: 'The weather of the coming days',
  meta: shownIn(board),
  output: week,
  run: () => reply({ content: 'Sun, then rain.', structured: { days: ['sun', 'rain'] } }),
})
/** The board's own button: no model sees this tool, and no host without apps. */
const refresh = tool({
  meta: shownIn(board, { visibility: ['app'] }),
  output: week,
  run: () => ({ days: ['rain', 'sun'] }),
})

serveStdio(
  defineServer({
    name: 'weather',
    version: '1.0.0',
    extensions: [ui({ board })],
    tools: { forecast, refresh },
  }),
)
