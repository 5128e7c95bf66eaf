/** How strongly the specification says it. */
export type Level = 'MUST' | 'MUST NOT' | 'SHOULD' | 'SHOULD NOT'

/** Whom a sentence binds. `author` is whoever writes a server's handlers or a client's application. */
export type Bound = 'client' | 'server' | 'both' | 'host' | 'author' | 'authorization server' | 'reader'

interface Sentence {
  /** Every place it stands at: its number in the checklist, with page and anchor: `'2411-003': 'basic/messages#requests'`. */
  readonly places: Readonly<Record<string, string>>
  readonly level: Level
  readonly of: Bound
  /** What it asks for, in our words. */
  readonly says: string
}

/** One normative sentence, with the tests that prove it or the reason it needs none. */
export type Requirement = Sentence &
  (
    | {
        /** Tests, as `path/from/the/root.test.ts > part of a title`. */
        readonly proof: readonly string[]
      }
    | {
        /** Why no test of ours can prove it: it binds somebody else, or says what words mean. */
        readonly none: string
      }
    | {
        /** Only for SHOULD and SHOULD NOT: why we do otherwise. */
        readonly level: 'SHOULD' | 'SHOULD NOT'
        readonly otherwise: string
      }
  )
