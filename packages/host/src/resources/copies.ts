import { McpError, type ReadResourceResult, type ResourceContents } from '@jackfield/sdk'
import { defined } from '@jackfield/sdk/internal'
import { reasonOf } from '../shared/text.ts'
import { wordDiff } from '../shared/word-diff.ts'
import type { AttachedCopy, AttachResult, CopyDiff, Host, NotAttached, ResourceRef } from '../types/index.ts'
import { charactersIn, hashOf, joinedText, tokensOf, toMessages } from './contents.ts'
import { Watches, type Watching } from './watches.ts'

interface CopiesOptions {
  host: Pick<Host, 'read'> & Watching
  titleOf: (ref: ResourceRef) => string
  /** An attachment of a conversation, or its state, changed. */
  changed: (conversation: string) => void
}

/** A resource that was read and not attached yet. */
export interface FetchedResource {
  ref: ResourceRef
  contents: readonly ResourceContents[]
  tokens: number
  /** Whether its server reported changes when the read began. */
  wasWatched: boolean
}

interface StoredCopy {
  copy: AttachedCopy
  contents: readonly ResourceContents[]
  hash: string
}

const limits = { atOnce: 8, copies: 200, characters: 1_000_000, watchWaitMs: 1_000 }

/** Copies of resources attached to conversations, and whether they are up to date. */
export class Copies {
  readonly #options: CopiesOptions
  readonly #conversations = new Map<string, Map<string, StoredCopy>>()
  readonly #reads = new ConcurrencyLimit(limits.atOnce)
  readonly #watches: Watches

  constructor(options: CopiesOptions) {
    this.#options = options
    this.#watches = new Watches({
      host: options.host,
      changed: (server, uri) => this.#markCopies(server, (copy) => uri.startsWith(copy.uri), { stale: true }),
      opened: (server, uris) => this.#onWatchOpened(server, uris),
      ended: (server) => this.#markCopies(server, () => true, { watched: false }),
    })
  }

  list(conversation: string): AttachedCopy[] {
    return [...this.#copiesOf(conversation).values()].map(({ copy }) => copy)
  }

  /** Starts watching these, and waits briefly for the subscription, so that no change is missed. Each must be released. */
  async addWatch(refs: readonly ResourceRef[]): Promise<void> {
    const servers = Map.groupBy(refs, ({ server }) => server)
    const watched = [...servers].map(([server, ofServer]) =>
      this.#watches.add(
        server,
        ofServer.map(({ uri }) => uri),
      ),
    )
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, limits.watchWaitMs)
    await Promise.race([Promise.all(watched), promise])
    clearTimeout(timer)
  }

  release({ server, uri }: ResourceRef): void {
    this.#watches.release(server, uri)
  }

  /** Reads for a conversation, at most 8 at once across all. Throws if a resource is too large to attach. */
  fetch(ref: ResourceRef, conversation: string, signal: AbortSignal | undefined): Promise<FetchedResource> {
    return this.#reads.run(async () => {
      signal?.throwIfAborted()
      const wasWatched = this.#watches.covers(ref.server, ref.uri)
      const { contents } = await this.#read(ref, conversation, signal)
      const characters = charactersIn(contents)
      if (characters > limits.characters) {
        throw new McpError(
          'INVALID',
          `It has ${characters} characters; at most ${limits.characters} can be attached. Save it to a file and use the part you need.`,
        )
      }
      return { ref, contents, tokens: tokensOf(toMessages(contents)), wasWatched }
    })
  }

  /** Whether there is room for another resource. */
  hasRoom(conversation: string, ref: ResourceRef): boolean {
    const attachedCopies = this.#copiesOf(conversation)
    return attachedCopies.has(keyOf(ref)) || attachedCopies.size < limits.copies
  }

  /** Takes over a fetched resource and its watch. */
  store(
    conversation: string,
    { ref, contents, tokens, wasWatched }: FetchedResource,
    because?: string,
  ): AttachedCopy {
    const attachedCopies = this.#copiesOf(conversation)
    const before = attachedCopies.get(keyOf(ref))
    const watched = this.#watches.covers(ref.server, ref.uri)
    const copy: AttachedCopy = {
      server: ref.server,
      uri: ref.uri,
      title: this.#options.titleOf(ref),
      at: new Date().toISOString(),
      tokens,
      messages: toMessages(contents),
      stale: false,
      watched,
      ...(because !== undefined && { because }),
    }
    const stored = { copy, contents, hash: hashOf(contents) }
    attachedCopies.set(keyOf(ref), stored)
    this.#conversations.set(conversation, attachedCopies)
    if (before !== undefined) this.release(ref)
    if (watched && !wasWatched) this.#check(conversation, stored)
    this.#options.changed(conversation)
    return copy
  }

  remove(conversation: string, matches: (copy: AttachedCopy) => boolean): void {
    const attachedCopies = this.#copiesOf(conversation)
    const removed = [...attachedCopies.values()].filter(({ copy }) => matches(copy))
    for (const { copy } of removed) {
      attachedCopies.delete(keyOf(copy))
      this.release(copy)
    }
    if (attachedCopies.size === 0) this.#conversations.delete(conversation)
    if (removed.length > 0) this.#options.changed(conversation)
  }

  /** Reads the resource again and compares. */
  async diff(conversation: string, ref: ResourceRef, signal: AbortSignal | undefined): Promise<CopyDiff> {
    const stored = this.#copiesOf(conversation).get(keyOf(ref))
    if (stored === undefined) {
      throw new McpError('NOT_FOUND', `${ref.uri} of ${ref.server} is not attached to this conversation`)
    }
    const { contents } = await this.#reads.run(() => this.#read(ref, undefined, signal))
    const changed = this.#compare(conversation, stored, contents)
    const oldText = joinedText(stored.contents)
    const newText = joinedText(contents)
    return {
      server: ref.server,
      uri: ref.uri,
      changed,
      ...(oldText !== undefined && newText !== undefined && { pieces: wordDiff(oldText, newText) }),
      tokens: { was: stored.copy.tokens, is: tokensOf(toMessages(contents)) },
    }
  }

  #read(
    { server, uri }: ResourceRef,
    conversation: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<ReadResourceResult> {
    return this.#options.host.read(server, uri, defined({ conversation, signal }))
  }

  /** Changes were not reported until now, so these may be outdated. */
  #onWatchOpened(server: string, uris: readonly string[]): void {
    for (const [conversation, attachedCopies] of this.#conversations) {
      for (const stored of attachedCopies.values()) {
        const { copy } = stored
        if (copy.server !== server || copy.watched || !uris.some((uri) => copy.uri.startsWith(uri))) continue
        this.#set(conversation, stored, { watched: true })
        this.#check(conversation, stored)
      }
    }
  }

  /** Reads a copy's resource again in the background. */
  #check(conversation: string, stored: StoredCopy): void {
    this.#reads
      .run(() => this.#read(stored.copy, undefined, undefined))
      .then(({ contents }) => this.#compare(conversation, stored, contents))
      .catch((error: unknown) => {
        // A resource that cannot be read any more differs from its copy.
        if (!isClosed(error)) this.#set(conversation, stored, { stale: true })
      })
  }

  #compare(conversation: string, stored: StoredCopy, contents: readonly ResourceContents[]): boolean {
    const changed = hashOf(contents) !== stored.hash
    this.#set(conversation, stored, { stale: changed })
    return changed
  }

  #markCopies(
    server: string,
    matches: (copy: AttachedCopy) => boolean,
    changes: Partial<AttachedCopy>,
  ): void {
    for (const [conversation, attachedCopies] of this.#conversations) {
      for (const stored of attachedCopies.values()) {
        if (stored.copy.server === server && matches(stored.copy)) this.#set(conversation, stored, changes)
      }
    }
  }

  #set(conversation: string, stored: StoredCopy, changes: Partial<AttachedCopy>): void {
    const before = stored.copy
    stored.copy = { ...before, ...changes }
    const isSame = before.stale === stored.copy.stale && before.watched === stored.copy.watched
    const isAttached = this.#conversations.get(conversation)?.get(keyOf(before)) === stored
    if (isAttached && !isSame) this.#options.changed(conversation)
  }

  #copiesOf(conversation: string): Map<string, StoredCopy> {
    return this.#conversations.get(conversation) ?? new Map()
  }
}

export function keyOf({ server, uri }: ResourceRef): string {
  return JSON.stringify([server, uri])
}

function isClosed(error: unknown): boolean {
  return error instanceof McpError && error.code === 'CONNECTION_CLOSED'
}

/** Limits concurrent work; more waits in a queue. */
class ConcurrencyLimit {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(lanes: number) {
    this.#free = lanes
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free += 1
      else next()
    }
  }
}

const maxRefs = 200

/** Reads the chosen resources and stores the copies; failures are reported and do not stop the others. */
export async function attach(
  copies: Copies,
  withheld: (server: string, uri: string) => string | undefined,
  conversation: string,
  refs: readonly ResourceRef[],
  signal: AbortSignal | undefined,
): Promise<AttachResult> {
  const distinctRefs = [...new Map(refs.map((ref) => [keyOf(ref), ref])).values()]
  if (distinctRefs.length > maxRefs) {
    throw new McpError(
      'INVALID',
      `At most ${maxRefs} resources are attached at once, but ${distinctRefs.length} were named`,
    )
  }
  const withheldRefs: NotAttached[] = []
  const allowed = distinctRefs.filter(({ server, uri }) => {
    const reason = withheld(server, uri)
    if (reason !== undefined) withheldRefs.push({ server, uri, reason })
    return reason === undefined
  })
  await copies.addWatch(allowed)
  const results = await Promise.all(
    allowed.map(async (ref) => {
      try {
        const fetched = await copies.fetch(ref, conversation, signal)
        if (!copies.hasRoom(conversation, ref)) {
          throw new McpError(
            'INVALID',
            `A conversation can have at most ${maxRefs} resources. Detach one first.`,
          )
        }
        return copies.store(conversation, fetched)
      } catch (error) {
        copies.release(ref)
        return { server: ref.server, uri: ref.uri, reason: reasonOf(error) }
      }
    }),
  )
  const attached = results.filter((one): one is AttachedCopy => 'messages' in one)
  return {
    attached,
    failed: results.filter((one): one is NotAttached => 'reason' in one),
    withheld: withheldRefs,
    tokens: attached.reduce((sum, { tokens }) => sum + tokens, 0),
  }
}
