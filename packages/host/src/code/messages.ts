/** What a program's thread is started with. */
export interface Job {
  program: string
  /** Servers with the tools they have, by their own names. */
  servers: readonly (readonly [server: string, tools: readonly string[]])[]
  memoryBytes: number
  cpuMs: number
  outputCharacters: number
  calls: number
}

/** What the thread tells. */
export type FromThread =
  | { type: 'call'; id: number; server: string; tool: string; arguments: string }
  | { type: 'log'; text: string }
  | { type: 'show'; handle: number }
  | { type: 'show'; text: string }
  | { type: 'end'; outcome: 'ok' | 'error' | 'limit'; value?: string; error?: string }

/** The answer to one call, as JSON text that the program reads: `{ result }` or `{ error, denied }`. */
export interface ToThread {
  id: number
  answer: string
}
