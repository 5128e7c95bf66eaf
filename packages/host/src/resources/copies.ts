import { McpError, type ReadResourceResult, type ResourceContents } from '@jackfield/sdk'
import { defined } from '@jackfield/sdk/internal'
import { reasonOf } from '../shared/text.ts'
import { wordDiff } from '../shared/word-diff.ts'
import type { AttachedCopy, AttachResult, CopyDiff, Host, NotAttached, ResourceRef } from '../types/index.ts'
import { charactersIn, hashOf, textBlock, tokensOf, wholeText } from './contents.ts'
import { Watches, type Watching } from './watches.ts'

interface CopiesOptions {
  host: Pick<Host, 'read'> & Watching
  titleOf: (ref: ResourceRef) => string
  /** An attachment of a conversation, or its state, changed. */
  changed: (conversation: string) => void
}

/** A resource that was read and not attached yet. */
export interface Fetched {
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

const bounds = { atOnce: 8, copies: 200, characters: 1_000_000, watchWaitMs: 1_000 }

/** Copies of resources attached to conversations, and whether they are up to date. */
export class Copies {
  readonly #options: CopiesOptions
  readonly #conversations = new Map<string, Map<string, StoredCopy>>()
  readonly #lanes = new Lanes(bounds.atOnce)
  readonly #watches: Watches

  constructor(options: CopiesOptions) {
    this.#options = options
    this.#watches = new Watches({
      host: options.host,
      changed: (server, uri) => this.#mark(server, (copy) => uri.startsWith(copy.uri), { stale: true }),
      opened: (server, uris) => this.#opened(server, uris),
      ended: (server) => this.#mark(server, () => true, { watched: false }),
    })
  }

  list(conversation: string): AttachedCopy[] {
    return [...this.#of(conversation).values()].map(({ copy }) => copy)
  }

  /** Starts watching these, and waits briefly for the subscription, so that no change is missed. Each must be released. */
  async addWatch(refs: readonly ResourceRef[]): Promise<void> {
    const servers = Map.groupBy(refs, ({ server }) => server)
    const watched = [...servers].map(([server, own]) =>
      this.#watches.add(
        server,
        own.map(({ uri }) => uri),
      ),
    )
    const { promise, resolve } = Promise.withResolvers<void>()
    const patience = setTimeout(resolve, bounds.watchWaitMs)
    await Promise.race([Promise.all(watched), promise])
    clearTimeout(patience)
  }

  release({ server, uri }: ResourceRef): void {
    this.#watches.release(server, uri)
  }

  /** Reads for a conversation, at most 8 at once across all. Throws if a resource is too large to attach. */
  fetch(ref: ResourceRef, conversation: string, signal: AbortSignal | undefined): Promise<Fetched> {
    return this.#lanes.run(async () => {
      signal?.throwIfAborted()
      const wasWatched = this.#watches.covers(ref.server, ref.uri)
      const { contents } = await this.#read(ref, conversation, signal)
      const characters = charactersIn(contents)
      if (characters > bounds.characters) {
        throw new McpError(
          'INVALID',
          `It has ${characters} characters; at most ${bounds.characters} can be attached. Save it to a file and use the part you need.`,
        )
      }
      return { ref, contents, tokens: tokensOf(textBlock(contents)), wasWatched }
    })
  }

  /** Whether there is room for another resource. */
  hasRoom(conversation: string, ref: ResourceRef): boolean {
    const own = this.#of(conversation)
    return own.has(keyOf(ref)) || own.size < bounds.copies
  }

  /** Takes over a fetched resource and its watch. */
  restore(
    conversation: string,
    { ref, contents, tokens, wasWatched }: Fetched,
    because?: string,
  ): AttachedCopy {
    const own = this.#of(conversation)
    const before = own.get(keyOf(ref))
    const watched = this.#watches.covers(ref.server, ref.uri)
    const copy: AttachedCopy = {
      server: ref.server,
      uri: ref.uri,
      title: this.#options.titleOf(ref),
      at: new Date().toISOString(),
      tokens,
      messages: textBlock(contents),
      stale: false,
      watched,
      ...(because !== undefined && { because }),
    }
    const stored = { copy, contents, hash: hashOf(contents) }
    own.set(keyOf(ref), stored)
    this.#conversations.set(conversation, own)
    if (before !== undefined) this.release(ref)
    if (watched && !wasWatched) this.#check(conversation, stored)
    this.#options.changed(conversation)
    return copy
  }

  remove(conversation: string, which: (copy: AttachedCopy) => boolean): void {
    const own = this.#of(conversation)
    const gone = [...own.values()].filter(({ copy }) => which(copy))
    for (const { copy } of gone) {
      own.delete(keyOf(copy))
      this.release(copy)
    }
    if (own.size === 0) this.#conversations.delete(conversation)
    if (gone.length > 0) this.#options.changed(conversation)
  }

  /** Reads the resource again and compares. */
  async diff(conversation: string, ref: ResourceRef, signal: AbortSignal | undefined): Promise<CopyDiff> {
    const stored = this.#of(conversation).get(keyOf(ref))
    if (stored === undefined) {
      throw new McpError('NOT_FOUND', `${ref.uri} of ${ref.server} is not attached to this conversation`)
    }
    const { contents } = await this.#lanes.run(() => this.#read(ref, undefined, signal))
    const changed = this.#compare(conversation, stored, contents)
    const was = wholeText(stored.contents)
    const is = wholeText(contents)
    return {
      server: ref.server,
      uri: ref.uri,
      changed,
      ...(was !== undefined && is !== undefined && { pieces: wordDiff(was, is) }),
      tokens: { was: stored.copy.tokens, is: tokensOf(textBlock(contents)) },
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
  #opened(server: string, uris: readonly string[]): void {
    for (const [conversation, own] of this.#conversations) {
      for (const stored of own.values()) {
        const { copy } = stored
        if (copy.server !== server || copy.watched || !uris.some((uri) => copy.uri.startsWith(uri))) continue
        this.#set(conversation, stored, { watched: true })
        this.#check(conversation, stored)
      }
    }
  }

  /** Reads a copy's resource again in the background. */
  #check(conversation: string, kept: StoredCopy): void {
    this.#lanes
      .run(() => this.#read(kept.copy, undefined, undefined))
      .then(({ contents }) => this.#compare(conversation, kept, contents))
      .catch((error: unknown) => {
        // A resource that cannot be read any more differs from its copy.
        if (!isClosed(error)) this.#set(conversation, kept, { stale: true })
      })
  }

  #compare(conversation: string, kept: StoredCopy, contents: readonly ResourceContents[]): boolean {
    const changed = hashOf(contents) !== kept.hash
    this.#set(conversation, kept, { stale: changed })
    return changed
  }

  #mark(server: string, which: (copy: AttachedCopy) => boolean, facts: Partial<AttachedCopy>): void {
    for (const [conversation, own] of this.#conversations) {
      for (const stored of own.values()) {
        if (stored.copy.server === server && which(stored.copy)) this.#set(conversation, stored, facts)
      }
    }
  }

  #set(conversation: string, kept: StoredCopy, facts: Partial<AttachedCopy>): void {
    const before = kept.copy
    kept.copy = { ...before, ...facts }
    const isSame = before.stale === kept.copy.stale && before.watched === kept.copy.watched
    const isThere = this.#conversations.get(conversation)?.get(keyOf(before)) === kept
    if (isThere && !isSame) this.#options.changed(conversation)
  }

  #of(conversation: string): Map<string, StoredCopy> {
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
class Lanes {
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

const most = 200

/** Reads the chosen resources and stores the copies; failures are reported and do not stop the others. */
export async function attach(
  copies: Copies,
  withheld: (server: string, uri: string) => string | undefined,
  conversation: string,
  refs: readonly ResourceRef[],
  signal: AbortSignal | undefined,
): Promise<AttachResult> {
  const chosen = [...new Map(refs.map((ref) => [keyOf(ref), ref])).values()]
  if (chosen.length > most) {
    throw new McpError(
      'INVALID',
      `At most ${most} resources are attached at once, but ${chosen.length} were named`,
    )
  }
  const withheldOnes: NotAttached[] = []
  const wanted = chosen.filter(({ server, uri }) => {
    const reason = withheld(server, uri)
    if (reason !== undefined) withheldOnes.push({ server, uri, reason })
    return reason === undefined
  })
  await copies.addWatch(wanted)
  const done = await Promise.all(
    wanted.map(async (ref) => {
      try {
        const fetched = await copies.fetch(ref, conversation, signal)
        if (!copies.hasRoom(conversation, ref)) {
          throw new McpError(
            'INVALID',
            `A conversation can have at most ${most} resources. Detach one first.`,
          )
        }
        return copies.restore(conversation, fetched)
      } catch (error) {
        copies.release(ref)
        return { server: ref.server, uri: ref.uri, reason: reasonOf(error) }
      }
    }),
  )
  const attached = done.filter((one): one is AttachedCopy => 'messages' in one)
  return {
    attached,
    failed: done.filter((one): one is NotAttached => 'reason' in one),
    withheld: withheldOnes,
    tokens: attached.reduce((sum, { tokens }) => sum + tokens, 0),
  }
}
