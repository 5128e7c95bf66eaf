import type { CatalogTool } from './catalog.ts'

/** What one tool's definition costs in every request to a model. */
export interface ToolWeight {
  readonly name: string
  /** An estimate, see `ToolMeter.tokens`. */
  readonly tokens: number
}

/** What the tools of all servers cost when a model is given them in full. */
export interface ToolMeter {
  /**
   * Tokens of all definitions, as one request would carry them: an estimate of one token for every 3.5 bytes of their
   * JSON, which is close for most tokenizers and exact for none.
   */
  readonly tokens: number
  readonly tools: number
  /** The dearest first, and each one's tools too. */
  readonly servers: readonly {
    readonly server: string
    readonly tokens: number
    readonly tools: readonly ToolWeight[]
  }[]
  /** The model's context that is reckoned with. */
  readonly contextTokens: number
  /** The part of the context that the definitions take, from 0 to 1. */
  readonly share: number
  /** Past either of these, a conversation offers search in place of the definitions. */
  readonly limits: { readonly share: number; readonly tools: number }
  /** Whether a new conversation would offer search. */
  readonly deferred: boolean
  /** Why, in one sentence for a person. */
  readonly why: string
}

/** One tool that fits a search. */
export interface ToolMatch {
  readonly tool: CatalogTool
  /** Higher fits better; comparable within one search only. */
  readonly score: number
}

/** What a search found. */
export interface ToolSearch {
  /** The best first. */
  readonly matches: readonly ToolMatch[]
  /** How many fit at all. */
  readonly total: number
}

/** Finding the right one among many tools, and what they cost. It looks at lists that are there and starts nothing. */
export interface Scale {
  /** `contextTokens`: the context of the model in question, default 128 000. `isOn`: only tools for which it is true. */
  meter(options?: { contextTokens?: number; isOn?: (tool: CatalogTool) => boolean }): ToolMeter
  /**
   * Tools that fit the words: by name, title, description, parameters and server (BM25, with common synonyms). A name
   * written out comes first. `limit`: default 10, at most 100. `isOn`: only tools for which it is true.
   */
  search(
    query: string,
    options?: { server?: string; limit?: number; isOn?: (tool: CatalogTool) => boolean },
  ): ToolSearch
}
