import { expect } from 'vitest'
import { campaign } from '../campaign.ts'
import { figure, measuredBy } from './child.ts'

const limit = 4 * 1024 * 1024

campaign(
  {
    id: 'small-pieces',
    chapter: 'Bytes and limits',
    claim: 'A message costs time and memory in proportion to its length, however small the pieces it comes in',
    trial: 'long message in small pieces',
    trials: { change: 3, long: 15 },
  },
  async (course) => {
    const found = await measuredBy('framing-program.ts', {
      what: 'pieces',
      size: course.trials,
      seed: course.seed,
    })
    course.made(course.trials * 8 + 10)
    for (const framing of ['line', 'event']) {
      const nine = figure(found, `${framing} 9 MB`)
      course.measured(`9 MB as one ${framing}, in pieces of 1 KB`, Math.round(nine), 'ms of CPU')
      expect(nine).toBeLessThan(600)
      for (const piece of [1, 64]) {
        const ratio = figure(found, `${framing} ratio ${piece}`)
        course.measured(
          `twice the ${framing}, in pieces of ${piece} B`,
          Math.round(ratio * 10) / 10,
          'times the CPU',
        )
        expect(ratio).toBeLessThan(6)
      }
    }
    for (const what of ['line', 'event', 'event lines', 'event empty lines']) {
      const grown = figure(found, `${what} grown`)
      course.measured(`memory for an unfinished ${what} of 4 MiB, byte by byte`, Math.round(grown / 1e6), 'MB')
      expect(grown).toBeLessThan(16 * limit)
    }
  },
)

campaign(
  {
    id: 'every-cut',
    chapter: 'Bytes and limits',
    claim: 'Messages are read the same wherever their bytes are cut, inside characters too',
    trial: 'cut',
    trials: { change: 300, long: 20_000 },
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
