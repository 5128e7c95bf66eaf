import type { CallToolResult, ContentBlock } from '@jackfield/sdk'

/** A result of a tool that was too large to be given to a model whole. */
export interface KeptResult {
  readonly id: string
  /** `jackfield://results/<id>` */
  readonly uri: string
  readonly server: string
  readonly tool: string
  /** The conversation it was given to. */
  readonly conversation: string | null
  /** The activity row of the call. */
  readonly activity: number | null
  /** ISO 8601. */
  readonly at: string
  readonly result: CallToolResult
}

/** Which part of a kept result is wanted. */
export interface ResultPart {
  /**
   * A JSON Pointer (`/items/3/name`), or a path as in jq: `.items[0].name`, `.items[2:5]`, `.items[].name`,
   * `.items | length`, `. | keys`. Default: the whole text.
   */
  path?: string
  /** The first character wanted, counted from 0. Default 0. */
  from?: number
  /** So many characters at most. */
  characters?: number
}

/** A part of a kept result. */
export interface ResultText {
  readonly text: string
  /** Where the text begins. */
  readonly from: number
  /** Characters that there are in all. */
  readonly total: number
  /** Where the rest begins; undefined at the end. */
  readonly next?: number
}

/** Results that were too large for a model, kept whole for a week or until there is no more room. */
export interface Results {
  /**
   * What a model is given of a result: all of it, where that is at most `characters` of text; else a beginning of at
   * most 1 200 tokens by estimate, with how to read the rest.
   */
  fit(
    result: CallToolResult,
    options: { characters: number; server?: string; tool?: string; conversation?: string; activity?: number },
  ): ContentBlock[]
  /** One by its id or URI; undefined where it is gone. */
  get(id: string): KeptResult | undefined
  /**
   * Text of one, by its id or URI. What a conversation was given is kept from every other, but not from
   * its forks.
   * @throws McpError 'INVALID' where it is gone or the path does not fit it
   */
  read(id: string, part?: ResultPart, options?: { conversation?: string }): ResultText
}
