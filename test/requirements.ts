import type { Requirement } from './requirements/requirement.ts'
import * as rows from './requirements/rows/index.ts'

/** Every requirement that has a row. */
export const requirements: readonly Requirement[] = Object.values(rows).flat()

/** How many numbered sentences each document of the specification has. */
export const counts: Readonly<Record<string, number>> = {
  '2411': 111,
  '2503': 181,
  '2506': 220,
  '2511': 398,
  '2607': 472,
  'sep-2243-http': 66,
  'sep-2663-tasks': 49,
  'sbp-2026-07-28': 32,
  'sbp-2025-11-25': 31,
}

/** Sentences that are written about together: their numbers by document, and whether every one has its row. */
export interface Group {
  /** Whether all rows are there; only then is one that is not a fault. */
  complete: boolean
  /** Ranges of numbers by document: `'1-25,107'`. */
  numbers: Readonly<Record<string, string>>
}

export const groups: Readonly<Record<string, Group>> = {
  base: {
    complete: true,
    numbers: {
      '2411': '1-25,36-57,107-111',
      '2503': '1-2,34-62,101-123,177-181',
      '2506': '1-2,51-82,125-147,216-220',
      '2511': '1-2,88-130,180-181,183-200,204-206,394-398',
      '2607': '1-64,173-188,209-216,372-375,466-472',
    },
  },
  'server features': {
    complete: true,
    numbers: {
      '2411': '75-106',
      '2503': '141-176',
      '2506': '175-215',
      '2511': '346-393',
      '2607': '189-208,217-223,376-465',
    },
  },
  'client features': {
    complete: true,
    numbers: { '2411': '58-74', '2503': '124-140', '2506': '148-174', '2511': '266-345', '2607': '299-371' },
  },
  transports: {
    complete: true,
    numbers: {
      '2411': '26-35',
      '2503': '63-100',
      '2506': '83-124',
      '2511': '131-179',
      '2607': '224-298',
      'sep-2243-http': '1-66',
    },
  },
  authorization: {
    complete: true,
    numbers: { '2503': '3-33', '2506': '3-50', '2511': '3-87', '2607': '65-172' },
  },
  tasks: { complete: true, numbers: { '2511': '182,201-203,207-265', 'sep-2663-tasks': '1-49' } },
  security: { complete: true, numbers: { 'sbp-2026-07-28': '1-32', 'sbp-2025-11-25': '1-31' } },
}

/** The ids of a group's sentences: `2411-003`. */
export function idsOf({ numbers }: Group): string[] {
  return Object.entries(numbers).flatMap(([document, ranges]) =>
    ranges.split(',').flatMap((range) => {
      const [first = '', last = first] = range.split('-')
      const length = Number(last) - Number(first) + 1
      return Array.from({ length }, (_, at) => idOf(document, Number(first) + at))
    }),
  )
}

/** The id of one sentence. */
export function idOf(document: string, number: number): string {
  return `${document}-${String(number).padStart(3, '0')}`
}
