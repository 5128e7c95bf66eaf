/** Something that must never happen, tried many times. */
export interface Campaign {
  /** Names the figure; words in lower case joined by hyphens. */
  id: string
  /** Its chapter in docs/reliability.md. */
  chapter: Chapter
  /** The claim, as a sentence: "A promise settles when its server is killed". */
  claim: string
  /** What one trial is, as a noun: "kill at a random moment". */
  trial: string
  /** How many trials `npm run torture` makes, how many its long mode makes, and how many `npm test` makes. Default of `test`: `change`. */
  trials: { change: number; long: number; test?: number }
  /** Minutes after which a run in the tests counts as hung. Default 2. */
  changeMinutes?: number
  /** Minutes after which the long mode counts as hung. Default 20. */
  longMinutes?: number
}

/** Chapters of docs/reliability.md, in their order. */
export const chapters = [
  'Processes',
  'Bytes and limits',
  'Sessions and streams',
  'Order of events',
  'Parsers',
  'Authorization',
  'State',
  'Browsers',
  'Files',
  'Terminals',
  'Memory',
] as const

/** A chapter of docs/reliability.md. */
export type Chapter = (typeof chapters)[number]

/** What a run of a campaign found. */
export interface Figure extends Omit<Campaign, 'trials' | 'changeMinutes' | 'longMinutes'> {
  mode: 'change' | 'long'
  trials: number
  /** Of the first run; those of the others follow. */
  seed: number
  /** Runs that were added up. Default 1. */
  runs?: number
  seconds: number
  measured: { name: string; value: number; unit: string }[]
}
