import { reasonOf } from '../shared/text.ts'
import type { CatalogResource, Inclusion, NotAttached, ResourceRef } from '../types/index.ts'
import { type Copies, type FetchedResource, keyOf } from './copies.ts'

const defaultBudget = 8_000
const limits = { reads: 64, batch: 8 }
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
  const { copies, conversation, budget = defaultBudget, signal } = options
  const notAttached: NotAttached[] = []
  const candidates = candidatesAmong(options, notAttached)
  const inHand = copies.list(conversation).filter(({ because }) => because !== undefined)
  let spent = inHand.reduce((sum, { tokens }) => sum + tokens, 0)
  const skipResource = ({ server, uri }: ResourceRef, reason: string): void =>
    void notAttached.push({ server, uri, reason })
  const missingBudget = (tokens: number): string | undefined =>
    spent + tokens > budget
      ? `it needs about ${tokens} tokens, and ${Math.max(0, budget - spent)} of ${budget} are left`
      : undefined

  let reads = 0
  for (let offset = 0; offset < candidates.length; offset += limits.batch) {
    const batch = candidates.slice(offset, offset + limits.batch).filter(({ ref, atLeast }) => {
      const reason =
        missingBudget(atLeast) ??
        (reads >= limits.reads ? `${limits.reads} others were read already` : undefined)
      if (reason !== undefined) skipResource(ref, reason)
      else reads += 1
      return reason === undefined
    })
    await copies.addWatch(batch.map(({ ref }) => ref))
    const read = await Promise.all(batch.map(({ ref }) => fetchOrReason(copies, ref, conversation, signal)))
    for (const [batchIndex, { ref, because }] of batch.entries()) {
      const fetchResult = read[batchIndex]
      if (fetchResult === undefined || typeof fetchResult === 'string') {
        copies.release(ref)
        skipResource(ref, fetchResult ?? 'it could not be read')
        continue
      }
      const reason =
        options.excluded(ref) ??
        missingBudget(fetchResult.tokens) ??
        (copies.hasRoom(conversation, ref) ? undefined : 'the conversation has too many attachments')
      if (reason === undefined) {
        copies.store(conversation, fetchResult, because)
        spent += fetchResult.tokens
      } else {
        copies.release(ref)
        skipResource(ref, reason)
      }
    }
    signal?.throwIfAborted()
  }
  const included = copies.list(conversation).filter(({ because }) => because !== undefined)
  return {
    included,
    left: notAttached,
    tokens: included.reduce((sum, { tokens }) => sum + tokens, 0),
    budget,
  }
}

interface Candidate {
  ref: ResourceRef
  because: string
  /** Its token cost by the size that its server reports. */
  atLeast: number
}

function candidatesAmong(options: IncludeOptions, notAttached: NotAttached[]): Candidate[] {
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
    else notAttached.push({ ...ref, reason })
  }
  ranked.sort(({ entry: a }, { entry: b }) => priorityOf(b) - priorityOf(a) || changedAt(b) - changedAt(a))
  return ranked.map(({ entry, ref }) => ({
    ref,
    because: inclusionReason(entry),
    atLeast: Math.floor((entry.resource.size ?? 0) / bytesPerToken),
  }))
}

/** Resources without a priority come last. */
function priorityOf({ resource }: CatalogResource): number {
  return resource.annotations?.priority ?? 0
}

function changedAt({ resource }: CatalogResource): number {
  const time = Date.parse(resource.annotations?.lastModified ?? '')
  return Number.isNaN(time) ? 0 : time
}

function inclusionReason({ resource }: CatalogResource): string {
  const { priority, lastModified } = resource.annotations ?? {}
  return [
    'its server marks it for a model',
    ...(priority === undefined ? [] : [`priority ${priority}`]),
    ...(lastModified === undefined ? [] : [`changed ${lastModified.slice(0, 30)}`]),
  ].join(', ')
}

/** The content, or the reason why the read failed. */
async function fetchOrReason(
  copies: Copies,
  ref: ResourceRef,
  conversation: string,
  signal: AbortSignal | undefined,
): Promise<FetchedResource | string> {
  try {
    return await copies.fetch(ref, conversation, signal)
  } catch (error) {
    return reasonOf(error)
  }
}
