import type { CallToolResult, ContentBlock } from '@jackfield/sdk'
import type { CatalogTool } from './catalog.ts'

/** Limits of one program. */
export interface CodeLimits {
  /** Maximum bytes of memory, at least the 16 MiB that the engine starts with. Default 64 MiB. */
  memoryBytes?: number
  /** Maximum CPU time in milliseconds. Default 10 000. */
  cpuMs?: number
  /** Maximum milliseconds, without the time that questions about its calls are open. Default 120 000. */
  totalMs?: number
  /** Maximum characters of output: logs, shown text and the returned value. Default 100 000. */
  outputCharacters?: number
  /** Maximum calls of tools. Default 200. */
  calls?: number
}

/** Options of running a program. */
export interface CodeOptions {
  /** Limits of the program. Default: that of each member. */
  limits?: CodeLimits
  /** Only tools of these servers are available. Default all. */
  servers?: readonly string[]
  /** Only tools for which this returns true are available. Default all. */
  isOn?: (tool: CatalogTool) => boolean
  /** The conversation its calls belong to. */
  conversation?: string
  /** The activity row that caused the program. */
  cause?: number
  /** The program's file name in error messages. Default: `program.js`. */
  file?: string
  /** Ends the program with the outcome `cancelled`. */
  signal?: AbortSignal
}

/** One call made by a program. */
export interface CodeCall {
  /** The configured server name. */
  readonly server: string
  /** The server's own name of the tool. */
  readonly tool: string
  /**
   * `failed`: the result has `isError`. `error`: there is no result. `unknown`: the response was lost or not awaited, so
   * the tool may or may not have run.
   */
  readonly outcome: 'ok' | 'failed' | 'denied' | 'error' | 'unknown'
  /** The activity row; null where the call never reached the broker. */
  readonly activity: number | null
}

/** The result of a program. */
export interface CodeRun {
  /** `limit`: it was ended because it exceeded a limit. */
  readonly outcome: 'ok' | 'error' | 'limit' | 'cancelled'
  /** The returned value as JSON; undefined if there is none. */
  readonly value?: unknown
  /** The error, with its position in the program. */
  readonly error?: string
  /** The logged lines. */
  readonly logs: readonly string[]
  /** Every call with its outcome. These calls were made, even if the program failed later. */
  readonly calls: readonly CodeCall[]
  /** The content that the program showed, in order. */
  readonly shown: readonly ContentBlock[]
  /** The whole result as text for a model, with the shown content. */
  readonly result: CallToolResult
  /** The activity row; its calls have it as their cause. */
  readonly activity: number
}

/**
 * Programs that call tools: JavaScript, or TypeScript with erasable types. A program runs in WebAssembly in its own
 * process, without network, files, processes or modules; every call goes through policy with the caller `code`.
 */
export interface Code {
  /**
   * Runs the body of an async function. Errors of the program are in the result.
   * @throws McpError 'INVALID' if the program is too long or too many programs are running
   */
  run(program: string, options?: CodeOptions): Promise<CodeRun>
  /** The TypeScript declarations for a program. `tools`: only these, by their own or their host names. `isOn`: only tools for which it returns true. */
  types(options?: {
    servers?: readonly string[]
    tools?: readonly string[]
    isOn?: (tool: CatalogTool) => boolean
  }): string
}
