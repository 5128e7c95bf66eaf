import { protocolVersions } from '@jackfield/sdk'
import { describe, expect, it } from 'vitest'
import { checkDefinition, checkWire } from './wire.ts'

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

describe.each(protocolVersions)('checkWire at %s', (revision) => {
  const modern = revision === '2026-07-28'
  const call = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'a', ...(modern && { _meta: meta }) },
  }

  it('accepts a valid request, and rejects one from the wrong sender', () => {
    expect(checkWire(revision, 'client', call)).toEqual([])
    expect(checkWire(revision, 'server', call)).toEqual([`a server of ${revision} does not send tools/call`])
  })

  it('names the missing part of a request', () => {
    expect(checkWire(revision, 'client', { ...call, params: {} }).join()).toContain(
      '"missingProperty":"name"',
    )
    expect(checkWire(revision, 'client', { ...call, jsonrpc: '1.0' })).not.toEqual([])
    expect(checkWire(revision, 'client', { ...call, method: 'tools/nope' })).toEqual([
      `${revision} has no method tools/nope`,
    ])
  })

  it('checks a result with its request', () => {
    const envelope = modern ? { resultType: 'complete' } : {}
    const answer = (result: object) => ({ jsonrpc: '2.0', id: 1, result: { ...envelope, ...result } })
    const text = { content: [{ type: 'text', text: 'hi' }] }
    expect(checkWire(revision, 'server', answer(text), 'tools/call')).toEqual([])
    expect(checkWire(revision, 'server', answer({ content: 'hi' }), 'tools/call')).not.toEqual([])
    expect(checkWire(revision, 'server', answer({ content: [{ type: 'text' }] }), 'tools/call')).not.toEqual(
      [],
    )
    expect(checkWire(revision, 'client', answer(text), 'tools/call')).toEqual([
      `a client of ${revision} does not answer tools/call`,
    ])
  })

  it('checks notifications of a server', () => {
    const log = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 1 } }
    expect(checkWire(revision, 'server', log)).toEqual([])
    expect(checkWire(revision, 'server', { ...log, params: { level: 'loud', data: 1 } })).not.toEqual([])
    expect(checkWire(revision, 'server', { ...log, id: 1 })).not.toEqual([])
  })

  it('checks one definition by its name', () => {
    expect(checkDefinition(revision, 'Tool', { name: 'a', inputSchema: { type: 'object' } })).toEqual([])
    expect(checkDefinition(revision, 'Tool', { name: 'a' })).not.toEqual([])
    expect(() => checkDefinition(revision, 'Nothing', {})).toThrow('defines no Nothing')
  })

  it('accepts batches only in revisions with batches', () => {
    expect(checkWire(revision, 'client', [call])).toEqual(
      revision === '2025-03-26' ? [] : [`${revision} has no batches`],
    )
  })
})

describe('checkWire at 2026-07-28', () => {
  const answer = (result: object) => ({ jsonrpc: '2.0', id: 'x', result })
  const question = {
    method: 'elicitation/create',
    params: {
      message: 'Sure?',
      requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } } },
    },
  }
  const asking = answer({ resultType: 'input_required', inputRequests: { q: question } })

  it('accepts input requests only as results of methods that allow them', () => {
    expect(checkWire('2026-07-28', 'server', asking, 'tools/call')).toEqual([])
    expect(checkWire('2026-07-28', 'server', asking, 'resources/read')).toEqual([])
    expect(checkWire('2026-07-28', 'server', asking, 'tools/list')).toEqual([
      'ListToolsRequest of 2026-07-28 is not answered with input_required',
    ])
    const empty = answer({ resultType: 'input_required' })
    expect(checkWire('2026-07-28', 'server', empty, 'tools/call').join()).toContain('neither')
  })

  it('requires resultType, and the cache lifetime if the revision has it', () => {
    expect(checkWire('2026-07-28', 'server', answer({ content: [] }), 'tools/call')).not.toEqual([])
    const list = { resultType: 'complete', tools: [] }
    expect(checkWire('2026-07-28', 'server', answer(list), 'tools/list')).not.toEqual([])
    const fresh = { ...list, ttlMs: 0, cacheScope: 'private' }
    expect(checkWire('2026-07-28', 'server', answer(fresh), 'tools/list')).toEqual([])
  })

  it('checks an error with its code', () => {
    const refusal = (error: object) => ({ jsonrpc: '2.0', id: 1, error: { message: 'no', ...error } })
    const data = { supported: ['2026-07-28'], requested: '1' }
    expect(checkWire('2026-07-28', 'server', refusal({ code: -32022, data }))).toEqual([])
    expect(checkWire('2026-07-28', 'server', refusal({ code: -32022 }))).not.toEqual([])
    expect(checkWire('2026-07-28', 'server', refusal({ code: -32021, data: {} }))).not.toEqual([])
    expect(checkWire('2026-07-28', 'server', refusal({ code: -32602 }))).toEqual([])
  })

  it('rejects requests from a server', () => {
    const sample = { jsonrpc: '2.0', id: 1, ...question }
    expect(checkWire('2026-07-28', 'server', sample)).not.toEqual([])
    expect(checkWire('2025-11-25', 'server', sample)).toEqual([])
  })
})
