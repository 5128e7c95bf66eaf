import type { CallToolResult, ContentBlock } from '@jackfield/sdk'
import type { CatalogTool } from './catalog.ts'

/** What one program may use. */
export interface CodeLimits {
  /** Bytes of memory, at least 16 MiB, which the engine starts with. Default 64 MiB. */
  memoryBytes?: number
  /** Milliseconds of computing. Default 10 000. */
  cpuMs?: number
  /** Milliseconds in all, without those in which a person is asked about a call of it. Default 120 000. */
  totalMs?: number
  /** Characters that it may log, show as text and return. Default 100 000. */
  outputCharacters?: number
  /** Calls of tools. Default 200. */
  calls?: number
}

/** How a program is run. */
export interface CodeOptions {
  limits?: CodeLimits
  /** Only tools of these servers are there. Default all. */
  servers?: readonly string[]
  /** Only tools for which this is true are there. Default all. */
  isOn?: (tool: CatalogTool) => boolean
  /** The conversation its calls belong to. */
  conversation?: string
  /** The activity row that caused it. */
  cause?: number
  signal?: AbortSignal
}

/** One call that a program made, in the order they were made. */
export interface CodeCall {
  readonly server: string
  /** The server's own name of the tool. */
  readonly tool: string
  /**
   * `failed`: the tool said so. `error`: there is no result. `unknown`: its answer was lost or not waited for, and nobody
   * can say whether the tool did its work.
   */
  readonly outcome: 'ok' | 'failed' | 'denied' | 'error' | 'unknown'
  /** The activity row; null where the call never reached the broker. */
  readonly activity: number | null
}

/** What became of a program. */
export interface CodeRun {
  /** `limit`: it was ended because it used more than it may. */
  readonly outcome: 'ok' | 'error' | 'limit' | 'cancelled'
  /** What it returned, as JSON; undefined where that was nothing. */
  readonly value?: unknown
  /** Why it did not end well, and where in the program. */
  readonly error?: string
  /** What it logged, one text for each line. */
  readonly logs: readonly string[]
  /** Every call with what came of it. What is here has happened, also where the program failed later. */
  readonly calls: readonly CodeCall[]
  /** What it chose to show, in order. */
  readonly shown: readonly ContentBlock[]
  /** All of this as a model is told it, with the content that the program chose to show. */
  readonly result: CallToolResult
  /** The activity row; its calls have it as their cause. */
  readonly activity: number
}

/**
 * Programs over tools: JavaScript, or TypeScript whose types can be taken off, that calls tools of the servers and
 * nothing else. It runs in WebAssembly in a process of its own, without network, files, processes or modules; every
 * call goes through policy as caller `code`.
 */
export interface Code {
  /**
   * Runs the body of an async function. Never throws for what the program does; throws an McpError 'INVALID' where it
   * is too long or too many are running.
   */
  run(program: string, options?: CodeOptions): Promise<CodeRun>
  /** The declarations a program can use, as TypeScript. `tools`: only these, by their own or their host names. `isOn`: only those for which it is true. */
  types(options?: {
    servers?: readonly string[]
    tools?: readonly string[]
    isOn?: (tool: CatalogTool) => boolean
  }): string
}
