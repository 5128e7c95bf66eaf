import { defineServer, prompt, resource, template, tool } from '@jackfield/sdk'
import { describe, expect, test } from 'vitest'
import { call, request, text } from './support.ts'

const base = { name: 'shop', version: '1.0.0' }

test('names of tools differ by case, and one name is one tool', async () => {
  const server = defineServer({
    ...base,
    tools: { get: tool({ run: () => 'small' }), Get: tool({ run: () => 'large' }) },
  })
  expect(text(await call(server, 'get'))).toBe('small')
  expect(text(await call(server, 'Get'))).toBe('large')
  await expect(call(server, 'GET')).rejects.toMatchObject({ code: -32602 })
  server.add({ tools: { get: tool({ run: () => 'new' }) } })
  expect(text(await call(server, 'get'))).toBe('new')
  const { tools } = await request(server, 'tools/list')
  expect(tools).toHaveLength(2)
})

describe.each(['public', 'private'] as const)('a list that is %s', (cacheScope) => {
  const run = () => 'x'
  const three = <T>(make: (n: number) => T): Record<string, T> => ({ a: make(1), b: make(2), c: make(3) })
  const server = defineServer({
    ...base,
    pageSize: 1,
    cache: { ttlMs: 1000, cacheScope },
    tools: three(() => tool({ run })),
    prompts: three(() => prompt({ run })),
    resources: {
      ...three((n) => resource({ uri: `x:${n}`, read: run })),
      t1: template({ uriTemplate: 'x:a/{n}', read: run }),
      t2: template({ uriTemplate: 'x:b/{n}', read: run }),
    },
  })

  test.each(['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'])(
    'has the same pages on each request (%s)',
    async (method) => {
      const scopes: unknown[] = []
      let cursor: unknown
      do {
        const page = await request(server, method, cursor === undefined ? {} : { cursor })
        scopes.push([page['cacheScope'], page['ttlMs']])
        cursor = page['nextCursor']
      } while (cursor !== undefined)
      expect(scopes.length).toBeGreaterThan(1)
      expect(scopes).toEqual(scopes.map(() => [cacheScope, 1000]))
    },
  )

  test('has cursors that stay valid', async () => {
    const first = await request(server, 'tools/list')
    const again = await request(server, 'tools/list')
    expect(again['nextCursor']).toBe(first['nextCursor'])
    const cursor = first['nextCursor']
    expect(await request(server, 'tools/list', { cursor })).toEqual(
      await request(server, 'tools/list', { cursor }),
    )
  })
})
