import { join } from 'node:path'
import { prompt } from '@jackfield/sdk'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { CatalogPrompt } from '../../src/types/index.ts'
import { folder, started } from '../fixtures/hosts.ts'
import { shelf } from '../library/shelf.ts'

const letter = prompt({
  input: z.object({
    to: z.string(),
    tone: z.string().optional(),
    password: z.string().optional(),
    code: z.string().describe('The API key of your account').optional(),
  }),
  run: ({ to }) => `Write to ${to}`,
})

/** A host in a folder, and its prompt. */
async function hostIn(url: string, options: { store: string; workspace?: string }) {
  const host = await started({ servers: { post: { url } }, ...options })
  const [found] = host.prompts()
  if (found === undefined) throw new Error('the server has a prompt')
  const entry: CatalogPrompt = found
  return { host, entry }
}

describe('the last arguments of prompts', () => {
  test('are available in the same folder only', async () => {
    const store = join(folder(), 'store.db')
    const { url } = await shelf({ prompts: { letter } })
    const first = await hostIn(url, { store, workspace: '/work/a' })
    expect(first.host.promptValues.of(first.entry)).toEqual({})
    first.host.promptValues.keep(first.entry, { to: 'Ada', tone: 'warm' })
    await first.host.close()

    const again = await hostIn(url, { store, workspace: '/work/a' })
    expect(again.host.promptValues.of(again.entry)).toEqual({ to: 'Ada', tone: 'warm' })
    for (const workspace of ['/work/b', undefined]) {
      const other = await hostIn(url, { store, ...(workspace !== undefined && { workspace }) })
      other.host.promptValues.keep(other.entry, workspace === undefined ? { to: 'Grace' } : {})
      expect(other.host.promptValues.of(other.entry)).toEqual({})
    }
    expect(again.host.promptValues.of(again.entry)).toEqual({ to: 'Ada', tone: 'warm' })
  })

  test("belong to the server's identity: another server with that name gets none", async () => {
    const store = join(folder(), 'store.db')
    const workspace = '/work/a'
    const first = await hostIn((await shelf({ prompts: { letter } })).url, { store, workspace })
    first.host.promptValues.keep(first.entry, { to: 'Ada' })
    const other = await hostIn((await shelf({ prompts: { letter } })).url, { store, workspace })
    expect(other.host.promptValues.of(other.entry)).toEqual({})
  })

  test('are never secrets, by name, description or content', async () => {
    const store = join(folder(), 'store.db')
    const { url } = await shelf({ prompts: { letter } })
    const { host, entry } = await hostIn(url, { store, workspace: '/work/a' })
    await host.secrets.set('card', 'sk-very-secret-value-1')
    const given = { to: 'x sk-very-secret-value-1', tone: 'y'.repeat(2_001), password: 'p', code: 'c' }
    host.promptValues.keep(entry, given)
    expect(host.promptValues.of(entry)).toEqual({})
  })

  test('are removed if left out', async () => {
    const store = join(folder(), 'store.db')
    const { url } = await shelf({ prompts: { letter } })
    const { host, entry } = await hostIn(url, { store, workspace: '/work/a' })
    host.promptValues.keep(entry, { to: 'Ada', tone: 'warm' })
    host.promptValues.keep(entry, { to: 'Grace', tone: '' })
    expect(host.promptValues.of(entry)).toEqual({ to: 'Grace' })
  })
})
