import type { CreateMessageParams } from '@jackfield/sdk'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Model, ServerConfig } from '../../src/types/index.ts'
import { returned, scripted, session, started, textOf } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { statelessServer } from '../fixtures/stateless-server.ts'

const lookup = { name: 'lookup', inputSchema: { type: 'object' as const } }
const use = { type: 'tool_use', id: 'u1', name: 'lookup', input: {} } as const
const eager: Model = {
  id: 'eager',
  isLanguageModel: true,
  generate: async () => ({ content: [use], stopReason: 'toolUse', model: 'eager' }),
}
const request: CreateMessageParams = {
  messages: [{ role: 'user', content: { type: 'text', text: 'Look it up' } }],
  maxTokens: 50,
  tools: [lookup],
}

async function stateless(): Promise<ServerConfig> {
  const server = await statelessServer()
  onTestFinished(() => server.stop())
  return { url: server.url }
}

async function sampled(params: CreateMessageParams, config: ServerConfig = session().config) {
  const surface = person({
    'sampling-request': () => ({ verdict: 'allow' }),
    'sampling-result': () => ({ verdict: 'allow' }),
  })
  const host = await started({
    servers: { s: config },
    rules: [{ id: 'all', verdict: 'allow' }],
    surface,
    models: [eager],
  })
  return { call: await host.call('s__sample', { params }, { caller: 'cli' }), surface }
}

describe('a model that uses a tool', () => {
  it('is rejected if the server offered no tools', async () => {
    const none = { ...request, toolChoice: { mode: 'none' as const } }
    const { call } = await sampled(none)
    expect(textOf(call)).not.toContain('tool_use')
    expect(returned(call)).toMatchObject({ error: { code: -32603 } })
    const other = await sampled(none, await stateless())
    expect(other.call.result.isError).toBe(true)
    expect(textOf(other.call)).not.toContain('tool_use')
  })

  it('is passed on if the server offered tools', async () => {
    const { call } = await sampled({ ...request, toolChoice: { mode: 'auto' } }, await stateless())
    expect(returned(call)).toMatchObject({ answer: { content: use, stopReason: 'toolUse' } })
  })

  it('gets no request whose tool results are mixed or missing', async () => {
    const assistant = { role: 'assistant' as const, content: use }
    const result = { type: 'tool_result' as const, toolUseId: 'u1', content: [] }
    const text = { type: 'text' as const, text: 'and?' }
    for (const messages of [
      [assistant, { role: 'user' as const, content: [result, text] }],
      [assistant, { role: 'user' as const, content: text }],
    ]) {
      const { call, surface } = await sampled({ ...request, messages })
      expect(returned(call)).toMatchObject({ error: { code: -32602 } })
      expect(surface.asked).toEqual([])
    }
  })
})

describe('the model', () => {
  it('sees nothing of an earlier request, nor of another server', async () => {
    const model = scripted('test/one', 'Paris')
    const surface = person({
      'sampling-request': () => ({ verdict: 'allow' }),
      'sampling-result': () => ({ verdict: 'allow' }),
    })
    const servers = { a: session().config, b: session().config }
    const rules = [{ id: 'all', verdict: 'allow' as const }]
    const host = await started({ servers, rules, surface, models: [model] })
    const asks = ['one', 'two', 'three'].map(
      (word): CreateMessageParams => ({
        messages: [{ role: 'user', content: { type: 'text', text: word } }],
        maxTokens: 5,
        includeContext: 'allServers',
      }),
    )
    for (const [at, params] of asks.entries()) {
      await host.call(`${at === 1 ? 'b' : 'a'}__sample`, { params }, { caller: 'cli' })
    }
    expect(model.requests.map(({ messages }) => messages)).toEqual(asks.map(({ messages }) => messages))
    expect(model.requests.map(({ system }) => system)).toEqual([undefined, undefined, undefined])
  })
})
