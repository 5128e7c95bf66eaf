import type { ListKey, TrustRow, TrustWriter } from '../../log/store/trust-table.ts'
import type { ServerConnection } from '../../servers/connections/connection.ts'
import type { TrustItem } from '../../types/index.ts'
import type { Definition, Definitions, Part } from './definitions.ts'
import { keyOf, type Ledger } from './ledger.ts'
import { addsMembers, isAgreed, withRevision } from './revisions.ts'

export interface LookOptions {
  connection: ServerConnection
  /** Under which name what is known of the server is kept. */
  identity: string
  /** The revision that is spoken, where one is. */
  revision: string | undefined
  ledger: Ledger
  definitions: Definitions
  /** Lists of one server are compared under the same profile only. */
  profile: string
  /** ISO 8601. */
  at: string
  /** Whether a thing must not be pinned unseen, even at first use. */
  isDangerous: (definition: Definition) => boolean
}

/** What a look at a server found. */
export interface Look {
  identity: string
  /** Things that are new or say something else than before. */
  rows: TrustRow[]
  /** Things that were listed before. */
  gone: TrustItem[]
  /** Keeps all that; undefined where there is nothing to keep. */
  write: ((writer: TrustWriter) => void) | undefined
}

/**
 * Compares what a server says with what is known of it. A list that was never seen is pinned; what is new in one that
 * was, or says something else, is only noted. Resources come and go with data, so new ones are pinned too.
 */
export function lookAt(options: LookOptions): Look {
  const { connection, identity, revision, ledger, definitions, profile, at, isDangerous } = options
  const { lists, client, name: label } = connection
  const known = ledger.rows(identity)
  const rows: TrustRow[] = []
  const gone: TrustRow[] = []
  const forgotten: TrustItem[] = []
  const newNames: { key: ListKey; names: string[] }[] = []

  for (const [what, now] of definitions.all(lists, client?.server)) {
    const key = { identity, what, profile }
    const before = ledger.names(key)
    const listedBefore = new Set(before)
    const isFirst = (name: string): boolean =>
      before === undefined || what === 'resource' || listedBefore.has(name)
    for (const definition of now.values()) {
      const row = known.get(keyOf(definition))
      const seen = {
        hash: definition.hash,
        says: definition.says,
        at,
        ...(revision !== undefined && { revisions: [revision] }),
      }
      if (row === undefined) {
        const pinned = isFirst(definition.name) && !isDangerous(definition)
        rows.push({ what, name: definition.name, seen, listed: true, ...(pinned && { agreed: seen }) })
      } else if (
        row.agreed !== undefined &&
        isAgreed(row, definition, revision) &&
        !(addsMembers(row.agreed, definition, revision) && isDangerous(definition))
      ) {
        const agreed = withRevision(row.agreed, definition, revision)
        if (agreed !== row.agreed || row.seen.hash !== agreed.hash || !row.listed) {
          rows.push({ ...row, agreed, seen: agreed, listed: true })
        }
      } else if (row.seen.hash !== definition.hash) {
        rows.push({ ...row, seen, listed: true })
      } else if (!row.listed) {
        rows.push({ ...row, listed: true })
      }
    }
    for (const name of listedBefore) {
      const row = now.has(name) ? undefined : known.get(keyOf({ what, name }))
      if (row === undefined) continue
      if (keeps(what, row)) gone.push({ ...row, listed: false })
      else forgotten.push({ what, name })
    }
    const changed =
      before === undefined || before.length !== now.size || before.some((name) => !now.has(name))
    if (changed) newNames.push({ key, names: [...now.keys()] })
  }

  const write = (writer: TrustWriter): void => {
    writer.server({ identity, label, at })
    for (const row of [...rows, ...gone]) writer.row(identity, row)
    for (const item of forgotten) writer.remove(identity, item)
    for (const { key, names } of newNames) writer.names(key, names)
  }
  const isNothing = rows.length + gone.length + forgotten.length + newNames.length === 0
  return {
    identity,
    rows,
    gone: gone.map(({ what, name }) => ({ what, name })),
    write: isNothing ? undefined : write,
  }
}

/** Whether something that is gone is remembered: what was decided about it is, but for resources, which come and go. */
function keeps(what: Part, row: TrustRow): boolean {
  return what !== 'resource' && (row.agreed !== undefined || row.blocked !== undefined)
}
