import type { Column, CommitResult, Effects, Page, PageLimits, Statement } from '../engine.ts'

/** A row of a catalog query. */
export type CatalogRow = Record<string, string | number | null>

/** The commands of the process that runs SQLite, by name. One is sent at a time. */
export interface Commands {
  /** Runs a query of this package. */
  catalog: { input: Statement; output: CatalogRow[] }
  open: { input: Statement; output: Column[] }
  read: { input: PageLimits; output: Page }
  /** Ends the open result. */
  end: { input: null; output: null }
  explain: { input: Statement; output: string }
  preview: { input: Statement; output: Effects }
  commit: { input: { statement: Statement; confirmed: Effects; limits: PageLimits }; output: CommitResult }
}

/** A command as it is sent. */
export interface Command<Name extends keyof Commands = keyof Commands> {
  name: Name
  input: Commands[Name]['input']
}

/** `rejected` is an error message for the client, `internalError` one of this package. */
export type Answer<T> = { output: T } | { rejected: string } | { internalError: string }
