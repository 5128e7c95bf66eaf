import { reasonOf } from '../shared/text.ts'
import type { CatalogResource, Inclusion, NotAttached, ResourceRef } from '../types/index.ts'
import { type Copies, type Fetched, keyOf } from './copies.ts'

const usual = 8_000
const bounds = { reads: 64, batch: 8 }
const bytesPerToken = 3.5

interface IncludeOptions {
  copies: Copies
  resources: readonly CatalogResource[]
  withheld: (server: string, uri: string) => string | undefined
  /** Why the user excluded it; undefined otherwise. */
  excluded: (ref: ResourceRef) => string | undefined
  conversation: string
  budget?: number | undefined
  /** The minimum priority. */
  priority?: number | undefined
  /** Why the caller excludes a resource; undefined otherwise. */
  skip?: ((ref: ResourceRef) => string | undefined) | undefined
  signal?: AbortSignal | undefined
}

/** Attaches resources that servers mark for a model, by priority, within the budget. */
export async function include(options: IncludeOptions): Promise<Inclusion> {
  const { copies, conversation, budget = usual, signal } = options
  const left: NotAttached[] = []
  const candidates = candidatesAmong(options, left)
  const inHand = copies.list(conversation).filter(({ because }) => because !== undefined)
  let spent = inHand.reduce((sum, { tokens }) => sum + tokens, 0)
  const skipResource = ({ server, uri }: ResourceRef, reason: string): void =>
    void left.push({ server, uri, reason })
  const lacks = (tokens: number): string | undefined =>
    spent + tokens > budget
      ? `it needs about ${tokens} tokens, and ${Math.max(0, budget - spent)} of ${budget} are left`
      : undefined

  let reads = 0
  for (let at = 0; at < candidates.length; at += bounds.batch) {
    const batch = candidates.slice(at, at + bounds.batch).filter(({ ref, atLeast }) => {
      const reason =
        lacks(atLeast) ?? (reads >= bounds.reads ? `${bounds.reads} others were read already` : undefined)
      if (reason !== undefined) skipResource(ref, reason)
      else reads += 1
      return reason === undefined
    })
    await copies.addWatch(batch.map(({ ref }) => ref))
    const read = await Promise.all(batch.map(({ ref }) => fetched(copies, ref, conversation, signal)))
    for (const [n, { ref, because }] of batch.entries()) {
      const one = read[n]
      if (one === undefined || typeof one === 'string') {
        copies.release(ref)
        skipResource(ref, one ?? 'it could not be read')
        continue
      }
      const reason =
        options.excluded(ref) ??
        lacks(one.tokens) ??
        (copies.hasRoom(conversation, ref) ? undefined : 'the conversation has too many attachments')
      if (reason === undefined) {
        copies.restore(conversation, one, because)
        spent += one.tokens
      } else {
        copies.release(ref)
        skipResource(ref, reason)
      }
    }
    signal?.throwIfAborted()
  }
  const included = copies.list(conversation).filter(({ because }) => because !== undefined)
  return { included, left, tokens: included.reduce((sum, { tokens }) => sum + tokens, 0), budget }
}

interface Candidate {
  ref: ResourceRef
  because: string
  /** Its token cost by the size that its server reports. */
  atLeast: number
}

function candidatesAmong(options: IncludeOptions, left: NotAttached[]): Candidate[] {
  const { copies, conversation, resources, withheld, excluded, priority = 0, skip } = options
  const attached = new Set(copies.list(conversation).map(keyOf))
  const ranked: { entry: CatalogResource; ref: ResourceRef }[] = []
  const seen = new Set<string>()
  for (const entry of resources) {
    const ref = { server: entry.server, uri: entry.resource.uri }
    const key = keyOf(ref)
    if (attached.has(key) || seen.has(key)) continue
    seen.add(key)
    const forModels = entry.resource.annotations?.audience?.includes('assistant') === true
    const reason =
      withheld(ref.server, ref.uri) ??
      (forModels ? excluded(ref) : 'its server does not mark it for a model') ??
      (priorityOf(entry) < priority ? `its priority is below ${priority}` : skip?.(ref))
    if (reason === undefined) ranked.push({ entry, ref })
    else left.push({ ...ref, reason })
  }
  ranked.sort(({ entry: a }, { entry: b }) => priorityOf(b) - priorityOf(a) || changedAt(b) - changedAt(a))
  return ranked.map(({ entry, ref }) => ({
    ref,
    because: becauseOf(entry),
    atLeast: Math.floor((entry.resource.size ?? 0) / bytesPerToken),
  }))
}

/** Resources without a priority come last. */
function priorityOf({ resource }: CatalogResource): number {
  return resource.annotations?.priority ?? 0
}

function changedAt({ resource }: CatalogResource): number {
  const at = Date.parse(resource.annotations?.lastModified ?? '')
  return Number.isNaN(at) ? 0 : at
}

function becauseOf({ resource }: CatalogResource): string {
  const { priority, lastModified } = resource.annotations ?? {}
  return [
    'its server marks it for a model',
    ...(priority === undefined ? [] : [`priority ${priority}`]),
    ...(lastModified === undefined ? [] : [`changed ${lastModified.slice(0, 30)}`]),
  ].join(', ')
}

/** The content, or why the read failed. */
async function fetched(
  copies: Copies,
  ref: ResourceRef,
  conversation: string,
  signal: AbortSignal | undefined,
): Promise<Fetched | string> {
  try {
    return await copies.fetch(ref, conversation, signal)
  } catch (error) {
    return reasonOf(error)
  }
}
