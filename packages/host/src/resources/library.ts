import type { Host, HostEvent, Library, LibraryMatch, ResourceRef } from '../types/index.ts'
import { attach } from './attach.ts'
import { Completions } from './completions.ts'
import { saidOf, tokensOf } from './contents.ts'
import { Copies, keyOf } from './copies.ts'
import { expand, fieldsOf } from './fields.ts'
import { include } from './include.ts'
import { Listing, type Lists } from './listing.ts'
import { previewOf } from './preview.ts'
import { previewPrompt } from './prompts.ts'
import { type Found, LibraryIndex } from './search.ts'
import { type ResourceTexts, snippetOf } from './texts.ts'
import { treeOf } from './tree.ts'
import type { Watching } from './watches.ts'
import { Withholding } from './withheld.ts'

export type LibraryHost = Lists & Watching & Pick<Host, 'read' | 'prompt' | 'complete'>

const usualCharacters = 20_000

/** Resources and prompts over the lists and reads of a host. Without `texts`, contents are not searched. */
export function createLibrary(
  host: LibraryHost,
  emit: (event: HostEvent) => void,
  texts?: ResourceTexts,
): Library {
  const listing = new Listing(host)
  const index = new LibraryIndex()
  const completions = new Completions(host)
  const withholding = new Withholding(listing)
  const withheld = (server: string, uri: string): string | undefined => withholding.why(server, uri)
  const titleOf = ({ server, uri }: ResourceRef): string => {
    const found = listing
      .of('resource')
      .find((entry) => entry.server === server && entry.resource.uri === uri)
    return found?.resource.title ?? found?.resource.name ?? uri
  }
  const copies = new Copies({
    host,
    titleOf,
    changed: (conversation) => emit({ type: 'attached', conversation }),
  })
  let including: Promise<unknown> = Promise.resolve()
  /** By conversation: what is not included, or `all`. */
  const unwanted = new Map<string, Set<string> | 'all'>()

  const matchOf = (
    { entry, score, isNamed, text }: Found,
    words: readonly string[],
  ): LibraryMatch | undefined => {
    if (text === undefined) return { entry, score }
    const snippet = texts?.snippet(text, words)
    if (snippet === undefined) {
      // What else matched was a secret that became known after the read.
      return isNamed || snippetOf(text.uri, words) !== undefined ? { entry, score } : undefined
    }
    const reason = withheld(text.server, text.uri)
    const content = { snippet, readAt: text.readAt, ...(reason !== undefined && { withheld: reason }) }
    return { entry, score, content }
  }

  return {
    tree: () => treeOf(listing.entries),
    search(query, { content = false, ...options } = {}) {
      index.update(listing.entries)
      const unavailable = content ? (texts?.unavailable ?? undefined) : undefined
      const found = index.search(query, options, content ? (words) => texts?.find(words) ?? [] : undefined)
      const matches = found.matches.flatMap((match) => matchOf(match, found.words) ?? [])
      return {
        matches,
        total: found.total - (found.matches.length - matches.length),
        ...(unavailable !== undefined && { contentUnavailable: unavailable }),
      }
    },
    async preview(server, uri, { characters = usualCharacters, signal } = {}) {
      const { contents } = await host.read(server, uri, signal === undefined ? {} : { signal })
      const reason = withheld(server, uri)
      return {
        server,
        uri,
        contents: previewOf(contents, characters),
        tokens: tokensOf(saidOf(contents)),
        ...(reason !== undefined && { withheld: reason }),
      }
    },
    withheld,
    fields: fieldsOf,
    expand,
    complete: (field, { signal } = {}) => completions.complete(field, signal),
    attach: (conversation, refs, { signal } = {}) => attach(copies, withheld, conversation, refs, signal),
    attached: (conversation) => copies.list(conversation),
    detach(conversation, ref) {
      const key = ref && keyOf(ref)
      copies.remove(conversation, (copy) => key === undefined || keyOf(copy) === key)
      if (ref === undefined) unwanted.delete(conversation)
    },
    diff: (conversation, ref, { signal } = {}) => copies.diff(conversation, ref, signal),
    include(conversation, { budget, priority, skip, signal } = {}) {
      const resources = (): ReturnType<Host['resources']> => listing.of('resource')
      const excluded = (ref: ResourceRef): string | undefined => {
        const without = unwanted.get(conversation)
        if (without === 'all') return 'nothing is included by itself in this conversation'
        return without?.has(keyOf(ref)) === true ? 'you took it away' : undefined
      }
      // One after another, since all of them spend the same budget.
      const done = including.then(() =>
        include({
          ...{ copies, resources: resources(), withheld, excluded },
          ...{ conversation, budget, priority, skip, signal },
        }),
      )
      including = done.catch(() => {})
      return done
    },
    exclude(conversation, ref) {
      const before = unwanted.get(conversation)
      if (ref === undefined || before === 'all') unwanted.set(conversation, 'all')
      else unwanted.set(conversation, new Set([...(before ?? []), keyOf(ref)]))
      copies.remove(
        conversation,
        (copy) => copy.because !== undefined && (ref === undefined || keyOf(copy) === keyOf(ref)),
      )
    },
    prompts: () => listing.of('prompt').map(({ kind: _kind, ...prompt }) => prompt),
    prompt: (name, args, options = {}) => previewPrompt(host, listing.of('prompt'), name, args, options),
  }
}
