import { canonical } from '../request/encoding.ts'

/** One rule of a contract. `run` rejects if an implementation breaks it. */
export interface ContractRule {
  readonly name: string
  run(): Promise<void>
}

/** @throws Error naming both values, unless they are equal as JSON */
export function requireEqual(found: unknown, expected: unknown, what: string): void {
  const [a, b] = [canonical(plain(found)), canonical(plain(expected))]
  if (a !== b) throw new Error(`${what}: expected ${b}, found ${a}`)
}

/** @throws Error unless the value is defined */
export function requireDefined<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`${what}: expected a value, found none`)
  return value
}

/** Repeats a check until it succeeds; its last error after 10 s. */
export async function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  const end = performance.now() + 10_000
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (performance.now() > end) throw error
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
}

/** As JSON has it, with null for undefined. */
function plain(value: unknown): unknown {
  return value === undefined ? null : JSON.parse(JSON.stringify(value))
}
