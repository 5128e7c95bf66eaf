import type { JsonRecord } from '../../shared/json.ts'
import type { ConfigInput } from '../../types/index.ts'
import type { Draft } from '../draft.ts'
import type { Path } from '../problem.ts'

/** What a file says, in one form for all kinds of files. */
export interface Found {
  drafts: Draft[]
  inputs: ConfigInput[]
  /** Something about the whole file. */
  problems: { path: Path; severity: 'error' | 'warning'; message: string }[]
}

/** A kind of file that names servers. */
export interface Form {
  /** The product, or the key that it is known by. */
  readonly name: string
  /** Whether this document is of this kind. */
  fits(document: JsonRecord, file: string): boolean
  /** What stands in it that concerns this working folder. Values are taken as they are; whether they can be used is found out later. */
  read(document: JsonRecord, file: string, workspace: string): Found
}
