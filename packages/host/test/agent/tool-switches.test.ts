import type { SamplingMessage } from '@jackfield/sdk'
import { describe, expect, test } from 'vitest'
import { createConversation, type ToolCallEvent } from '../../src/models/agent/index.ts'
import type { CatalogTool, ModelRequest } from '../../src/types/index.ts'
import { corpusTools } from '../scale/corpus.ts'
import { type FakeHost, fakeHost, scriptedModel, text, textReply, uses } from './host.ts'

const tool = (server: string, name: string): CatalogTool => ({
  server,
  name: `${server}__${name}`,
  tool: { name, description: `Does ${name}`, inputSchema: { type: 'object' } },
})

/** Two servers whose tools all answer. */
function twoServers(): FakeHost & { tools: () => CatalogTool[] } {
  const tools = [tool('shop', 'buy'), tool('shop', 'look'), tool('mail', 'send'), tool('mail', 'drop')]
  const host = fakeHost(Object.fromEntries(tools.map(({ name }) => [name, () => text(`${name} ran`)])))
  return Object.assign(host, { tools: () => tools })
}

const offered = (request: ModelRequest | undefined): string[] =>
  (request?.tools ?? []).map(({ name }) => name).filter((name) => name.includes('__'))

const words = ({ content }: SamplingMessage): string => JSON.stringify(content)

describe('tools that the user switches off in a conversation', () => {
  test('are not offered, and a call of one is refused with the reason', async () => {
    const host = twoServers()
    const model = scriptedModel(textReply('Hello'), uses('', ['mail__send']), textReply('Then not.'))
    const conversation = createConversation({ host, model })
    await conversation.say('Hi')
    expect(offered(model.requests[0])).toHaveLength(4)
    conversation.switchTools(false, ['mail.send', 'shop'])
    expect(offered(model.requests[0])).toContain('mail__send')
    const events: ToolCallEvent[] = []
    await conversation.say('Send it', { onToolCall: (event) => events.push(event) })
    expect(offered(model.requests[1])).toEqual(['mail__drop'])
    expect(model.requests[1]?.messages.map(words).join()).toContain(
      'Switched off by the person, so that calls of them are refused: shop__buy, shop__look, mail__send.',
    )
    expect(host.calls).toEqual([])
    expect(events.at(-1)).toMatchObject({ type: 'end', denied: true, result: { isError: true } })
    expect(model.requests[2]?.messages.map(words).at(-1)).toContain('the person switched it off')
  })

  test('are offered again, in their place, once they are switched on', async () => {
    const host = twoServers()
    const model = scriptedModel(textReply('1'), textReply('2'), textReply('3'))
    const conversation = createConversation({ host, model })
    await conversation.say('Hi')
    conversation.switchTools(false, ['*'])
    await conversation.say('And now?')
    expect(offered(model.requests[1])).toEqual([])
    conversation.switchTools(true, ['shop__look'])
    await conversation.say('And now?')
    expect(offered(model.requests[2])).toEqual(['shop__look'])
    conversation.switchTools(true, ['*'])
    expect(conversation.toolSwitches).toEqual([])
  })

  test('are matched by server, server.tool, server__tool or a pattern; the last match decides', () => {
    const host = twoServers()
    const conversation = createConversation({ host, model: scriptedModel() })
    const on = (): string[] =>
      host
        .tools()
        .filter((entry) => conversation.isToolOn(entry))
        .map(({ name }) => name)
    conversation.switchTools(false, ['mail'])
    expect(on()).toEqual(['shop__buy', 'shop__look'])
    conversation.switchTools(true, ['mail.d*'])
    expect(on()).toEqual(['shop__buy', 'shop__look', 'mail__drop'])
    conversation.switchTools(false, ['shop__b?y', '*.drop'])
    expect(on()).toEqual(['shop__look'])
    const before = conversation.toolSwitches
    expect(() => conversation.switchTools(false, ['shop.look', 'nothing'])).toThrow(
      'There is no tool or server "nothing", and nothing was switched',
    )
    expect(conversation.toolSwitches).toEqual(before)
    expect(() => conversation.switchTools(false, ['*.x*'])).toThrow('There is no tool or server "*.x*"')
  })

  test('stay off when the conversation is resumed and forked, and tools added later by the server are off too', async () => {
    const host = twoServers()
    const model = scriptedModel(textReply('ok'))
    const conversation = createConversation({ host, model })
    conversation.switchTools(false, ['mail'])
    expect(host.conversations.list()).toEqual([])
    await conversation.say('Hi')
    const resumed = createConversation({ host, model, resume: conversation.id })
    expect(resumed.toolSwitches).toEqual([{ pattern: 'mail', on: false }])
    expect(resumed.isToolOn(tool('mail', 'later'))).toBe(false)
    const fork = createConversation({ host, model, resume: host.conversations.fork(conversation.id) })
    expect(fork.isToolOn(tool('mail', 'send'))).toBe(false)
    resumed.switchTools(true, ['mail'])
    expect(createConversation({ host, model, resume: conversation.id }).isToolOn(tool('mail', 'send'))).toBe(
      true,
    )
    expect(createConversation({ host, model, resume: fork.id }).isToolOn(tool('mail', 'send'))).toBe(false)
  })

  test('are not found by search, not shown, and not called by their found name', async () => {
    const host = fakeHost({ github__create_issue: () => text('made') })
    host.tools = () => [...corpusTools]
    const model = scriptedModel(
      uses(
        '',
        ['search_tools', { query: 'github create issue', limit: 25 }],
        ['inspect_tool', { names: ['github__create_issue'] }],
        ['call_tool', { name: 'github__create_issue', arguments: {} }],
      ),
      textReply('ok'),
    )
    const conversation = createConversation({ host, model })
    conversation.switchTools(false, ['github'])
    await conversation.say('Go')
    const results = words(model.requests[1]?.messages.at(-1) ?? { role: 'user', content: [] })
    expect(results).not.toContain('github__create_issue(')
    expect(results).toContain('There is no tool \\"github__create_issue\\" at present')
    expect(results).toContain('the person switched it off')
    expect(host.calls).toEqual([])
  })
})

test('every call of a conversation is listed with its result and its row, also of a resumed one', async () => {
  const host = twoServers()
  const model = scriptedModel(
    uses('', ['shop__look', { aisle: 3 }], ['list_resources']),
    uses('', ['call_tool', { name: 'shop__buy', arguments: { item: 'tea' } }]),
    textReply('ok'),
  )
  const conversation = createConversation({ host, model })
  await conversation.say('Go')
  conversation.compact('We bought tea.')
  expect(conversation.calls).toMatchObject([
    {
      name: 'shop__look',
      arguments: { aisle: 3 },
      activity: 0,
      result: { content: [{ text: 'shop__look ran' }] },
    },
    { name: 'list_resources', arguments: {}, result: { content: [{ type: 'text' }] } },
    { name: 'shop__buy', arguments: { item: 'tea' }, activity: 0 },
  ])
  expect(conversation.calls[1]).not.toHaveProperty('activity')
  expect(createConversation({ host, model, resume: conversation.id }).calls).toEqual(conversation.calls)
})
