import { defineServer, RpcError, resource, ToolError, template } from '@jackfield/sdk'
import { describe, expect, test, vi } from 'vitest'
import { request } from './support.ts'

const base = { name: 'shop', version: '1.0.0' }
const bytes = new Uint8Array(100_000).map((_, i) => i % 251)
const reads = vi.fn()

const server = defineServer({
  ...base,
  resources: {
    text: resource({ uri: 'test://text', read: () => 'hello' }),
    markdown: resource({ uri: 'test://md', mimeType: 'text/markdown', read: async () => '# hi' }),
    bytes: resource({ uri: 'test://bytes', mimeType: 'image/png', read: () => bytes }),
    raw: resource({ uri: 'test://raw', read: () => new Uint8Array([1]) }),
    one: resource({ uri: 'test://one', read: () => ({ uri: 'test://one#a', text: 'a' }) }),
    several: resource({
      uri: 'test://several',
      cache: { ttlMs: 5, cacheScope: 'public' },
      read: () => [
        { uri: 'test://several/1', text: 'a' },
        { uri: 'test://several/2', blob: 'AA==' },
      ],
    }),
    whole: resource({
      uri: 'test://whole',
      cache: { ttlMs: 5, cacheScope: 'public' },
      read: () => ({
        contents: [{ uri: 'test://whole', text: '' }],
        cache: { ttlMs: 9 },
        meta: { 'a.b/c': 1 },
      }),
    }),
    empty: resource({ uri: 'test://empty', read: () => '' }),
    gone: resource({ uri: 'test://gone', read: () => undefined }),
    denied: resource({
      uri: 'test://denied',
      read: () => {
        throw new RpcError(-32001, 'denied')
      },
    }),
    told: resource({
      uri: 'test://told',
      read: () => {
        throw new ToolError('The disk is full.')
      },
    }),
    wrong: resource({ uri: 'test://wrong', read: () => JSON.parse('{"uri":"test://wrong"}') }),
    exact: resource({ uri: 'test://item/special', read: () => 'exact' }),
    item: template({
      uriTemplate: 'test://item/{id}',
      mimeType: 'application/json',
      read: (variables, _ctx, uri) => {
        reads(variables, uri)
        return variables.id === '0' ? undefined : `item ${variables.id}`
      },
    }),
    later: template({ uriTemplate: 'test://item/{+path}', read: ({ path }) => `path ${path}` }),
  },
})

const read = (uri: unknown, params?: object) => request(server, 'resources/read', { uri, ...params })

describe('reading', () => {
  test.each([
    ['test://text', { contents: [{ uri: 'test://text', mimeType: 'text/plain', text: 'hello' }] }],
    ['test://md', { contents: [{ uri: 'test://md', mimeType: 'text/markdown', text: '# hi' }] }],
    ['test://raw', { contents: [{ uri: 'test://raw', mimeType: 'application/octet-stream', blob: 'AQ==' }] }],
    ['test://one', { contents: [{ uri: 'test://one#a', text: 'a' }] }],
    ['test://empty', { contents: [{ uri: 'test://empty', mimeType: 'text/plain', text: '' }] }],
    [
      'test://several',
      {
        contents: [
          { uri: 'test://several/1', text: 'a' },
          { uri: 'test://several/2', blob: 'AA==' },
        ],
        ttlMs: 5,
        cacheScope: 'public',
      },
    ],
    [
      'test://whole',
      {
        contents: [{ uri: 'test://whole', text: '' }],
        ttlMs: 9,
        cacheScope: 'public',
        _meta: { 'a.b/c': 1 },
      },
    ],
    [
      'test://item/special',
      { contents: [{ uri: 'test://item/special', mimeType: 'text/plain', text: 'exact' }] },
    ],
    ['test://item/7', { contents: [{ uri: 'test://item/7', mimeType: 'application/json', text: 'item 7' }] }],
    ['test://item/7/8', { contents: [{ uri: 'test://item/7/8', mimeType: 'text/plain', text: 'path 7/8' }] }],
  ])('%s', async (uri, result) => {
    expect(await read(uri)).toEqual(result)
  })

  test('bytes survive as base64', async () => {
    const result = await read('test://bytes')
    expect(result).toEqual({
      contents: [{ uri: 'test://bytes', mimeType: 'image/png', blob: Buffer.from(bytes).toString('base64') }],
    })
  })

  test('a template gets decoded variables and the URI as it was requested', async () => {
    await read('test://item/a%20b')
    expect(reads).toHaveBeenLastCalledWith({ id: 'a b' }, 'test://item/a%20b')
  })

  test('a result that depends on input is not cacheable', async () => {
    expect(await read('test://several', { inputResponses: {} })).toMatchObject({
      ttlMs: 0,
      cacheScope: 'private',
    })
  })
})

describe('a resource that cannot be read', () => {
  test.each(['test://nowhere', 'test://gone', 'test://item/0', 'constructor'])(
    '%s does not exist, and is never an empty answer',
    async (uri) => {
      await expect(read(uri)).rejects.toMatchObject({ message: 'Resource not found', data: { uri } })
    },
  )

  test('each revision has its own error code for a missing resource', async () => {
    const error = await read('test://nowhere').catch((reason: unknown) => reason)
    if (!(error instanceof RpcError)) throw new Error('expected an RpcError')
    const { revisions } = await import('../../src/protocol/revisions.ts')
    expect(revisions['2026-07-28'].error(error).code).toBe(-32602)
    expect(revisions['2025-11-25'].error(error).code).toBe(-32002)
  })

  test.each([
    ['no URI', undefined, '"uri" must be a string'],
    ['a long URI', `test://${'a'.repeat(8192)}`, '"uri" must have at most 8192 characters'],
  ])('%s', async (_, uri, message) => {
    await expect(read(uri)).rejects.toMatchObject({ code: -32602, message: expect.stringContaining(message) })
  })

  test('errors reveal only what their author intends', async () => {
    await expect(read('test://denied')).rejects.toMatchObject({ code: -32001, message: 'denied' })
    await expect(read('test://told')).rejects.toMatchObject({ code: -32602, message: 'The disk is full.' })
    await expect(read('test://wrong')).rejects.toBeInstanceOf(TypeError)
  })
})
