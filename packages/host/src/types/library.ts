import type { PromptMessage, SamplingMessage } from '@jackfield/sdk'
import type { CatalogPrompt, CatalogResource, CatalogTemplate } from './catalog.ts'

/** One resource. A URI is unique on its server only. */
export interface ResourceRef {
  readonly server: string
  readonly uri: string
}

/** A place in the tree of everything that can be read: a server, or one segment of a URI. */
export interface LibraryNode {
  /** The server's name, or the segment as the server wrote it; the scheme of a URI is its first segment. */
  readonly label: string
  /** What has its URI end here. A place can be both a resource and a folder of others. */
  readonly entries: readonly (CatalogResource | CatalogTemplate)[]
  /** How many resources there are here and beneath. */
  readonly resources: number
  /** How many templates there are here and beneath. */
  readonly templates: number
  readonly children: readonly LibraryNode[]
}

/** A prompt with the name a person writes for it. */
export interface LibraryPrompt extends CatalogPrompt {
  /**
   * `server.prompt`, typed after a slash. Where that could be read in two ways or holds characters that are hard to
   * type, it is the prompt's name in the host. It depends on the two names alone.
   */
  readonly command: string
}

/** Something that a search can find. */
export type LibraryEntry =
  | ({ readonly kind: 'resource' } & CatalogResource)
  | ({ readonly kind: 'template' } & CatalogTemplate)
  | ({ readonly kind: 'prompt' } & LibraryPrompt)

/** A part of a snippet: text between matches, or a match. */
export interface SnippetPiece {
  readonly text: string
  readonly isMatch: boolean
}

/** The text of a resource that was read earlier and matches a search. */
export interface ContentMatch {
  /** Where most of the words are, in pieces whose texts together are the snippet. Not made safe to print. */
  readonly snippet: readonly SnippetPiece[]
  /** When it was read, ISO 8601: its server may say something else by now. */
  readonly readAt: string
  /** Why a model is not given it; absent where it may be. */
  readonly withheld?: string
}

/** One result of a search. */
export interface LibraryMatch {
  readonly entry: LibraryEntry
  /** Comparable within one search only. */
  readonly score: number
  /** Absent where only names and descriptions match. */
  readonly content?: ContentMatch
}

/** What a search found. */
export interface LibrarySearch {
  /** The best first. */
  readonly matches: readonly LibraryMatch[]
  /** How many fit at all. */
  readonly total: number
  /** Why contents were not searched, in a sentence; absent where they were, or were not asked for. */
  readonly contentUnavailable?: string
}

/** What a search covers. */
export interface LibrarySearchOptions {
  server?: string
  kinds?: readonly LibraryEntry['kind'][]
  /** Default 20, at most 200. */
  limit?: number
  /**
   * Also searches the texts of resources that were read earlier: by the person, for a conversation, or by a model in
   * one. Default false. The results are for the person: attach a resource to give it to a model.
   */
  content?: boolean
}

/** A JSON value as rows of a tree, of bounded size. */
export interface JsonNode {
  /** The member's name, or the place in a list; absent at the top. */
  readonly key?: string
  readonly type: 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'
  /** The value of a leaf as JSON, cut where it is long. */
  readonly value?: string
  /** Members or items that there are. */
  readonly count?: number
  /** Those that are shown; fewer than `count` where the tree is too large or too deep. */
  readonly children?: readonly JsonNode[]
}

interface KnownContent {
  readonly uri: string
  /** As the server says; it may be wrong. */
  readonly mimeType?: string
  readonly bytes: number
}

interface KnownText {
  readonly text: string
  /** Characters that are left out. */
  readonly leftOut: number
}

/** One content of a resource in the form it is looked at. */
export type ContentPreview = KnownContent &
  (
    | ({ readonly type: 'text' | 'markdown' } & KnownText)
    | ({ readonly type: 'json'; readonly tree: JsonNode } & KnownText)
    | {
        readonly type: 'image'
        /** In pixels, where the bytes tell. */
        readonly width?: number
        readonly height?: number
        /** Base64; absent where it is too large to be shown. */
        readonly data?: string
      }
    | { readonly type: 'audio'; readonly data?: string }
    | {
        readonly type: 'binary'
        /** What the first bytes say it is, such as `pdf`; absent where they do not tell. */
        readonly looksLike?: string
        /** The first 64 bytes in hexadecimal. */
        readonly head: string
      }
  )

/** What a person sees of a resource before they give it to a model. */
export interface ResourcePreview extends ResourceRef {
  readonly contents: readonly ContentPreview[]
  /** About what it costs a model that is given it whole: an estimate. */
  readonly tokens: number
  /** Why a model is not given it; absent where it may be. */
  readonly withheld?: string
}

/** One variable of a resource template. */
export interface TemplateField {
  readonly name: string
  /** False for variables of a query, a fragment or path parameters, which a URI may do without. */
  readonly required: boolean
}

/** A field that suggestions are wanted for. */
export interface CompletionField {
  readonly server: string
  /** The prompt by its own name, or the template by its text. */
  readonly of: { readonly prompt: string } | { readonly template: string }
  readonly argument: string
  /** What was typed so far. */
  readonly value: string
  /** Other arguments that were chosen already. */
  readonly chosen?: Readonly<Record<string, string>>
}

/** Suggestions for a field. */
export interface Completion {
  readonly values: readonly string[]
  /** How many there are, where the server says so. */
  readonly total?: number
  /** There are others that the server did not name. */
  readonly more: boolean
}

/** A copy of a resource that goes along with a conversation. */
export interface AttachedCopy extends ResourceRef {
  readonly title: string
  /** When it was read, ISO 8601. */
  readonly at: string
  /** About what it costs: an estimate. */
  readonly tokens: number
  /** What a model is given. */
  readonly messages: readonly SamplingMessage[]
  /** The server said since then that the resource changed, or it is known to be different. */
  readonly stale: boolean
  /** Whether its server tells of changes; where not, nobody knows whether it is out of date. */
  readonly watched: boolean
  /** Why it was attached without being chosen; absent where a person chose it. */
  readonly because?: string
}

/** A resource that was not attached, and why in one sentence. */
export interface NotAttached extends ResourceRef {
  readonly reason: string
}

/** What came of attaching resources, each in the order they were named. */
export interface AttachResult {
  readonly attached: readonly AttachedCopy[]
  /** Those that could not be read. */
  readonly failed: readonly NotAttached[]
  /** Those that are meant for the person alone, and were not read. */
  readonly withheld: readonly NotAttached[]
  /** About what the attached ones cost together. */
  readonly tokens: number
}

/** What came of choosing resources by what their servers say about them. */
export interface Inclusion {
  /** The most important first, each with its `because`. */
  readonly included: readonly AttachedCopy[]
  readonly left: readonly NotAttached[]
  /** About what the included ones cost together; never more than `budget`. */
  readonly tokens: number
  readonly budget: number
}

/** What became of a resource since it was attached. */
export interface CopyDiff extends ResourceRef {
  readonly changed: boolean
  /** Word by word; absent where either is no text. */
  readonly pieces?: readonly { readonly kind: 'same' | 'removed' | 'added'; readonly text: string }[]
  /** About what each costs. */
  readonly tokens: { readonly was: number; readonly is: number }
}

/** What a prompt would say. */
export interface PromptPreview {
  readonly prompt: LibraryPrompt
  readonly description?: string
  /** The messages as the server wrote them, with what each costs about; `withheld` says why a model is not given one. */
  readonly messages: readonly (PromptMessage & { readonly tokens: number; readonly withheld?: string })[]
  /** What a conversation is told, to be changed as the person likes and given to `Conversation.say`. */
  readonly said: readonly SamplingMessage[]
  /** About what `said` costs. */
  readonly tokens: number
}

/** Resources and prompts of all servers. Looking at lists starts nothing; contents are read through the host. */
export interface Library {
  /** Everything that can be read: one place for each server. */
  tree(): LibraryNode[]
  /**
   * Resources, templates and prompts by their names, titles, URIs, descriptions and types. Beginnings of words are
   * enough, slips of the pen are borne, and a URI or command written out comes first. With `content`, also the texts of
   * resources that were read: matches in names come first, then those in texts, by BM25.
   */
  search(query: string, options?: LibrarySearchOptions): LibrarySearch
  /** Reads a resource for the person alone. `characters`: of one text, default 20 000. */
  preview(
    server: string,
    uri: string,
    options?: { characters?: number; signal?: AbortSignal },
  ): Promise<ResourcePreview>
  /** Why a model is not given a resource; undefined where it may be. */
  withheld(server: string, uri: string): string | undefined
  /** The variables of a template. Throws an McpError 'INVALID' for text that is none. */
  fields(uriTemplate: string): TemplateField[]
  /** The URI for these variables. Throws an McpError 'INVALID' that names every required one that is missing or unknown. */
  expand(uriTemplate: string, values: Readonly<Record<string, string>>): string
  /**
   * Suggestions for a field. A server is asked at most once in 150 ms; of what is typed meanwhile only the last is
   * asked for, and earlier ones give undefined. Answers are kept for a minute. A server that has none gives no values.
   */
  complete(field: CompletionField, options?: { signal?: AbortSignal }): Promise<Completion | undefined>
  /**
   * Reads resources, at most 8 at once, and keeps the copies with the conversation; one that is attached already is
   * replaced. Throws an McpError 'INVALID' for more than 200.
   */
  attach(
    conversation: string,
    refs: readonly ResourceRef[],
    options?: { signal?: AbortSignal },
  ): Promise<AttachResult>
  /** What is attached, in the order it came. */
  attached(conversation: string): AttachedCopy[]
  /** Takes a copy away, or all of them. */
  detach(conversation: string, ref?: ResourceRef): void
  /** Reads a resource anew and compares it with the attached copy. Throws an McpError 'INVALID' where it is not attached. */
  diff(conversation: string, ref: ResourceRef, options?: { signal?: AbortSignal }): Promise<CopyDiff>
  /**
   * Attaches what servers mean for a model (`annotations.audience`), the highest `priority` first and among equals what
   * changed last, as long as it fits. `budget`: tokens of all that is attached in this way, default 8 000. `priority`: the
   * least `priority` that counts, from 0 to 1, default 0. `skip`: why a resource is left out, undefined where it is not.
   */
  include(
    conversation: string,
    options?: {
      budget?: number
      priority?: number
      skip?: (ref: ResourceRef) => string | undefined
      signal?: AbortSignal
    },
  ): Promise<Inclusion>
  /** Takes what `include` attached away and never includes it again in this conversation: one resource, or anything. */
  exclude(conversation: string, ref?: ResourceRef): void
  /** Prompts of all servers. */
  prompts(): LibraryPrompt[]
  /**
   * What a prompt would say, by its command or its name in the host. Throws an McpError 'INVALID' that names arguments
   * that are missing or that it does not have, before its server is asked.
   */
  prompt(
    name: string,
    args: Readonly<Record<string, string>>,
    options?: { signal?: AbortSignal; conversation?: string },
  ): Promise<PromptPreview>
}
