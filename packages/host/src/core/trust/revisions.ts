import type { TrustRow, Wording } from '../../log/store/trust-table.ts'
import { fingerprint, isRecord, type JsonRecord } from '../../shared/json.ts'
import type { Definition } from './definitions.ts'

/** Members of definitions that not every revision has: the first one that has them, and the last. */
const members: readonly [name: string, since: string, until?: string][] = [
  ['annotations', '2025-03-26'],
  ['title', '2025-06-18'],
  ['outputSchema', '2025-06-18'],
  ['_meta', '2025-06-18'],
  ['icons', '2025-11-25'],
  ['execution', '2025-11-25', '2025-11-25'],
]

/**
 * Whether this is what was agreed to. Members that the revision that is spoken does not have are not compared, nor those that
 * no revision had in which the definition was agreed to.
 */
export function isAgreed(
  { agreed }: TrustRow,
  definition: Definition,
  revision: string | undefined,
): boolean {
  if (agreed === undefined || agreed.hash === definition.hash) return agreed !== undefined
  if (revision === undefined) return false
  const apart = new Set([...missingIn([revision]), ...missingIn(agreed.revisions)])
  const before = without(agreed.says, apart)
  const now = without(definition.says, apart)
  // Where no member is left out, the hash of what the server said, secrets in it too, has decided.
  const isWhole =
    fingerprint(before) === fingerprint(agreed.says) && fingerprint(now) === fingerprint(definition.says)
  return !isWhole && fingerprint(before) === fingerprint(now)
}

/**
 * What was agreed to, with the members that the revision that is spoken has and no earlier one had: they are agreed to from
 * now on, as a new definition is at first use. The same wording where there is nothing to add.
 */
export function withRevision(
  agreed: Wording,
  { says, hash }: Pick<Definition, 'says' | 'hash'>,
  revision: string | undefined,
): Wording {
  if (revision === undefined || agreed.revisions?.includes(revision)) return agreed
  const revisions = [...(agreed.revisions ?? []), revision].toSorted()
  const here = missingIn([revision])
  const added = missingIn(agreed.revisions).filter((name) => !here.includes(name))
  const whole = joined(agreed.says, says, added)
  const isSame = fingerprint(whole) === fingerprint(agreed.says)
  const isWhole = fingerprint(whole) === fingerprint(says)
  return {
    ...agreed,
    ...(!isSame && { says: whole, hash: isWhole ? hash : fingerprint(whole) }),
    revisions,
  }
}

/** Whether the members that would be added are there. */
export function addsMembers(agreed: Wording, definition: Definition, revision: string | undefined): boolean {
  return withRevision(agreed, definition, revision).says !== agreed.says
}

/** The members that none of these revisions has; none where it is not known which were spoken. */
function missingIn(revisions: readonly string[] | undefined): string[] {
  if (revisions === undefined) return []
  return members.flatMap(([name, since, until = '9999']) =>
    revisions.some((revision) => since <= revision && revision <= until) ? [] : [name],
  )
}

function without(says: JsonRecord, names: ReadonlySet<string>): JsonRecord {
  const rest = (value: JsonRecord): JsonRecord =>
    Object.fromEntries(Object.entries(value).filter(([name]) => !names.has(name)))
  return eachArgument(rest(says), rest)
}

/** The first, with members of these names from the second. */
function joined(agreed: JsonRecord, says: JsonRecord, names: readonly string[]): JsonRecord {
  const join = (one: JsonRecord, other: JsonRecord): JsonRecord => ({
    ...one,
    ...Object.fromEntries(names.flatMap((name) => (Object.hasOwn(other, name) ? [[name, other[name]]] : []))),
  })
  const given = Array.isArray(says['arguments']) ? says['arguments'] : []
  return eachArgument(join(agreed, says), (argument, index) => {
    const other: unknown = given[index]
    return isRecord(other) ? join(argument, other) : argument
  })
}

/** A definition with every argument of a prompt changed. */
function eachArgument(
  says: JsonRecord,
  change: (argument: JsonRecord, index: number) => JsonRecord,
): JsonRecord {
  const given = says['arguments']
  if (!Array.isArray(given)) return says
  return {
    ...says,
    arguments: given.map((one: unknown, index) => (isRecord(one) ? change(one, index) : one)),
  }
}
