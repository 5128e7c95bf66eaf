/** What a program's process is to run. */
export interface Job {
  program: string
  /** Servers with the tools they have, by their own names. */
  servers: readonly (readonly [server: string, tools: readonly string[]])[]
  memoryBytes: number
  cpuMs: number
  outputCharacters: number
  calls: number
}

/** What the process tells. */
export type FromProgram =
  | { type: 'call'; id: number; server: string; tool: string; arguments: string }
  | { type: 'log'; text: string }
  | { type: 'show'; handle: number }
  | { type: 'show'; text: string }
  | { type: 'end'; outcome: 'ok' | 'error' | 'limit'; value?: string; error?: string }

/** What the process is told: first its job, then answers to calls, as JSON text that the program reads. */
export type ToProgram =
  | { type: 'job'; job: Job }
  /** `answer` is `{ result }` or `{ error, denied }`. */
  | { type: 'answer'; id: number; answer: string }
