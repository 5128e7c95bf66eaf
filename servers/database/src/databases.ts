import { ToolError } from '@jackfield/sdk'
import type { Limits, Target } from './config.ts'
import type { Cursors } from './cursors.ts'
import { type Engine, EngineError } from './engine.ts'

/** One database of a server. */
export interface Database {
  readonly name: string
  readonly target: Target
  readonly engine: Engine
}

/** What tools, resources and prompts work on. */
export interface Databases {
  readonly all: readonly Database[]
  readonly limits: Limits
  readonly cursors: Cursors
  readonly allowWrites: boolean
  /** Removes passwords of connection URLs from a text for the client. */
  redact(text: string): string
  /** Notifies subscribed clients that a database was changed. */
  notifyChanged(name: string, isSchemaChanged: boolean): void
}

/**
 * Runs `work` on a database within the time limit.
 * @param toError creates the error for a message of the engine, which contains no passwords
 */
export async function useDatabase<T>(
  databases: Databases,
  name: string,
  signal: AbortSignal,
  work: (database: Database, signal: AbortSignal) => Promise<T>,
  toError: (message: string) => Error = (message) => new ToolError(message),
): Promise<T> {
  const database = databases.all.find((one) => one.name === name)
  if (database === undefined) throw toError(`There is no database "${name}".`)
  try {
    return await work(database, AbortSignal.any([signal, AbortSignal.timeout(databases.limits.timeoutMs)]))
  } catch (error) {
    if (error instanceof EngineError) throw toError(databases.redact(`${name}: ${error.message}`))
    throw error
  }
}
