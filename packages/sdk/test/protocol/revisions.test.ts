import { protocolVersions, RpcError } from '@jackfield/sdk'
import { describe, expect, it } from 'vitest'
import { methodRow } from '../../src/protocol/methods.ts'
import { revisionOf, revisions } from '../../src/protocol/revisions.ts'

const server = { name: 'shop', version: '1.0.0', title: 'Shop', websiteUrl: 'https://shop.example' }
const tool = {
  name: 'buy',
  title: 'Buy',
  description: 'Buys',
  inputSchema: { type: 'object' },
  outputSchema: { type: 'object' },
  annotations: { readOnlyHint: false },
  icons: [{ src: 'https://shop.example/i.png' }],
  _meta: { a: 1 },
}

describe('messages of a revision', () => {
  it.each([
    ['2024-11-05', ['name', 'description', 'inputSchema']],
    ['2025-03-26', ['name', 'description', 'inputSchema', 'annotations']],
    ['2025-06-18', ['name', 'title', 'description', 'inputSchema', 'annotations', '_meta', 'outputSchema']],
    [
      '2025-11-25',
      ['name', 'title', 'description', 'inputSchema', 'annotations', 'icons', '_meta', 'outputSchema'],
    ],
    ['2026-07-28', Object.keys(tool)],
  ] as const)('%s lists a tool with its members', (version, members) => {
    const wire = revisions[version].result('tools/list', { tools: [tool] }, server)
    const [listed] = wire['tools'] as object[]
    expect(Object.keys(listed ?? {}).sort()).toEqual([...members].sort())
  })

  it('have result type, server and cache lifetime from 2026-07-28 on, and none of them before', () => {
    const result = { tools: [], ttlMs: 5000, cacheScope: 'public' }
    expect(revisions['2026-07-28'].result('tools/list', result, server)).toEqual({
      ...result,
      resultType: 'complete',
      _meta: { 'io.modelcontextprotocol/serverInfo': server },
    })
    expect(revisions['2026-07-28'].result('prompts/list', { prompts: [] }, server)).toMatchObject({
      ttlMs: 0,
      cacheScope: 'private',
    })
    expect(revisions['2026-07-28'].result('tools/call', { content: [] }, server)).not.toHaveProperty('ttlMs')
    expect(revisions['2025-11-25'].result('tools/list', result, server)).toEqual({ tools: [] })
  })

  it('describe content that a revision does not support as text', () => {
    const content = [
      { type: 'audio', data: 'AA==', mimeType: 'audio/wav' },
      { type: 'resource_link', uri: 'file:///a.txt', name: 'a.txt', title: 'A' },
      { type: 'text', text: 'hi', _meta: {}, annotations: { priority: 1, lastModified: '2026-01-01' } },
    ]
    expect(
      revisions['2024-11-05'].result('tools/call', { content, structuredContent: { a: 1 } }, server),
    ).toEqual({
      content: [
        { type: 'text', text: '[audio, audio/wav]' },
        { type: 'text', text: 'a.txt: file:///a.txt' },
        { type: 'text', text: 'hi', annotations: { priority: 1 } },
      ],
    })
    expect(
      revisions['2025-06-18'].result('tools/call', { content, structuredContent: { a: 1 } }, server),
    ).toEqual({
      content,
      structuredContent: { a: 1 },
    })
  })

  it('have no structured content in a session revision unless it is an object', () => {
    const result = { content: [{ type: 'text', text: '[1]' }], structuredContent: [1] }
    expect(revisions['2025-11-25'].result('tools/call', result, server)).not.toHaveProperty(
      'structuredContent',
    )
    expect(revisions['2026-07-28'].result('tools/call', result, server)).toHaveProperty(
      'structuredContent',
      [1],
    )
  })

  it('use its own code for a missing resource', () => {
    const error = new RpcError(-32002, 'Resource not found', { uri: 'x://y' })
    expect(revisions['2025-11-25'].error(error)).toEqual({
      code: -32002,
      message: 'Resource not found',
      data: { uri: 'x://y' },
    })
    expect(revisions['2026-07-28'].error(error).code).toBe(-32602)
    const urlRequired = new RpcError(-32042, 'Visit first', { elicitations: [] })
    expect(revisions['2025-11-25'].error(urlRequired).code).toBe(-32042)
    expect(revisions['2026-07-28'].error(urlRequired).code).toBe(-32600)
  })

  it('have its own form of input requests', () => {
    const choice = {
      method: 'elicitation/create' as const,
      params: {
        mode: 'form' as const,
        message: 'Seat?',
        requestedSchema: {
          type: 'object' as const,
          properties: { seat: { type: 'string' as const, oneOf: [{ const: 'w', title: 'Window' }] } },
        },
      },
    }
    expect(revisions['2025-06-18'].question(choice)).toEqual({
      message: 'Seat?',
      requestedSchema: {
        type: 'object',
        properties: { seat: { type: 'string', enum: ['w'], enumNames: ['Window'] } },
      },
    })
    expect(revisions['2025-11-25'].question(choice)).toEqual(choice.params)
    const urlRequest = {
      method: 'elicitation/create' as const,
      params: { mode: 'url' as const, message: 'Go', url: 'https://a.example' },
    }
    expect(revisions['2025-11-25'].question(urlRequest)).toHaveProperty('elicitationId', expect.any(String))
    expect(revisions['2026-07-28'].question(urlRequest)).not.toHaveProperty('elicitationId')
  })

  it('have only its own notifications', () => {
    const progress = {
      method: 'notifications/progress' as const,
      params: { progressToken: 1, progress: 1, message: 'm' },
    }
    expect(revisions['2024-11-05'].notification(progress)?.params).toEqual({ progressToken: 1, progress: 1 })
    const acknowledged = {
      method: 'notifications/subscriptions/acknowledged' as const,
      params: { notifications: {} },
    }
    expect(revisions['2025-11-25'].notification(acknowledged)).toBeUndefined()
    expect(revisions['2026-07-28'].notification(acknowledged)).toBeDefined()
  })
})

describe('the methods of a revision', () => {
  it('are defined only by the table', () => {
    const known = (method: string): string[] =>
      protocolVersions.filter((version) => methodRow(method, version) !== undefined)
    expect(known('tools/call')).toEqual([...protocolVersions])
    expect(known('ping')).toEqual(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])
    expect(known('server/discover')).toEqual(['2026-07-28'])
    expect(known('subscriptions/listen')).toEqual(['2026-07-28'])
    expect(known('elicitation/create')).toEqual([])
    for (const name of ['constructor', '__proto__', 'toString', '']) expect(known(name)).toEqual([])
  })

  it('do not exist for unpublished versions', () => {
    expect(revisionOf('2025-11-25')?.era).toBe('session')
    expect(revisionOf('v999.0.0')).toBeUndefined()
    expect(revisionOf('__proto__')).toBeUndefined()
  })
})
