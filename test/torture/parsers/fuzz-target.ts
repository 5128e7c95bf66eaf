import { McpError, RpcError } from '../../../packages/sdk/src/jsonrpc/error.ts'
import type { Random } from '../random.ts'
import type { Form } from './mutate.ts'

/** One parser and what it is fed. */
export interface Target {
  name: string
  /** How many of all inputs are for it, compared with the others. */
  share: number
  seeds: readonly [string, ...string[]]
  /** What the seeds are written in. Default: JSON, where they are. */
  form?: Form
  /** Gives it one input, and throws where what it makes of that is wrong. */
  run(input: Buffer, random: Random): Promise<void> | void
  /** Whether it may throw this error. */
  allows(error: unknown): boolean
}

/** The errors of the SDK. */
export function isTyped(error: unknown): boolean {
  return error instanceof RpcError || error instanceof McpError
}

/** For parsers that say what they found without throwing. */
export function never(): boolean {
  return false
}

/** What an input broke, as an error that no target allows. */
export class Broken extends Error {}

/** @throws Broken */
export function mustHold(holds: boolean, what: string): void {
  if (!holds) throw new Broken(what)
}

/** Cuts bytes at random places. */
export function cut(bytes: Buffer, random: Random): Buffer[] {
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = Math.min(bytes.length, at + random.between(1, random.fraction() < 0.3 ? 3 : 200))
    parts.push(bytes.subarray(at, end))
    at = end
  }
  return parts
}
