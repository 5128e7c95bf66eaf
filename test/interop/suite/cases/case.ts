import { expect } from 'vitest'
import { isObject } from '../../../setup/json.ts'
import type { Bench } from '../bench.ts'
import type { Call, Refusal } from '../offer.ts'
import type { Called, Failed, TestClient } from '../test-client.ts'

/** One behaviour of one pair. */
export interface Case {
  readonly name: string
  run(bench: Bench): Promise<void>
}

/** The case, if the server offers what it is about. */
export function given<T>(offered: T | undefined, make: (offered: T) => Case[]): Case[] {
  return offered === undefined ? [] : make(offered)
}

export function does(name: string, run: Case['run']): Case {
  return { name, run }
}

export function calling(client: TestClient, { tool, args }: Call): Promise<Called> {
  return client.call(tool, args)
}

/** All the text a result has. */
export function textOf({ content }: Called): string {
  return content.map((block) => (isObject(block) && block['type'] === 'text' ? block['text'] : '')).join('')
}

/** What a call is refused with; a call that succeeds fails the case. */
export async function failureOf({ kind }: Bench, call: Promise<unknown>): Promise<Failed> {
  let result: unknown
  try {
    result = await call
  } catch (error) {
    return kind.failure(error)
  }
  throw new Error(`It was not refused: ${JSON.stringify(result)?.slice(0, 300)}`)
}

/** Checks that a call fails in the way of its server. */
export async function expectRefusal(bench: Bench, refusal: Refusal, call: Promise<Called>): Promise<void> {
  if (refusal.as === 'result') {
    const result = await call
    expect(result).toMatchObject({ isError: true })
    expect(textOf(result)).not.toBe('')
    return
  }
  const failed = await failureOf(bench, call)
  expect(failed).toMatchObject({ kind: 'rpc', ...(refusal.code !== undefined && { code: refusal.code }) })
}
