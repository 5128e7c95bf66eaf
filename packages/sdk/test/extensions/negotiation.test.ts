import { defineServer, type Extension, tool } from '@jackfield/sdk'
import { type ClientExtension, connect } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished } from 'vitest'

const id = 'com.example/weighing'

/** Adds a method, and answers calls with results of a type of its own where the client knows it. */
const weighing: Extension = {
  id,
  settings: { unit: 'kg' },
  methods: { 'weighing/weigh': { handle: () => ({ type: 'complete', result: { kg: 7 } }) } },
  use: async (exchange, next) =>
    exchange.method === 'tools/call' && exchange.peer.capabilities.extensions?.[id] !== undefined
      ? { type: 'extension', resultType: 'weighed', result: { grams: 7000 } }
      : next(exchange),
}

const knowing: ClientExtension = {
  id,
  results: { weighed: async ({ grams }) => ({ content: [{ type: 'text', text: `${grams} g` }] }) },
}

async function open(extensions: readonly ClientExtension[], offered: readonly Extension[] = [weighing]) {
  const server = defineServer({
    name: 'shop',
    version: '1.0.0',
    extensions: offered,
    tools: { t: tool({ run: () => 'plain' }) },
  })
  const client = await connect(server, { extensions })
  onTestFinished(() => client.close())
  return client
}

describe('an extension', () => {
  it('is declared by its identifier with its settings, and used if both sides declare it', async () => {
    const client = await open([knowing])
    expect(client.server.capabilities.extensions).toEqual({ [id]: { unit: 'kg' } })
    await expect(client.request('weighing/weigh')).resolves.toMatchObject({ kg: 7 })
    await expect(client.call('t')).resolves.toMatchObject({ content: [{ text: '7000 g' }] })
  })

  it('is not used with a client that does not declare it, and its methods are rejected', async () => {
    const client = await open([])
    await expect(client.call('t')).resolves.toMatchObject({ content: [{ text: 'plain' }] })
    await expect(client.request('weighing/weigh')).rejects.toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { [id]: {} } } },
    })
  })

  it('that the server lacks leaves a client with the core protocol', async () => {
    const client = await open([knowing], [])
    await expect(client.call('t')).resolves.toMatchObject({ content: [{ text: 'plain' }] })
    await expect(client.request('weighing/weigh')).rejects.toMatchObject({ code: -32601 })
  })

  it('that returns an undeclared result type is rejected', async () => {
    const forward: Extension = {
      id,
      use: async (exchange, next) =>
        exchange.method === 'tools/call'
          ? { type: 'extension', resultType: 'weighed', result: {} }
          : next(exchange),
    }
    const client = await open([], [forward])
    await expect(client.call('t')).rejects.toMatchObject({
      code: 'PROTOCOL',
      message: expect.stringMatching(/"weighed"/),
    })
  })

  it.each([
    'weighing',
    '/weighing',
    'com.example/',
    '1com/weighing',
    'com..example/x',
    'com.example/-x',
    'a b/c',
  ])('cannot be named %j on either side', async (name) => {
    await expect(open([{ id: name }])).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringMatching(/prefix/),
    })
    await expect(open([], [{ id: name }])).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringMatching(/prefix/),
    })
  })
})
