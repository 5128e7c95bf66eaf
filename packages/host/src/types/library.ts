import type { PromptMessage, SamplingMessage } from '@jackfield/sdk'
import type { CatalogPrompt, CatalogResource, CatalogTemplate } from './catalog.ts'

/** One resource. A URI is unique on its server only. */
export interface ResourceRef {
  /** The configured server name. */
  readonly server: string
  /** The URI as the server declares it. */
  readonly uri: string
}

/** A node in the tree of all resources: a server, or one segment of a URI. */
export interface LibraryNode {
  /** The server's name, or the segment as the server wrote it; the scheme of a URI is its first segment. */
  readonly label: string
  /** The resource or template at this place, which can also have nodes below it. */
  readonly entries: readonly (CatalogResource | CatalogTemplate)[]
  /** Number of resources here and below. */
  readonly resources: number
  /** Number of templates here and below. */
  readonly templates: number
  /** The nodes below this one. */
  readonly children: readonly LibraryNode[]
}

/** A prompt with the name a user types for it. */
export interface LibraryPrompt extends CatalogPrompt {
  /**
   * `server.prompt`, typed after a slash. If that would be ambiguous or hard to type, it is the prompt's qualified name. It
   * depends only on the two names.
   */
  readonly command: string
}

/** A search result's entry. */
export type LibraryEntry =
  | ({ readonly kind: 'resource' } & CatalogResource)
  | ({ readonly kind: 'template' } & CatalogTemplate)
  | ({ readonly kind: 'prompt' } & LibraryPrompt)

/** A part of a snippet: text between matches, or a match. */
export interface SnippetPiece {
  /** The text of the piece. Not sanitized. */
  readonly text: string
  /** Whether the piece matches a word of the search. */
  readonly isMatch: boolean
}

/** The text of a resource that was read earlier and matches a search. */
export interface ContentMatch {
  /** The excerpt with most of the words, in pieces that together are the snippet. Not sanitized. */
  readonly snippet: readonly SnippetPiece[]
  /** When it was read, ISO 8601; it may have changed since. */
  readonly readAt: string
  /** Why it is not given to a model; absent if it may be. */
  readonly withheld?: string
}

/** One result of a search. */
export interface LibraryMatch {
  /** The resource, template or prompt that matches. */
  readonly entry: LibraryEntry
  /** Comparable within one search only. */
  readonly score: number
  /** Absent if only names and descriptions match. */
  readonly content?: ContentMatch
}

/** The result of a search. */
export interface LibrarySearch {
  /** The best first. */
  readonly matches: readonly LibraryMatch[]
  /** Total number of matches. */
  readonly total: number
  /** Why contents were not searched, in a sentence; absent if they were, or were not requested. */
  readonly contentUnavailable?: string
}

/** The scope of a search. */
export interface LibrarySearchOptions {
  /** Only entries of this server. Default all. */
  server?: string
  /** Only entries of these kinds. Default all. */
  kinds?: readonly LibraryEntry['kind'][]
  /** Default 20, at most 200. */
  limit?: number
  /**
   * Also searches the texts of resources that were read earlier: by the user, for a conversation, or by a model in one. Default
   * false. The results are for the user: attach a resource to give it to a model.
   */
  content?: boolean
}

/** A JSON value as rows of a tree, of bounded size. */
export interface JsonNode {
  /** The member's name, or the index in a list; absent at the top. */
  readonly key?: string
  /** The JSON type of the value. */
  readonly type: 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'
  /** The value of a leaf as JSON, cut if it is long. */
  readonly value?: string
  /** Total members or items. */
  readonly count?: number
  /** The shown ones; fewer than `count` if the tree is too large or too deep. */
  readonly children?: readonly JsonNode[]
}

interface KnownContent {
  /** The URI of the content, which can differ from that of the resource. */
  readonly uri: string
  /** As reported by the server; it may be wrong. */
  readonly mimeType?: string
  /** Size of the content in bytes. */
  readonly bytes: number
}

interface KnownText {
  /** The beginning of the text. Not sanitized. */
  readonly text: string
  /** Number of omitted characters. */
  readonly leftOut: number
}

/** One content of a resource for display. */
export type ContentPreview = KnownContent &
  (
    | ({ readonly type: 'text' | 'markdown' } & KnownText)
    | ({ readonly type: 'json'; readonly tree: JsonNode } & KnownText)
    | {
        readonly type: 'image'
        /** In pixels, if known. */
        readonly width?: number
        readonly height?: number
        /** Base64; absent if it is too large to be shown. */
        readonly data?: string
      }
    | { readonly type: 'audio'; readonly data?: string }
    | {
        readonly type: 'binary'
        /** The type by its first bytes, such as `pdf`; absent if unknown. */
        readonly looksLike?: string
        /** The first 64 bytes in hexadecimal. */
        readonly head: string
      }
  )

/** The preview of a resource, before it is given to a model. */
export interface ResourcePreview extends ResourceRef {
  /** The contents in the order of the server's result. */
  readonly contents: readonly ContentPreview[]
  /** Estimated token cost of the whole resource. */
  readonly tokens: number
  /** Why it is not given to a model; absent if it may be. */
  readonly withheld?: string
}

/** One variable of a resource template. */
export interface TemplateField {
  /** The variable's name in the URI template. */
  readonly name: string
  /** False for variables of a query, a fragment or path parameters, which are optional. */
  readonly required: boolean
}

/** A field to complete. */
export interface CompletionField {
  /** The configured server name. */
  readonly server: string
  /** The prompt by its own name, or the template by its text. */
  readonly of: { readonly prompt: string } | { readonly template: string }
  /** The prompt's argument or the template's variable to complete. */
  readonly argument: string
  /** The text typed so far. */
  readonly value: string
  /** Other arguments with their values. */
  readonly chosen?: Readonly<Record<string, string>>
}

/** Completions of a field. */
export interface Completion {
  /** The suggested values, in the order of the server. Unsanitized server text. */
  readonly values: readonly string[]
  /** Total number, if the server reports it. */
  readonly total?: number
  /** The server has more values. */
  readonly more: boolean
}

/** A resource attached to a conversation, without its content. */
export interface AttachedResource extends ResourceRef {
  /** The resource's title, else its name. */
  readonly title: string
  /** When it was read, ISO 8601. */
  readonly at: string
  /** Estimated token cost. */
  readonly tokens: number
  /** Why it was attached automatically; absent if the user chose it. */
  readonly because?: string
}

/** A copy of a resource attached to a conversation. */
export interface AttachedCopy extends AttachedResource {
  /** The content for the model. */
  readonly messages: readonly SamplingMessage[]
  /** The server has reported a change since, or a difference is known. */
  readonly stale: boolean
  /** Whether its server reports changes; if not, it is unknown whether the copy is outdated. */
  readonly watched: boolean
}

/** A resource that was not attached. */
export interface NotAttached extends ResourceRef {
  /** Why, in one sentence for a person. */
  readonly reason: string
}

/** The result of attaching resources, each list in the given order. */
export interface AttachResult {
  /** The attached copies. */
  readonly attached: readonly AttachedCopy[]
  /** Resources that could not be read. */
  readonly failed: readonly NotAttached[]
  /** Resources for the user alone, which were not read. */
  readonly withheld: readonly NotAttached[]
  /** Estimated token cost of the attached ones together. */
  readonly tokens: number
}

/** The result of automatic attachment. */
export interface Inclusion {
  /** Highest priority first, each with its `because`. */
  readonly included: readonly AttachedCopy[]
  /** The resources that were left out, with the reason. */
  readonly left: readonly NotAttached[]
  /** Estimated token cost of the attached ones together, at most `budget`. */
  readonly tokens: number
  /** The token budget that applied. */
  readonly budget: number
}

/** The difference of a resource and its attached copy. */
export interface CopyDiff extends ResourceRef {
  /** Whether the resource differs from the copy. */
  readonly changed: boolean
  /** A word difference; absent if either is no text. */
  readonly pieces?: readonly { readonly kind: 'same' | 'removed' | 'added'; readonly text: string }[]
  /** Estimated token cost of the copy and of the resource now. */
  readonly tokens: { readonly was: number; readonly is: number }
}

/** The content of a prompt. */
export interface PromptPreview {
  /** The prompt's definition and its command. */
  readonly prompt: LibraryPrompt
  /** The description in the server's result. */
  readonly description?: string
  /** The messages from the server, each with its estimated cost; `withheld` says why a model is not given one. */
  readonly messages: readonly (PromptMessage & { readonly tokens: number; readonly withheld?: string })[]
  /** The messages for a conversation, which can be edited and passed to `Conversation.say`. */
  readonly input: readonly SamplingMessage[]
  /** Estimated cost of `input`. */
  readonly tokens: number
}

/** Resources and prompts of all servers. Lists are read without starting servers; contents are read through the host. */
export interface Library {
  /** The tree of all resources: one node for each server. */
  tree(): LibraryNode[]
  /**
   * Searches resources, templates and prompts by names, titles, URIs, descriptions and types. Word prefixes match, misspellings
   * are tolerated, and an exact URI or command ranks first. With `content`, also the texts of resources that were read: matches
   * in names come first, then those in texts, by BM25.
   */
  search(query: string, options?: LibrarySearchOptions): LibrarySearch
  /** Reads a resource for the user alone. `characters`: of one text, default 20 000. */
  preview(
    server: string,
    uri: string,
    options?: { characters?: number; signal?: AbortSignal },
  ): Promise<ResourcePreview>
  /** Why a resource is not given to a model; undefined if it may be. */
  withheld(server: string, uri: string): string | undefined
  /** The variables of a template. Throws an McpError 'INVALID' for an invalid one. */
  fields(uriTemplate: string): TemplateField[]
  /** The URI for these variables. Throws an McpError 'INVALID' that names missing required and unknown ones. */
  expand(uriTemplate: string, values: Readonly<Record<string, string>>): string
  /**
   * Completions for a field. A server is asked at most once in 150 ms; of the calls in between only the last sends a request, and
   * earlier ones return undefined. Results are cached for a minute. A server without completions returns no values.
   */
  complete(field: CompletionField, options?: { signal?: AbortSignal }): Promise<Completion | undefined>
  /**
   * Reads resources, at most 8 at once, and attaches copies to the conversation, replacing attached ones. Throws an McpError
   * 'INVALID' for more than 200.
   */
  attach(
    conversation: string,
    refs: readonly ResourceRef[],
    options?: { signal?: AbortSignal },
  ): Promise<AttachResult>
  /** The attachments, in the order they were added. */
  attached(conversation: string): AttachedCopy[]
  /** Removes one copy, or all. */
  detach(conversation: string, ref?: ResourceRef): void
  /** Reads a resource again and compares it with the attached copy. Throws an McpError 'NOT_FOUND' if it is not attached. */
  diff(conversation: string, ref: ResourceRef, options?: { signal?: AbortSignal }): Promise<CopyDiff>
  /**
   * Attaches resources that servers mark for a model (`annotations.audience`), the highest `priority` first and among equals the
   * last modified, within the budget. `budget`: tokens of all attachments of this kind, default 8 000. `priority`: the minimum,
   * from 0 to 1, default 0. `skip`: why a resource is left out, undefined otherwise.
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
  /** Removes what `include` attached and excludes it from this conversation: one resource, or all. */
  exclude(conversation: string, ref?: ResourceRef): void
  /** Prompts of all servers. */
  prompts(): LibraryPrompt[]
  /**
   * Gets a prompt, by its command or its qualified name. Throws an McpError 'INVALID' that names missing and unknown arguments
   * before its server is asked.
   */
  prompt(
    name: string,
    args: Readonly<Record<string, string>>,
    options?: { signal?: AbortSignal; conversation?: string },
  ): Promise<PromptPreview>
}
