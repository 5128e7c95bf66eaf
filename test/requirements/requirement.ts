import { readdirSync, readFileSync } from 'node:fs'

/** Who a sentence binds. `author` writes a server's handlers or a client's application. */
const bounds = ['client', 'server', 'both', 'host', 'author', 'authorization server', 'reader'] as const
const levels = ['MUST', 'MUST NOT', 'SHOULD', 'SHOULD NOT'] as const

/** What keeps the proof of a sentence from running over every transport, and why. */
export const bonds = {
  http: 'specific to HTTP: headers, status codes, streams, session ids, origins, tokens',
  stdio: 'child processes: start, standard streams, exit',
  lines: 'framing: one message per line, on standard streams and sockets',
  callers: 'authenticated callers, which exist only on HTTP',
  inside: 'internal to one process, not visible in messages',
  definition: 'errors at definition time, before a message is sent',
  application:
    'the application around a client, or the handlers of a server: consent, display, models, restarts',
  documentation: 'documentation',
} as const

/**
 * Where the tests of a sentence run: `everywhere` is every transport and every revision that has the sentence, otherwise
 * only where the bond allows. `none`: no test of ours can prove it. `otherwise`: a SHOULD that we do not follow.
 */
const runs = [
  'everywhere',
  'none',
  'otherwise',
  'http',
  'stdio',
  'lines',
  'callers',
  'inside',
  'definition',
  'application',
  'documentation',
] as const satisfies readonly (keyof typeof bonds | 'everywhere' | 'none' | 'otherwise')[]

const columns = ['places', 'level', 'binds', 'requirement', 'runs', 'rules', 'tests or reason']

/** One normative sentence: a line of a table in this folder. */
export interface Requirement {
  /** `file:line`, for messages. */
  readonly line: string
  /** Every occurrence: its number in the checklist, and its page and anchor, as `['2411-003', 'basic/messages#requests']`. */
  readonly places: readonly (readonly [id: string, page: string])[]
  readonly level: (typeof levels)[number]
  readonly binds: (typeof bounds)[number]
  /** What it requires, in our words. */
  readonly requirement: string
  readonly runs: (typeof runs)[number]
  /** With `everywhere`: titles of rules and features of the matrix. */
  readonly rules: readonly string[]
  /** Tests, as `path/from/the/root.test.ts > part of a title`. */
  readonly tests: readonly string[]
  /** With `none` and `otherwise`: why. */
  readonly reason: string
}

/** The rows of every table in this folder. Lists within a cell are separated by ` | `, places by `, `. */
export function readRequirements(): Requirement[] {
  const folder = new URL('./', import.meta.url)
  const tables = readdirSync(folder).filter((name) => name.endsWith('.tsv'))
  return tables.flatMap((name) => {
    const [header, ...lines] = readFileSync(new URL(name, folder), 'utf8').trimEnd().split('\n')
    if (header !== columns.join('\t')) throw new Error(`${name}: the columns are ${columns.join(', ')}`)
    return lines.map((line, at) => readLine(line, `${name}:${at + 2}`))
  })
}

function readLine(text: string, line: string): Requirement {
  const cells = text.split('\t')
  if (cells.length !== columns.length)
    throw new Error(`${line}: has ${cells.length} cells, separated by tabs, where ${columns.length} belong`)
  const [places = '', level, binds, requirement = '', where, rules = '', proof = ''] = cells
  const runsIn = oneOf(runs, where, line)
  const isProved = runsIn !== 'none' && runsIn !== 'otherwise'
  return {
    line,
    places: places.split(', ').map((place) => {
      const [id = '', page = ''] = place.split(' ')
      return [id, page]
    }),
    level: oneOf(levels, level, line),
    binds: oneOf(bounds, binds, line),
    requirement,
    runs: runsIn,
    rules: listIn(rules),
    tests: isProved ? listIn(proof) : [],
    reason: isProved ? '' : proof,
  }
}

function listIn(cell: string): string[] {
  return cell === '' ? [] : cell.split(' | ')
}

function oneOf<const Value extends string>(
  values: readonly Value[],
  value: string | undefined,
  line: string,
): Value {
  const found = values.find((known) => known === value)
  if (found === undefined) throw new Error(`${line}: "${value}" is none of ${values.join(', ')}`)
  return found
}
