import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, type ConnectOptions, connect } from '@jackfield/sdk/client'
import { createMemoryServer, type MemoryOptions, type MemoryServer } from '@jackfield/server-memory'
import { onTestFinished } from 'vitest'

/** A revision with sessions, and the one without. */
export const revisions = ['2025-06-18', '2026-07-28'] as const
export type Revision = (typeof revisions)[number]

/** A file path in a folder that is removed with the test. */
export function temporaryFile(name = 'memory.db'): string {
  const folder = mkdtempSync(join(tmpdir(), 'memory-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, name)
}

/** A memory server that is closed with the test. */
export function memoryServer(options: Partial<MemoryOptions> = {}): MemoryServer {
  const end = new AbortController()
  onTestFinished(() => end.abort())
  return createMemoryServer({ file: ':memory:', signal: end.signal, ...options })
}

/** A client of a memory server, closed with the test. */
export async function clientOf(
  revision: Revision,
  server: MemoryServer = memoryServer(),
  options: ConnectOptions = {},
): Promise<Client<MemoryServer>> {
  const client = await connect(server, { revisions: [revision], ...options })
  onTestFinished(() => client.close())
  return client
}

export const alice = { name: 'Alice', entityType: 'person', observations: ['Prefers tea', 'Lives in Zürich'] }
export const acme = { name: 'Acme', entityType: 'company', observations: ['Builds rockets'] }
export const worksAt = { from: 'Alice', to: 'Acme', relationType: 'works_at' }

/** Stores two entities and a relation. */
export async function fill(client: Client<MemoryServer>): Promise<void> {
  await client.call('create_entities', { entities: [alice, acme] })
  await client.call('create_relations', { relations: [worksAt] })
}

/** The text of a result. */
export function textOf(result: { content: readonly { type: string; text?: string }[] }): string {
  return result.content.flatMap(({ type, text }) => (type === 'text' ? [text ?? ''] : [])).join('\n')
}

/** The JSON of a resource. */
export async function readJson(client: Client<MemoryServer>, uri: string): Promise<unknown> {
  const { contents } = await client.read(uri, { cache: 'bypass' })
  const [first] = contents
  if (first === undefined || !('text' in first)) throw new Error(`${uri} has no text`)
  return JSON.parse(first.text)
}

/** Resolves when a condition holds. */
export async function until(condition: () => boolean, what: string, withinMs = 20_000): Promise<void> {
  const deadline = performance.now() + withinMs
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`Not within ${withinMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
