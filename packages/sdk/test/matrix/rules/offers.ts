import type { Client } from '@jackfield/sdk/client'
import { expect } from 'vitest'
import type { RawClient } from '../raw-client.ts'
import type { Rule } from '../rule.ts'
import { resultsOf } from '../scripted-server.ts'
import { at, part } from '../transcript.ts'

const lists = {
  'tools/list': ['tools', 'name'],
  'prompts/list': ['prompts', 'name'],
  'resources/list': ['resources', 'uri'],
  'resources/templates/list': ['resourceTemplates', 'uriTemplate'],
} as const

/** What a server declares and lists. */
export const offerRules: readonly Rule[] = [
  {
    title: 'a server declares exactly the capabilities it has',
    async holds(cell) {
      const full = await declared(await cell.raw(), cell.stateless)
      const changing = { listChanged: true }
      expect(full).toMatchObject({
        tools: changing,
        prompts: changing,
        resources: { ...changing, subscribe: true },
        logging: {},
        ...(cell.version >= '2025-03-26' && { completions: {} }),
      })
      const bare = await declared(await cell.raw(undefined, 'bare'), cell.stateless)
      for (const name of ['tools', 'prompts', 'resources', 'completions'])
        expect(bare).not.toHaveProperty(name)
    },
  },
  {
    title: 'methods without a declared capability are not found',
    async holds(cell) {
      const raw = await cell.raw(undefined, 'bare')
      const ref = { type: 'ref/prompt', name: 'none' }
      for (const [method, params] of [
        ['tools/list', {}],
        ['tools/call', { name: 'none' }],
        ['prompts/list', {}],
        ['prompts/get', { name: 'none' }],
        ['resources/list', {}],
        ['resources/read', { uri: 'rules://text' }],
        ['completion/complete', { ref, argument: { name: 'a', value: '' } }],
      ] as const) {
        const { error } = await raw.send(method, params)
        expect(error, method).toMatchObject({ code: -32601 })
      }
    },
  },
  {
    title: 'a client uses no undeclared capability of its server',
    async holds(cell) {
      const { client, received } = await cell.connectToScript({ capabilities: {} })
      const before = received.length
      for (const work of everyList(client)) await expect(work()).resolves.toEqual([])
      for (const work of [
        () => client.request('tools/list'),
        () => client.watch({ toolsListChanged: true }),
        () => client.call('any'),
        () => client.read('rules://text'),
        () => client.prompt('any'),
      ]) {
        await expect(work()).rejects.toMatchObject({ code: 'CAPABILITY' })
      }
      expect(received).toHaveLength(before)
    },
  },
  {
    title: 'lists are the same for every connection and in the same order, independent of earlier requests',
    async holds(cell) {
      const [one, other] = [await cell.raw(), await cell.raw({ capabilities: {} })]
      for (const [method, [member, key]] of Object.entries(lists)) {
        const first = await everyEntry(one, method, member)
        await one.call('echo', { text: 'between' })
        await one.send('resources/read', { uri: 'rules://items/one' })
        expect(await everyEntry(one, method, member)).toEqual(first)
        expect(await everyEntry(other, method, member)).toEqual(first)
        expect(new Set(first.map((entry) => at(entry, key))).size).toBe(first.length)
      }
    },
  },
  {
    title: 'a cursor stays valid, on another connection too, and an invalid one is rejected',
    async holds(cell) {
      const [one, other] = [await cell.raw(), await cell.raw({ capabilities: {} })]
      const first = await one.ask('tools/list')
      const { nextCursor: cursor } = first
      expect(await one.ask('tools/list', { cursor: '' })).toEqual(first)
      const second = await one.ask('tools/list', { cursor })
      expect(await one.ask('tools/list', { cursor })).toEqual(second)
      expect(await other.ask('tools/list', { cursor })).toEqual(second)
      const { error } = await one.send('tools/list', { cursor: 'made up' })
      expect(error).toMatchObject({ code: -32602 })
    },
  },
  {
    title: 'a client follows every cursor unchanged, to pages of any size, to the end',
    async holds(cell) {
      const sizes = [2, 0, 5, 1]
      const cursors = [undefined, '', 'page|2|é', '3']
      const asked: unknown[] = []
      const page = (member: string, key: string) => (params: object) => {
        const cursor = at(params, 'cursor')
        asked.push(cursor)
        const place = cursors.indexOf(typeof cursor === 'string' ? cursor : undefined)
        const entries = Array.from({ length: sizes[place] ?? 0 }, (_, n) => ({
          name: 'n',
          ...(member === 'tools' && { inputSchema: { type: 'object' } }),
          [key]: `a:${place}.${n}`,
        }))
        const next = cursors[place + 1]
        return resultsOf(cell.version).listed({
          [member]: entries,
          ...(next !== undefined && { nextCursor: next }),
        })
      }
      const { client } = await cell.connectToScript({
        methods: Object.fromEntries(
          Object.entries(lists).map(([method, [member, key]]) => [
            method,
            ({ params }: { params: object }) => page(member, key)(params),
          ]),
        ),
      })
      for (const list of everyList(client)) {
        asked.length = 0
        expect(await list()).toHaveLength(8)
        expect(asked).toEqual(cursors)
      }
    },
  },
]

function everyList(client: Client): (() => Promise<unknown[]>)[] {
  return [() => client.tools(), () => client.prompts(), () => client.resources(), () => client.templates()]
}

async function everyEntry(raw: RawClient, method: string, member: string): Promise<unknown[]> {
  const all: unknown[] = []
  let cursor: unknown
  do {
    const page = await raw.ask(method, cursor === undefined ? {} : { cursor })
    const entries = page[member]
    if (Array.isArray(entries)) all.push(...entries)
    cursor = page['nextCursor']
  } while (cursor !== undefined)
  return all
}

async function declared(raw: RawClient, isStateless: boolean): Promise<object> {
  return part(isStateless ? await raw.ask('server/discover') : raw.initializeResult, 'capabilities')
}
