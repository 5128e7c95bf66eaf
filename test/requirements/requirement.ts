/** How strongly the specification says it. */
export type Level = 'MUST' | 'MUST NOT' | 'SHOULD' | 'SHOULD NOT'

/** Whom a sentence binds. `author` is whoever writes a server's handlers or a client's application. */
export type Bound = 'client' | 'server' | 'both' | 'host' | 'author' | 'authorization server' | 'reader'

/** What keeps the proof of a sentence from running over every transport, and why. */
export const bonds = {
  http: 'what HTTP alone has: headers, status codes, streams, sessions with ids, origins, tokens',
  stdio: 'a child process: its start, its standard streams, its end',
  lines: 'bytes: one message a line, on standard streams and sockets',
  callers: 'telling callers apart, and HTTP alone says who they are',
  inside: 'what happens inside one process, where no message shows it',
  definition: 'what is refused when a server or a client is written, before it says a word',
  application:
    'the application around a client, or the handlers of a server: consent, display, models, restarts',
  documentation: 'what is written down',
} as const

export type Bond = keyof typeof bonds

/** Where the proof of a sentence runs. */
export type Runs =
  /** Rules and features of the matrix, by title: over every transport, on every revision the sentence stands in. */
  | { readonly everywhere: readonly string[] }
  /** Not there, because of what the sentence is about. */
  | { readonly only: Bond }

interface Sentence {
  /** Every place it stands at: its number in the checklist, with page and anchor: `'2411-003': 'basic/messages#requests'`. */
  readonly places: Readonly<Record<string, string>>
  readonly level: Level
  readonly of: Bound
  /** What it asks for, in our words. */
  readonly says: string
}

interface Proved {
  /** Tests, as `path/from/the/root.test.ts > part of a title`. */
  readonly proof: readonly string[]
  readonly runs: Runs
}

type Excused =
  | {
      /** Why no test of ours can prove it: it binds somebody else, or says what words mean. */
      readonly none: string
    }
  | {
      /** Only for SHOULD and SHOULD NOT: why we do otherwise. */
      readonly level: 'SHOULD' | 'SHOULD NOT'
      readonly otherwise: string
    }

/** One normative sentence, with the tests that prove it or the reason it needs none. */
export type Requirement = Sentence & (Proved | Excused)

/** A requirement whose file says for all of its rows where their proof runs. */
export type Sharing = Sentence & ((Omit<Proved, 'runs'> & Partial<Pick<Proved, 'runs'>>) | Excused)

/** Rows that are all bound by the same, but for those that say otherwise themselves. */
export function only(bond: Bond, rows: readonly Sharing[]): readonly Requirement[] {
  return rows.map((row) => ('proof' in row ? { ...row, runs: row.runs ?? { only: bond } } : row))
}
