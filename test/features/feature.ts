import type { ProtocolVersion } from '@jackfield/sdk'
import type { ProbeName } from './probes.ts'

/** The other implementations in the table. */
export type Peer = 'v2' | 'v1' | 'fastmcp' | 'lite'

/** How a cell about another implementation is known. Every kind but `docs` is checked by a test. */
export type Known =
  /** A case of the interop tests that our client runs against its server. */
  | { readonly case: string }
  /** A case of the interop tests that its client runs against our server. */
  | { readonly clientCase: string }
  /** A probe that ran: it passes where the cell is yes, and fails where it is no. */
  | { readonly probe: ProbeName }
  /** A text in its installed code. */
  | { readonly source: string }
  /** A pattern that nothing in its installed code matches; `in` narrows that to one folder of `node_modules`. */
  | { readonly lacks: string; readonly in?: string }
  /** A statement of its documentation, and where. */
  | { readonly docs: string }

/** What another implementation supports, as far as is known. */
export type Cell =
  | { readonly has: 'yes' | 'no'; readonly known: Known; readonly note?: string }
  | { readonly has: 'part'; readonly known: Known; readonly note: string }
  | { readonly has: 'unknown' }

export type Cells = Readonly<Record<Peer, Cell>>

/** A row of the table. */
export interface Feature {
  readonly title: string
  /** First revision that has it. Default: all have. */
  readonly since?: ProtocolVersion
  readonly until?: ProtocolVersion
  readonly ours:
    | {
        readonly has: 'yes' | 'part'
        readonly note?: string
        /** Tests, as `path/from/the/root.test.ts > part of a title`. */
        readonly proof: readonly string[]
      }
    | { readonly has: 'no'; readonly note: string }
    /** Proved by the feature of this very title in the matrix of features, revisions and transports. */
    | { readonly has: 'matrix' }
  readonly peers: Cells
}

export interface Group {
  readonly title: string
  readonly features: readonly Feature[]
}

export const ran = (name: string): Known => ({ case: name })
export const ranAsClient = (name: string): Known => ({ clientCase: name })
export const probed = (name: ProbeName): Known => ({ probe: name })
export const source = (text: string): Known => ({ source: text })
export const lacks = (pattern: string, folder?: string): Known => ({
  lacks: pattern,
  ...(folder !== undefined && { in: folder }),
})
export const docs = (where: string): Known => ({ docs: where })

export const yes = (known: Known, note?: string): Cell => ({
  has: 'yes',
  known,
  ...(note !== undefined && { note }),
})
export const no = (known: Known, note?: string): Cell => ({
  has: 'no',
  known,
  ...(note !== undefined && { note }),
})
export const part = (note: string, known: Known): Cell => ({ has: 'part', note, known })
export const unknown: Cell = { has: 'unknown' }

/** A package that has no client. */
export const noClient: Cell = no(lacks('\\bcallTool\\('), 'no client')

/** The same for every implementation, with exceptions. */
export function all(cell: Cell, but: Partial<Cells> = {}): Cells {
  return { v2: cell, v1: cell, fastmcp: cell, lite: cell, ...but }
}

/** Features that require 2026-07-28. */
export function newest(v2: Cell): Cells {
  return all(no(probed('serves 2026-07-28')), { v2 })
}

/** What only those can have who have a client. */
export function clients(v2: Cell, v1: Cell): Cells {
  return { v2, v1, fastmcp: noClient, lite: noClient }
}

/** A row of the matrix. */
export function inMatrix(title: string, peers: Cells): Feature {
  return { title, ours: { has: 'matrix' }, peers }
}

/** What this project has, with the tests that prove it. */
export function ours(...proof: string[]): Feature['ours'] {
  return { has: 'yes', proof }
}
