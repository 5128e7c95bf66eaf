import { describe, expect, it } from 'vitest'
import { nodeModulesOf, sizeOf } from '../../bench/bundle.ts'
import { filesLoaded, root, waysIn } from './loaded.ts'

const programs = [
  {
    what: 'the HTTP of a server alone',
    imports: ['@jackfield/sdk/http'],
    source: `export { serveHttp } from '@jackfield/sdk/http'`,
    files: 3,
    kilobytes: 26,
  },
  {
    what: 'a server over HTTP',
    imports: ['@jackfield/sdk', '@jackfield/sdk/http'],
    source: `export { defineServer, tool } from '@jackfield/sdk'; export { serveHttp } from '@jackfield/sdk/http'`,
    files: 6,
    kilobytes: 50,
  },
  {
    what: 'a server on stdio',
    imports: ['@jackfield/sdk', '@jackfield/sdk/stdio'],
    source: `export { defineServer, tool } from '@jackfield/sdk'; export { serveStdio } from '@jackfield/sdk/stdio'`,
    files: 7,
    kilobytes: 40,
  },
  {
    what: 'a client',
    imports: ['@jackfield/sdk/client'],
    source: `export { connect } from '@jackfield/sdk/client'`,
    files: 4,
    kilobytes: 39.5,
  },
]

/** A server over HTTP, and three ways to use it. */
const oneServer = `
  const { defineServer, tool } = await import('@jackfield/sdk')
  const { serveHttp } = await import('@jackfield/sdk/http')
  const schema = { type: 'object', properties: { name: { type: 'string' } } }
  const greet = tool({ run: async (_, ctx) => (await ctx.elicit({ message: 'Who?', schema })).action })
  const handler = serveHttp(defineServer({ name: 'one', version: '1', tools: { greet } }), { keys: ['k'.repeat(32)] })
  const post = async (method, params, headers = {}) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const kinds = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const url = 'http://localhost/mcp'
    const answer = await handler.fetch(new Request(url, { method: 'POST', body, headers: { ...kinds, ...headers } }))
    const { result } = await answer.json()
    if (result === undefined) throw new Error(method + ' was refused')
  }
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
  }
  const named = (method, name) => ({
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(name === undefined ? {} : { 'mcp-name': name }),
  })
  const discover = () => post('server/discover', { _meta }, named('server/discover'))
  const ask = () => post('tools/call', { name: 'greet', _meta }, named('tools/call', 'greet'))
  const initialize = () =>
    post('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } })`

describe('what importing the built SDK loads', () => {
  it.each(programs)('is at most $files files for $what', async ({ imports, files }) => {
    const loaded = await filesLoaded(imports, 'packages/sdk/dist/')
    expect(loaded.length).toBeGreaterThan(0)
    expect(loaded.length, loaded.join('\n')).toBeLessThanOrEqual(files)
  })

  it.each(programs)('is at most $kilobytes kB for $what, minified and compressed', async (program) => {
    const { firstGzip } = await sizeOf(program.source, `${root}bench`)
    expect(firstGzip).toBeGreaterThan(1)
    expect(firstGzip).toBeLessThanOrEqual(program.kilobytes)
  })

  it.each([
    ['a request of the newest revision', 'discover', false],
    ['a session', 'initialize', true],
    ['a question', 'ask', true],
  ])('is more for %s only where it must be', async (_what, name, more) => {
    const imports = ['@jackfield/sdk', '@jackfield/sdk/http']
    const before = await filesLoaded(imports, 'packages/sdk/dist/')
    const after = await filesLoaded(imports, 'packages/sdk/dist/', `${oneServer}; await ${name}()`)
    expect(after.slice(0, before.length)).toEqual(before)
    expect(after.length > before.length, after.join('\n')).toBe(more)
  })

  it('is nothing of another package for a server or a client', async () => {
    const all = programs.flatMap(({ imports }) => imports)
    const loaded = await filesLoaded([...new Set(all)], 'node_modules/')
    expect(loaded).toEqual([])
  })

  it.each([
    '@jackfield/sdk',
    '@jackfield/sdk/http',
    '@jackfield/sdk/auth',
    '@jackfield/sdk/client',
    '@jackfield/sdk/client/auth',
    '@jackfield/sdk/compose',
    '@jackfield/sdk/extensions/ui',
    '@jackfield/sdk/testing',
  ])('is nothing that only Node has for %s', async (way) => {
    expect(await nodeModulesOf(way, `${root}bench`)).toEqual([])
  })

  it.each(waysIn())('is few files for %s', async (way) => {
    const loaded = await filesLoaded([way], 'packages/sdk/dist/')
    expect(loaded.length, loaded.join('\n')).toBeLessThanOrEqual(9)
  })
})
