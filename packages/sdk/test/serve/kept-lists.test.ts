import { PassThrough } from 'node:stream'
import { defineServer, type JsonObject, type Middleware, type Server, tool } from '@jackfield/sdk'
import { serveStdio } from '@jackfield/sdk/stdio'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { adapters, nodeAdapter } from './http-support.ts'
import { initialize, initialized, meta, until } from './support.ts'

const named = (count: number, words = 'Does “it” – čž 🎉\u2028'): Record<string, ReturnType<typeof tool>> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, at) => [
      `tool_${at}`,
      tool({ description: `${words} ${at}`, icons: [{ src: 'https://x.test/i.png' }], run: () => 'done' }),
    ]),
  )
const serverOf = (count: number, more: { use?: Middleware[]; pageSize?: number } = {}): Server =>
  defineServer({ name: 'listing', version: '1.0.0', tools: named(count), ...more })

const list = (id: number | string, params: JsonObject = {}): JsonObject => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/list',
  params: { ...params, _meta: meta() },
})
const modernHeaders = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }

function toolsIn(message: JsonObject): JsonObject[] {
  const { result } = message
  const { tools } = Object(result)
  if (!Array.isArray(tools)) throw new Error(`no list of tools: ${JSON.stringify(message)}`)
  return tools
}
const namesIn = (message: JsonObject): unknown[] => toolsIn(message).map(({ name }) => name)
const first = (count: number): string[] => Array.from({ length: count }, (_, at) => `tool_${at}`)

describe.each(adapters)('a list of many tools, %s', (_name, adapter) => {
  it('is complete and the same for every request, with the id of each', async () => {
    const mounted = await adapter(serverOf(60))
    const ids = [1, 'zwei "2"', 3]
    const answers = await Promise.all(
      ids.map(async (id) => (await mounted.send({ headers: modernHeaders, body: list(id) })).json()),
    )
    expect(answers.map(({ id }) => id)).toEqual(ids)
    for (const answer of answers) {
      expect(namesIn(answer)).toEqual(first(60))
      expect(toolsIn(answer)[3]).toMatchObject({ description: 'Does “it” – čž 🎉\u2028 3' })
      expect(answer['result']).toMatchObject({ resultType: 'complete', ttlMs: 0, cacheScope: 'private' })
    }
    await mounted.close()
  })

  it("has only the members of a session's revision, every time", async () => {
    const mounted = await adapter(serverOf(60))
    const begun = await mounted.send({ body: initialize('2025-06-18') })
    const session = { 'mcp-session-id': begun.header('mcp-session-id'), 'mcp-protocol-version': '2025-06-18' }
    await mounted.send({ headers: session, body: initialized })
    for (const id of [7, 8]) {
      const body = { jsonrpc: '2.0', id, method: 'tools/list' }
      const answer = await (await mounted.send({ headers: session, body })).json()
      expect(answer['id']).toBe(id)
      expect(namesIn(answer)).toEqual(first(60))
      expect(toolsIn(answer)[0]).not.toHaveProperty('icons')
    }
    const modern = await (await mounted.send({ headers: modernHeaders, body: list(9) })).json()
    expect(toolsIn(modern)[0]).toHaveProperty('icons')
    await mounted.close()
  })
})

describe('a list of many tools', () => {
  it('changes as soon as its definitions do', async () => {
    const server = serverOf(20)
    const mounted = await nodeAdapter(server)
    const ask = async (): Promise<unknown[]> =>
      namesIn(await (await mounted.send({ headers: modernHeaders, body: list(1) })).json())
    expect(await ask()).toHaveLength(20)
    server.add({ tools: { late: tool({ description: 'Late', run: () => 'done' }) } })
    expect(await ask()).toEqual([...first(20), 'late'])
    server.remove({ tools: ['tool_0'] })
    expect(await ask()).toEqual([...first(20).slice(1), 'late'])
    await mounted.close()
  })

  it('is the result of a middleware in front of it', async () => {
    const onlyEven: Middleware = async (exchange, next) => {
      const outcome = await next(exchange)
      if (outcome.type !== 'complete' || !Array.isArray(outcome.result['tools'])) return outcome
      const tools = outcome.result['tools'].filter((_tool, at) => at % 2 === 0)
      return { ...outcome, result: { ...outcome.result, tools } }
    }
    const mounted = await nodeAdapter(serverOf(40, { use: [onlyEven] }))
    const answer = await (await mounted.send({ headers: modernHeaders, body: list(1) })).json()
    expect(namesIn(answer)).toEqual(first(40).filter((_name, at) => at % 2 === 0))
    await mounted.close()
  })

  it('is the same on one line and in pages of any size', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 30 }),
        fc.integer({ min: 1, max: 12 }),
        async (count, pageSize) => {
          const input = new PassThrough()
          const output = new PassThrough({ encoding: 'utf8' })
          let text = ''
          output.on('data', (chunk) => {
            text += chunk
          })
          const connection = serveStdio(serverOf(count, { pageSize }), { input, output })
          const names: unknown[] = []
          for (let id = 1, cursor: unknown; ; id++) {
            text = ''
            input.write(`${JSON.stringify(list(id, cursor === undefined ? {} : { cursor }))}\n`)
            await until(() => text.endsWith('\n'))
            expect(text.split('\n')).toHaveLength(2)
            const answer: JsonObject = JSON.parse(text)
            expect(answer['id']).toBe(id)
            names.push(...namesIn(answer))
            cursor = Object(answer['result']).nextCursor
            if (cursor === undefined) break
          }
          expect(names).toEqual(first(count))
          await connection.close()
        },
      ),
      { numRuns: 25 },
    )
  })
})
