import { expect } from 'vitest'
import { campaign } from '../campaign.ts'
import { figure, measuredBy } from './child.ts'

/** The limit the program reads under. */
const limit = 256 * 1024

campaign(
  {
    id: 'small-pieces',
    chapter: 'Bytes and limits',
    claim: 'A message costs time and memory in proportion to its length, however small its chunks',
    trial: 'long message in small pieces',
    trials: { change: 7, long: 25 },
  },
  async (course) => {
    const found = await measuredBy('framing-program.ts', {
      what: 'pieces',
      size: course.trials,
      seed: course.seed,
    })
    course.made(course.trials * 12 + 10)
    for (const framing of ['line', 'event']) {
      const nine = figure(found, `${framing} 9 MB`)
      course.measured(`9 MB as one ${framing}, in pieces of 1 KB`, Math.round(nine), 'ms of CPU')
      expect(nine).toBeLessThan(600)
      for (const piece of [1, 64]) {
        const ratio = figure(found, `${framing} ratio ${piece}`)
        course.measured(
          `twice the ${framing}, in pieces of ${piece} B`,
          Math.round(ratio * 100) / 100,
          'times the CPU',
        )
        expect(ratio).toBeLessThan(2.5)
      }
    }
    for (const what of ['line', 'event', 'event of short lines', 'event of empty lines']) {
      const held = figure(found, `${what} held`)
      course.measured(
        `kept of an unfinished ${what}`,
        Math.round((held / limit) * 10) / 10,
        'times the limit',
      )
      expect(held).toBeLessThan(8 * limit)
    }
  },
)

campaign(
  {
    id: 'every-cut',
    chapter: 'Bytes and limits',
    claim: 'Messages are parsed the same wherever their bytes are split, also within characters',
    trial: 'cut',
    trials: { test: 100, change: 300, long: 20_000 },
  },
  async (course) => {
    const found = await measuredBy(
      'framing-program.ts',
      { what: 'cuts', size: course.trials, seed: course.seed },
      course.long ? 600_000 : 100_000,
    )
    course.made(figure(found, 'cuts'))
  },
)
