import type { SamplingMessage, ToolResultContent } from '@jackfield/sdk'
import type { AttachedResource } from './library.ts'

/** Token usage of one model in a conversation. */
export interface ModelUsage {
  /** The model's id. */
  readonly model: string
  /** Tokens of the requests, as reported by the provider. */
  readonly inputTokens: number
  /** Tokens of the replies, as reported by the provider. */
  readonly outputTokens: number
}

/** Switches tools of a conversation on or off. */
export interface ToolSwitch {
  /**
   * A server, a tool as `server.tool` or `server__tool`, or a pattern of these with `*` (any characters) and `?` (one).
   * A server means all of its tools, including those that it adds later.
   */
  readonly pattern: string
  /** True to offer the matching tools to the model, false to leave them out. */
  readonly on: boolean
}

/** An entry of a conversation. Entries are append-only. */
export type ConversationEntry =
  /** A turn begins, which this model answers. */
  | { readonly kind: 'turn'; readonly model: string }
  /**
   * `host`: a message of the program itself. `attached`: the message is the content of this resource, which the user attached
   * (`person`) or the host (`host`); absent in entries that were stored before there was such a mark.
   */
  | {
      readonly kind: 'message'
      readonly by: 'person' | 'model' | 'host'
      readonly message: SamplingMessage
      readonly attached?: AttachedResource
    }
  /** The result of one tool call. The results of one reply are consecutive. `activity`: the row of the call. */
  | { readonly kind: 'result'; readonly result: ToolResultContent; readonly activity?: number }
  /** Tokens of one request to a model and of its reply. */
  | ({ readonly kind: 'usage' } & ModelUsage)
  | { readonly kind: 'title'; readonly title: string }
  /** The tools that the model is offered from here on; replaces earlier switches. */
  | { readonly kind: 'tools'; readonly switches: readonly ToolSwitch[] }
  /** From here on, the model gets this text instead of everything before it. */
  | { readonly kind: 'summary'; readonly text: string }

/** One tool call of a model in a conversation. */
export interface ConversationCall {
  /** As the model's reply has it. */
  readonly id: string
  /** The name of the tool that the model called. */
  readonly name: string
  /** The arguments as the model wrote them. */
  readonly arguments: Readonly<Record<string, unknown>>
  /** The result as the model got it; absent while the call runs. */
  readonly result?: ToolResultContent
  /** The activity row of the call, which has the whole result; absent for the conversation's own tools. */
  readonly activity?: number
}

/** A stored conversation, for lists. */
export interface ConversationFacts {
  /** Unique in the store. */
  readonly id: string
  /** The user's first words, until another title is set. */
  readonly title: string
  /** The model that answered last. */
  readonly model: string
  /** When it began, ISO 8601. */
  readonly at: string
  /** When the last entry was added, ISO 8601. */
  readonly lastAt: string
  /** Turns, including those of the conversation it was forked from. */
  readonly turns: number
  /** Its own tokens, without those of the conversation it was forked from. */
  readonly inputTokens: number
  /** Its own output tokens, without those of the conversation it was forked from. */
  readonly outputTokens: number
  /** The conversation it was forked from, and the number of shared entries. */
  readonly fork?: { readonly of: string; readonly entries: number }
}

/** Stored conversations, which can be resumed. */
export interface ConversationStore {
  /** The most recently used first. `limit`: default 50. */
  list(options?: { limit?: number }): ConversationFacts[]
  /** By id or a prefix of it. @throws McpError 'NOT_FOUND' if none matches, 'INVALID' if several do */
  find(id: string): ConversationFacts
  /**
   * All entries in order, including those shared with the conversation it was forked from. `from`: skips that many
   * entries.
   */
  entries(id: string, from?: number): ConversationEntry[]
  /** The number of entries; 0 for a conversation that is not stored yet. Takes the whole id. */
  count(id: string): number
  /**
   * Appends to a conversation, or creates it. `known`: the number of entries that the writer has read.
   * @throws McpError 'CONFLICT' if another writer appended entries since
   */
  append(id: string, known: number, entries: readonly ConversationEntry[]): void
  /** Creates one that shares the first `entries` of another, by default all, and returns its id. */
  fork(id: string, entries?: number): string
  /** @throws McpError 'CONFLICT' if another was forked from it */
  remove(id: string): void
}
