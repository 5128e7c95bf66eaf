import { fingerprint, isRecord, type JsonRecord } from '../json.ts'
import type { TrustRow, Wording } from '../store/index.ts'
import type { Definition } from './definitions.ts'

/** Members of definitions, by the revision that brought them. A server leaves them out where an older one is spoken. */
const members: readonly [name: string, since: string][] = [
  ['annotations', '2025-03-26'],
  ['title', '2025-06-18'],
  ['outputSchema', '2025-06-18'],
  ['_meta', '2025-06-18'],
  ['icons', '2025-11-25'],
  ['execution', '2025-11-25'],
]

const hashes = new WeakMap<Wording, Map<string, string>>()

/** Whether this is what was agreed to, or as much of it as can be said in the revision that is spoken. */
export function isAgreed(
  { agreed }: TrustRow,
  { hash, toldHash = hash }: Definition,
  revision: string | undefined,
): boolean {
  if (agreed === undefined || agreed.hash === hash) return agreed !== undefined
  if (revision === undefined || members.every(([, since]) => since <= revision)) return false
  const known = hashes.get(agreed) ?? new Map<string, string>()
  hashes.set(agreed, known)
  const lesser = known.get(revision) ?? fingerprint(sayable(agreed.says, revision))
  known.set(revision, lesser)
  return lesser === toldHash
}

function sayable(says: JsonRecord, revision: string): JsonRecord {
  const unknown = new Set(members.flatMap(([name, since]) => (since > revision ? [name] : [])))
  const without = (value: JsonRecord): JsonRecord =>
    Object.fromEntries(Object.entries(value).filter(([name]) => !unknown.has(name)))
  const { arguments: given, ...rest } = without(says)
  if (!Array.isArray(given)) return given === undefined ? rest : { ...rest, arguments: given }
  return { ...rest, arguments: given.map((one: unknown) => (isRecord(one) ? without(one) : one)) }
}
