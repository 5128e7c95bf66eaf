import { defineServer, prompt, RpcError, resource, tool } from '@jackfield/sdk'
import { connect, http } from '@jackfield/sdk/client'
import { tasksClient } from '@jackfield/sdk/client/tasks'
import { compose } from '@jackfield/sdk/compose'
import { tasks } from '@jackfield/sdk/extensions/tasks'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { constant, shop } from './shop.ts'
import { client, legacy, modern, served, textOf } from './support.ts'

describe("a caller's permissions", () => {
  it('are those of the members, under their prefixes', async () => {
    const scoped = defineServer({
      name: 'scoped',
      version: '1',
      tools: {
        pay: tool({ description: 'Pays', scopes: ['pay'], run: () => 'paid' }),
        look: constant('looked'),
      },
      resources: { books: resource({ uri: 'books://all', scopes: ['audit'], read: () => 'numbers' }) },
      prompts: { dun: prompt({ scopes: ['dun'], run: () => 'Pay!' }) },
    })
    const server = compose({ name: 'c', version: '1', servers: { bank: scoped, shop: shop('shop') } })
    expect(server.scopes).toEqual(['pay', 'audit', 'dun'])
    expect(server.scopesFor('tools/call', { name: 'bank__pay' })).toEqual(['pay'])
    expect(server.scopesFor('tools/call', { name: 'bank__look' })).toEqual([])
    expect(server.scopesFor('tools/call', { name: 'pay' })).toEqual([])
    expect(server.scopesFor('prompts/get', { name: 'bank__dun' })).toEqual(['dun'])
    expect(
      server.scopesFor('completion/complete', { ref: { type: 'ref/prompt', name: 'bank__dun' } }),
    ).toEqual(['dun'])
    expect(server.scopesFor('resources/read', { uri: 'books://all' })).toEqual(['audit'])
    expect(server.scopesFor('resources/read', { uri: 'shop://menu' })).toEqual([])
    const url = await served(server, {
      authenticate: async (request) => ({
        principal: 'ada',
        scopes: request.header('authorization') === 'rich' ? ['pay', 'audit'] : [],
      }),
    })
    const as = async (authorization: string) => {
      const end = await connect(http(url, { headers: { authorization } }), { revisions: [modern] })
      onTestFinished(() => end.close())
      return end
    }
    const [rich, poor] = [await as('rich'), await as('poor')]
    await expect(poor.read('books://all')).rejects.toThrow()
    expect((await rich.read('books://all')).contents).toMatchObject([{ text: 'numbers' }])
    expect((await poor.tools()).map(({ name }) => name)).not.toContain('bank__pay')
    expect(textOf(await rich.call('bank__pay'))).toBe('paid')
  })

  it('is not widened by params that a method does not have', async () => {
    const books = resource({ uri: 'books://all', scopes: ['audit'], read: () => 'numbers' })
    const scoped = defineServer({ name: 'scoped', version: '1', resources: { books } })
    const server = compose({ name: 'c', version: '1', servers: { bank: scoped, shop: shop('shop') } })
    const url = await served(server, { authenticate: async () => ({ principal: 'ada', scopes: [] }) })
    const poor = await connect(http(url), { revisions: [legacy] })
    onTestFinished(() => poor.close())
    for (const name of ['shop__menu', 'nobody']) {
      const params = { uri: 'books://all', name, ref: { type: 'ref/prompt', name } }
      await expect(poor.request('resources/subscribe', params)).rejects.toThrow()
      await expect(poor.request('resources/read', params)).rejects.toThrow()
    }
    await poor.request('resources/subscribe', { uri: 'shop://menu', name: 'nobody' })
  })
})

describe('methods of extensions', () => {
  const counting = (name: string, ids: string[]) =>
    defineServer({
      name,
      version: '1',
      extensions: [
        {
          id: 'com.example/count',
          settings: { of: name },
          methods: {
            'count/get': {
              named: 'id',
              handle: ({ params }) => {
                if (ids.includes(String(params['id']))) return { type: 'complete', result: { by: name } }
                throw new RpcError(-32602, 'Unknown id')
              },
            },
          },
        },
      ],
    })

  it('are routed to the member that has the subject', async () => {
    const servers = { plain: shop('plain'), one: counting('one', ['1']), two: counting('two', ['2']) }
    const server = compose({ name: 'c', version: '1', servers })
    const end = await client(server, { revisions: [modern], extensions: [{ id: 'com.example/count' }] })
    expect(end.server.capabilities.extensions).toEqual({ 'com.example/count': { of: 'one' } })
    expect(await end.request('count/get', { id: '1' })).toMatchObject({ by: 'one' })
    expect(await end.request('count/get', { id: '2' })).toMatchObject({ by: 'two' })
    await expect(end.request('count/get', { id: '3' })).rejects.toMatchObject({ message: 'Unknown id' })
    await expect(end.request('count/set', { id: '3' })).rejects.toMatchObject({ code: -32601 })
  })

  it('go only to the member that created the subject', async () => {
    const received: object[] = []
    const nosy = defineServer({
      name: 'nosy',
      version: '1',
      tools: { work: constant('worked') },
      extensions: [tasks()],
      use: [
        async (exchange, next) => {
          if (exchange.method.startsWith('tasks/')) received.push({ ...exchange.params })
          return next(exchange)
        },
      ],
    })
    const work = tool({
      task: 'required',
      async run(_, ctx) {
        const answer = await ctx.elicit({ message: 'Sure?', schema: z.object({ ok: z.boolean() }) })
        return answer.action
      },
    })
    const honest = defineServer({ name: 'honest', version: '1', tools: { work }, extensions: [tasks()] })
    const server = compose({ name: 'c', version: '1', servers: { nosy, honest } })
    const end = await client(server, {
      revisions: [modern],
      extensions: [tasksClient()],
      onElicit: () => ({ action: 'accept', content: { ok: true } }),
    })
    expect(textOf(await end.call('honest__work'))).toBe('accept')
    expect(received).toEqual([])
  })
})
