import type { SamplingMessage, ToolResultContent } from '@jackfield/sdk'

/** Tokens that a conversation cost at one model. */
export interface ModelUsage {
  /** The model's id. */
  readonly model: string
  readonly inputTokens: number
  readonly outputTokens: number
}

/** Switches tools of a conversation on or off. */
export interface ToolSwitch {
  /**
   * A server, a tool as `server.tool` or `server__tool`, or a pattern of these with `*` (any characters) and `?` (one).
   * A server means all of its tools, including those that it adds later.
   */
  readonly pattern: string
  readonly on: boolean
}

/** One thing that happened in a conversation. Entries are only ever added. */
export type ConversationEntry =
  /** The person's turn begins, and this model answers. */
  | { readonly kind: 'turn'; readonly model: string }
  /** `host`: what the model is told by the program itself. */
  | {
      readonly kind: 'message'
      readonly by: 'person' | 'model' | 'host'
      readonly message: SamplingMessage
    }
  /** What one call of a tool gave. Those of one answer follow each other. `activity`: the row of the call. */
  | { readonly kind: 'result'; readonly result: ToolResultContent; readonly activity?: number }
  /** Tokens of one request to a model and of its reply. */
  | ({ readonly kind: 'usage' } & ModelUsage)
  | { readonly kind: 'title'; readonly title: string }
  /** Which tools the model is offered from here on, in place of earlier switches. */
  | { readonly kind: 'tools'; readonly switches: readonly ToolSwitch[] }
  /** From here on the model gets this text in place of everything before. */
  | { readonly kind: 'summary'; readonly text: string }

/** One tool call of a model in a conversation. */
export interface ConversationCall {
  /** As the model's reply has it. */
  readonly id: string
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
  /** What the model was given of the result; absent while the call runs. */
  readonly result?: ToolResultContent
  /** The activity row of the call, which has the whole result; absent for the conversation's own tools. */
  readonly activity?: number
}

/** A kept conversation, for lists. */
export interface ConversationFacts {
  readonly id: string
  readonly title: string
  /** The model that answered last. */
  readonly model: string
  /** When it began, ISO 8601. */
  readonly at: string
  /** When something was last said, ISO 8601. */
  readonly lastAt: string
  /** Turns of the person, with those of the conversation it was forked from. */
  readonly turns: number
  /** Tokens of its own, without those of the conversation it was forked from. */
  readonly inputTokens: number
  readonly outputTokens: number
  /** The conversation it was forked from, and how many entries both share. */
  readonly fork?: { readonly of: string; readonly entries: number }
}

/** Conversations that are kept, so that they can be taken up again. */
export interface ConversationDesk {
  /** The one that was last spoken in comes first. `limit`: default 50. */
  list(options?: { limit?: number }): ConversationFacts[]
  /** By its id or the beginning of it. @throws McpError 'INVALID' where none or several fit */
  find(id: string): ConversationFacts
  /**
   * Everything that happened in it, in order, also what it shares with the one it was forked from. `from`: without the
   * first so many entries.
   */
  entries(id: string, from?: number): ConversationEntry[]
  /** How many entries there are; 0 for one that is not kept yet. Takes the whole id. */
  count(id: string): number
  /**
   * Adds to a conversation, or begins it. `known`: how many entries the writer knows of.
   * @throws McpError 'INVALID' where somebody else added some since
   */
  append(id: string, known: number, entries: readonly ConversationEntry[]): void
  /** Begins one that shares the first `entries` of another, by default all, and gives its id. */
  fork(id: string, entries?: number): string
  /** @throws McpError 'INVALID' where another was forked from it */
  remove(id: string): void
}
