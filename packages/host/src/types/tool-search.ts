import type { CatalogTool } from './catalog.ts'

/** The token cost of one tool's definition in a request to a model. */
export interface ToolWeight {
  /** As in `CatalogTool`. */
  readonly name: string
  /** An estimate, see `ToolMeter.tokens`. */
  readonly tokens: number
}

/** The tokens of all definitions of all servers. */
export interface ToolMeter {
  /**
   * Tokens of all definitions in one request, estimated as one token for 3.5 bytes of their JSON. The estimate is close
   * for most tokenizers.
   */
  readonly tokens: number
  /** The number of all tools. */
  readonly tools: number
  /** The largest first, also within each server. */
  readonly servers: readonly {
    readonly server: string
    readonly tokens: number
    readonly tools: readonly ToolWeight[]
  }[]
  /** The assumed context of the model. */
  readonly contextTokens: number
  /** The share of the context that the definitions take, from 0 to 1. */
  readonly share: number
  /** Beyond either limit, a conversation offers search instead of the definitions. */
  readonly limits: { readonly share: number; readonly tools: number }
  /** Whether a new conversation would offer search. */
  readonly deferred: boolean
  /** The reason, in one sentence for a person. */
  readonly reason: string
}

/** A tool that matches a search. */
export interface ToolMatch {
  /** The tool as the catalog has it. */
  readonly tool: CatalogTool
  /** Relevance; comparable within one search only. */
  readonly score: number
}

/** The result of a search. */
export interface ToolSearchResult {
  /** The best first. */
  readonly matches: readonly ToolMatch[]
  /** The number of all matches. */
  readonly total: number
}

/** Tool search, and the token cost of definitions. It uses the known lists and starts no server. */
export interface ToolSearchService {
  /** `contextTokens`: the context of the model, default 128 000. `isOn`: only tools for which it returns true. */
  meter(options?: { contextTokens?: number; isOn?: (tool: CatalogTool) => boolean }): ToolMeter
  /**
   * Searches names, titles, descriptions, parameters and servers (BM25, with common synonyms). An exact name ranks
   * first. `limit`: default 10, at most 100. `isOn`: only tools for which it returns true.
   */
  search(
    query: string,
    options?: { server?: string; limit?: number; isOn?: (tool: CatalogTool) => boolean },
  ): ToolSearchResult
}
