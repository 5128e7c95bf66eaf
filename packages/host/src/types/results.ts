import type { CallToolResult, ContentBlock } from '@jackfield/sdk'

/** A tool result that was too large for a model. */
export interface StoredResult {
  /** Unique in the store. */
  readonly id: string
  /** `jackfield://results/<id>` */
  readonly uri: string
  /** The configured server name. */
  readonly server: string
  /** The server's own name of the tool. */
  readonly tool: string
  /** The conversation of the call. */
  readonly conversation: string | null
  /** The activity row of the call. */
  readonly activity: number | null
  /** ISO 8601. */
  readonly at: string
  /** The whole result as released to the caller. */
  readonly result: CallToolResult
}

/** Selects a part of a stored result. */
export interface ResultPart {
  /**
   * A JSON Pointer (`/items/3/name`), or a path as in jq: `.items[0].name`, `.items[2:5]`, `.items[].name`,
   * `.items | length`, `. | keys`. Default: the whole text.
   */
  path?: string
  /** The first character, counted from 0. Default 0. */
  from?: number
  /** The maximum number of characters. */
  characters?: number
}

/** A part of a stored result. */
export interface ResultText {
  /** The part. */
  readonly text: string
  /** The index of the first character. */
  readonly from: number
  /** The total number of characters. */
  readonly total: number
  /** The index of the next part; undefined at the end. */
  readonly next?: number
}

/** Results that were too large for a model, stored for a week, or shorter if the space runs out. */
export interface Results {
  /**
   * The result as a model gets it: whole if its text has at most `characters`; otherwise a beginning of about 1 200
   * tokens at most, with a note on how to read the rest.
   */
  fit(
    result: CallToolResult,
    options: { characters: number; server?: string; tool?: string; conversation?: string; activity?: number },
  ): ContentBlock[]
  /** A stored result by id or URI; undefined if it does not exist any more. */
  get(id: string): StoredResult | undefined
  /**
   * Text of a stored result, by id or URI. A result is readable in its own conversation and its forks only.
   * @throws McpError 'NOT_FOUND' if it does not exist any more, 'INVALID' if the path does not match it
   */
  read(id: string, part?: ResultPart, options?: { conversation?: string }): ResultText
}
