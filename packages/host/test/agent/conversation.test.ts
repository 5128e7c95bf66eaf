import type { SamplingMessage, ToolResultContent } from '@jackfield/sdk'
import { describe, expect, test } from 'vitest'
import { createConversation, promptMessages, type ToolCallEvent } from '../../src/models/agent/index.ts'
import { fakeHost, scriptedModel, text, textReply, uses } from './host.ts'

function results(message: SamplingMessage | undefined): ToolResultContent[] {
  const content =
    message === undefined ? [] : Array.isArray(message.content) ? message.content : [message.content]
  return content.filter((block) => block.type === 'tool_result')
}

function toolUsesOf({ content = [] }: Partial<Pick<SamplingMessage, 'content'>>): string[] {
  const blocks = Array.isArray(content) ? content : [content]
  return blocks.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []))
}

function resultText(message: SamplingMessage | undefined): string {
  return results(message)
    .flatMap((result) =>
      result.content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)),
    )
    .join('\n')
}

describe('a turn', () => {
  test('without tools is one request and one reply', async () => {
    const model = scriptedModel(textReply('Hello.'))
    const received: string[] = []
    const conversation = createConversation({ host: fakeHost({}), model })
    const turn = await conversation.say('Hi', { onText: (delta) => received.push(delta) })
    expect(turn).toEqual({
      text: 'Hello.',
      stopReason: 'endTurn',
      rounds: 1,
      usage: { inputTokens: 10, outputTokens: 5 },
    })
    expect(received).toEqual(['Hello.'])
    expect(conversation.messages.map((message) => message.role)).toEqual(['user', 'assistant'])
  })

  test('runs the tools a model calls, in order, and returns their results', async () => {
    const order: string[] = []
    const host = fakeHost({
      shop__slow: async (args) => {
        await new Promise((resolve) => setTimeout(resolve, 20))
        order.push('slow')
        return text(`slow ${args.n}`)
      },
      shop__fast: () => {
        order.push('fast')
        return text('fast')
      },
    })
    const model = scriptedModel(uses('On it.', ['shop__slow', { n: 1 }], ['shop__fast']), textReply('Done.'))
    const events: ToolCallEvent[] = []
    const conversation = createConversation({ host, model })
    const turn = await conversation.say('Go', { onToolCall: (event) => events.push(event) })
    expect(order).toEqual(['slow', 'fast'])
    expect(turn).toMatchObject({ text: 'Done.', rounds: 2, usage: { inputTokens: 20, outputTokens: 10 } })
    expect(resultText(model.requests[1]?.messages.at(-1))).toBe('slow 1\nfast')
    expect(host.calls).toMatchObject([
      { name: 'shop__slow', args: { n: 1 }, caller: 'chat', cause: 1 },
      { name: 'shop__fast', caller: 'chat', cause: 1 },
    ])
    expect(events.map((event) => `${event.type} ${event.name}`)).toEqual([
      'start shop__slow',
      'end shop__slow',
      'start shop__fast',
      'end shop__fast',
    ])
  })

  test('passes a denial to the model, with its reason', async () => {
    const host = fakeHost({ shop__buy: () => text('bought') })
    host.denied.add('shop__buy')
    const model = scriptedModel(uses('', ['shop__buy']), textReply('Understood.'))
    const events: ToolCallEvent[] = []
    await createConversation({ host, model }).say('Buy', { onToolCall: (event) => events.push(event) })
    expect(results(model.requests[1]?.messages.at(-1))).toMatchObject([{ isError: true }])
    expect(resultText(model.requests[1]?.messages.at(-1))).toContain('denied')
    expect(events.at(-1)).toMatchObject({ denied: true, decision: { rule: 'no-buying' } })
  })

  test('answers a call of an unknown tool without stopping', async () => {
    const host = fakeHost({ shop__buy: () => text('bought') })
    const model = scriptedModel(uses('', ['shop__sell']), textReply('Sorry.'))
    const turn = await createConversation({ host, model }).say('Sell')
    expect(turn.text).toBe('Sorry.')
    expect(host.calls).toEqual([])
    expect(resultText(model.requests[1]?.messages.at(-1))).toContain('no tool "shop__sell"')
  })

  test('passes an error for invalid arguments to the model, and continues', async () => {
    const host = fakeHost({ shop__buy: () => text('bought') })
    const broken = uses('', ['shop__buy'], ['shop__buy', { n: 2 }])
    const [first] = toolUsesOf(broken)
    const model = scriptedModel({ ...broken, unreadable: { [first ?? '']: '{"n": 1' } }, textReply('Two.'))
    const events: ToolCallEvent[] = []
    const conversation = createConversation({ host, model })
    const turn = await conversation.say('Buy', { onToolCall: (event) => events.push(event) })
    expect(turn).toMatchObject({ text: 'Two.', rounds: 2 })
    expect(host.calls.map(({ args }) => args)).toEqual([{ n: 2 }])
    expect(results(model.requests[1]?.messages.at(-1))).toMatchObject([{ isError: true }, {}])
    expect(resultText(model.requests[1]?.messages.at(-1))).toContain('cannot be read: {"n": 1 Call it again')
    expect(events[1]).toMatchObject({ type: 'end', denied: false, result: { isError: true } })
  })

  test('ends at the limit of rounds if a model never writes valid arguments', async () => {
    const host = fakeHost({ shop__buy: () => text('bought') })
    const broken = uses('', ['shop__buy'])
    const unreadable = Object.fromEntries(toolUsesOf(broken).map((id) => [id, '[1]']))
    const conversation = createConversation({
      host,
      model: scriptedModel({ ...broken, unreadable }),
      maxTurns: 3,
    })
    expect(await conversation.say('Buy')).toMatchObject({ stopReason: 'maxTurns', rounds: 3 })
    expect(host.calls).toEqual([])
  })

  test('suggests the tools that a wrong name may refer to', async () => {
    const host = fakeHost({ shop__buy: () => text('bought'), shop__look: () => text('more') })
    const model = scriptedModel(uses('', ['buy'], ['shop__by']), textReply('Sorry.'))
    await createConversation({ host, model }).say('Buy')
    const toolResult = resultText(model.requests[1]?.messages.at(-1))
    expect(toolResult).toContain('There is no tool "buy" at present. Did you mean shop__buy')
    expect(toolResult).toContain('There is no tool "shop__by" at present. Did you mean shop__buy')
  })

  test('ends at the limit of rounds, with every call answered', async () => {
    const host = fakeHost({ shop__look: () => text('more') })
    const model = scriptedModel(uses('', ['shop__look']))
    const conversation = createConversation({ host, model, maxTurns: 3 })
    expect(await conversation.say('Look')).toMatchObject({ stopReason: 'maxTurns', rounds: 3 })
    expect(host.calls).toHaveLength(3)
    expect(results(conversation.messages.at(-1))).toHaveLength(1)
  })

  test('runs at most 50 calls of one reply, answers the others with an error, and stops', async () => {
    const host = fakeHost({ shop__buy: () => text('bought') })
    const wanted = Array.from({ length: 1_203 }, (_, n): [string, { n: number }] => ['shop__buy', { n }])
    const model = scriptedModel(uses('Buying.', ...wanted), textReply('Bought.'))
    const conversation = createConversation({ host, model })
    const turn = await conversation.say('Buy')
    expect(turn).toMatchObject({ stopReason: 'maxCalls', callsNotRun: 1_153, rounds: 1 })
    expect(host.calls.map(({ args }) => args['n'])).toEqual(Array.from({ length: 50 }, (_, n) => n))
    const given = results(conversation.messages.at(-1))
    expect(given).toHaveLength(1_203)
    expect(given.filter(({ isError }) => isError === true)).toHaveLength(1_153)
    expect(resultText(conversation.messages.at(-1))).toContain(
      'was not run: one reply may make 50 tool calls',
    )
    expect(await conversation.say('go on')).toMatchObject({ stopReason: 'endTurn', text: 'Bought.' })
  })

  test('makes at most 200 calls for one message, across all replies', async () => {
    const host = fakeHost({ shop__look: () => text('more') })
    const forty = Array.from({ length: 40 }, (): [string] => ['shop__look'])
    const model = scriptedModel(uses('', ...forty))
    const conversation = createConversation({ host, model })
    expect(await conversation.say('Look')).toMatchObject({
      stopReason: 'maxCalls',
      callsNotRun: 40,
      rounds: 6,
    })
    expect(host.calls).toHaveLength(200)
    expect(resultText(conversation.messages.at(-1))).toContain(
      'was not run: one turn may make 200 tool calls',
    )
    expect(await conversation.say('go on')).toMatchObject({ stopReason: 'maxCalls' })
    expect(host.calls).toHaveLength(400)
  })

  test('has configurable limits, and does not stop exactly at one', async () => {
    const host = fakeHost({ shop__look: () => text('more') })
    const two = uses('', ['shop__look'], ['shop__look'])
    const conversation = (more: { maxCalls: number; maxCallsPerReply: number }) =>
      createConversation({ host, model: scriptedModel(two, two, textReply('Done.')), ...more }).say('Look')
    expect(await conversation({ maxCalls: 4, maxCallsPerReply: 2 })).toMatchObject({ stopReason: 'endTurn' })
    expect(await conversation({ maxCalls: 3, maxCallsPerReply: 2 })).toMatchObject({
      callsNotRun: 1,
      rounds: 2,
    })
    expect(await conversation({ maxCalls: 4, maxCallsPerReply: 1 })).toMatchObject({
      callsNotRun: 1,
      rounds: 1,
    })
  })

  test('does not run calls of a reply that was cut off', async () => {
    const host = fakeHost({ shop__buy: () => text('bought') })
    const model = scriptedModel(
      { ...uses('', ['shop__buy', { amount: 1 }]), stopReason: 'maxTokens' },
      textReply('ok'),
    )
    const conversation = createConversation({ host, model })
    expect(await conversation.say('Buy 12')).toMatchObject({ stopReason: 'maxTokens' })
    expect(host.calls).toEqual([])
    expect(resultText(conversation.messages.at(-1))).toContain('not run')
  })

  test('cannot start while another is running', async () => {
    const gate = Promise.withResolvers<void>()
    const model = scriptedModel(async () => {
      await gate.promise
      return textReply('ok')
    })
    const conversation = createConversation({ host: fakeHost({}), model })
    const going = conversation.say('one')
    await expect(conversation.say('two')).rejects.toThrow('still answering')
    gate.resolve()
    expect(await going).toMatchObject({ text: 'ok' })
  })

  test('rejects when the model fails, and the conversation can continue', async () => {
    const model = scriptedModel(() => {
      throw new Error('no credit')
    }, textReply('back'))
    const host = fakeHost({})
    const conversation = createConversation({ host, model })
    await expect(conversation.say('Hi')).rejects.toThrow('no credit')
    expect(host.rows).toMatchObject([{ kind: 'model', outcome: 'error', detail: { error: 'no credit' } }])
    expect(await conversation.say('Again')).toMatchObject({ text: 'back' })
  })
})

describe('stopping a turn', () => {
  test('cancels the running call and answers the others, so that the conversation can continue', async () => {
    const stop = new AbortController()
    const host = fakeHost({
      shop__wait: (_, signal) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason))
          stop.abort()
        }),
      shop__next: () => text('next'),
    })
    const model = scriptedModel(uses('', ['shop__wait'], ['shop__next']), textReply('What now?'))
    const conversation = createConversation({ host, model })
    expect(await conversation.say('Go', { signal: stop.signal })).toMatchObject({
      stopReason: 'cancelled',
      rounds: 1,
    })
    expect(host.calls.map((call) => call.name)).toEqual(['shop__wait'])
    expect(results(conversation.messages.at(-1)).map((result) => result.toolUseId)).toEqual([
      'shop__wait-0',
      'shop__next-1',
    ])
    expect(resultText(conversation.messages.at(-1))).toContain('stopped this turn')
    expect(await conversation.say('Hello?')).toMatchObject({ text: 'What now?' })
  })

  test('before the model replies leaves a row with the reason', async () => {
    const stop = new AbortController()
    stop.abort()
    const host = fakeHost({})
    const turn = await createConversation({ host, model: scriptedModel(textReply('x')) }).say('Go', {
      signal: stop.signal,
    })
    expect(turn.stopReason).toBe('cancelled')
    expect(host.rows).toMatchObject([{ kind: 'model', outcome: 'cancelled' }])
  })
})

describe("the model's view", () => {
  test('is a list of tools with a stable order while servers come and go', async () => {
    const host = fakeHost({ b: () => text(''), a: () => text('') })
    const model = scriptedModel(textReply('ok'))
    const conversation = createConversation({ host, model })
    await conversation.say('1')
    const { b, a } = { b: () => text(''), a: () => text('') }
    host.runs = { c: () => text(''), a, b }
    await conversation.say('2')
    host.runs = { c: () => text(''), b }
    await conversation.say('3')
    const names = model.requests.map((request) => request.tools?.map((tool) => tool.name).slice(3))
    expect(names).toEqual([
      ['b', 'a'],
      ['b', 'a', 'c'],
      ['b', 'a', 'c'],
    ])
    const notes = model.requests.map((request) => JSON.stringify(request.messages.at(-2) ?? ''))
    expect(notes[1]).toContain('New: c.')
    expect(notes[2]).toContain('Gone, although still listed; calls of them fail: a.')
  })

  test("includes servers' instructions, with names and limits", async () => {
    const host = fakeHost({})
    host.instructionTexts = [{ server: 'shop', text: `Search first.${'x'.repeat(10_000)}` }]
    const model = scriptedModel(textReply('ok'))
    await createConversation({ host, model, system: 'Speak plainly.' }).say('Hi')
    const system = model.requests[0]?.system ?? ''
    expect(system).toContain('Speak plainly.')
    expect(system).toContain('<server name="shop">\nSearch first.')
    expect(system).toContain('cut after 4000 characters')
    expect(system.length).toBeLessThan(6_000)
  })

  test('is the start of a long result, with the omitted size and how to read the rest', async () => {
    const host = fakeHost({ shop__dump: () => text('x'.repeat(50_000)) })
    const model = scriptedModel(uses('', ['shop__dump']), textReply('ok'))
    await createConversation({ host, model }).say('Dump')
    const seen = resultText(model.requests[1]?.messages.at(-1))
    expect(seen).toContain('[cut: 4200 of 50000 characters are shown here')
    expect(seen).toContain('read_result, id "')
    expect(seen.length).toBeLessThan(5_600)
  })

  test('is the structured content if a result has nothing else', async () => {
    const host = fakeHost({ shop__count: () => ({ content: [], structuredContent: { left: 3 } }) })
    const model = scriptedModel(uses('', ['shop__count']), textReply('ok'))
    await createConversation({ host, model }).say('Count')
    expect(resultText(model.requests[1]?.messages.at(-1))).toBe('{"left":3}')
  })

  test("is a prompt's messages, with embedded resources as text", async () => {
    const model = scriptedModel(textReply('ok'))
    await createConversation({ host: fakeHost({}), model }).say(
      promptMessages({
        messages: [
          { role: 'user', content: { type: 'text', text: 'Summarise:' } },
          { role: 'user', content: { type: 'resource', resource: { uri: 'shop://stock', text: '3 left' } } },
        ],
      }),
    )
    expect(JSON.stringify(model.requests[0]?.messages)).toContain('[resource shop://stock]\\n3 left')
  })
})

describe("the conversation's own tools", () => {
  test('list and read resources through the host', async () => {
    const model = scriptedModel(
      uses(
        '',
        ['list_resources'],
        ['list_resources', { match: 'item' }],
        ['read_resource', { server: 'shop', uri: 'shop://stock' }],
      ),
      textReply('ok'),
    )
    await createConversation({ host: fakeHost({}), model }).say('What is there?')
    const [all, some, stock] = results(model.requests[1]?.messages.at(-1)).map((result) =>
      JSON.stringify(result.content),
    )
    expect(all).toContain('shop  shop://stock  stock: What is left')
    expect(all).toContain('shop  shop://item/{id}  item')
    expect(some).toContain('Resources: none')
    expect(stock).toContain('3 left')
  })

  test('explain a failed read', async () => {
    const model = scriptedModel(
      uses(
        '',
        ['read_resource', {}],
        ['read_resource', { server: 'x', uri: 'y' }],
        ['read_resource', { server: 'shop', uri: 'shop://nothing' }],
      ),
      textReply('ok'),
    )
    await createConversation({ host: fakeHost({}), model }).say('Read')
    const seen = results(model.requests[1]?.messages.at(-1))
    expect(seen.every((result) => result.isError === true)).toBe(true)
    const words = JSON.stringify(seen)
    expect(words).toContain('needs \\"server\\" and \\"uri\\"')
    expect(words).toContain('Servers are: shop')
    expect(words).toContain('Resource not found')
  })
})

test('each model reply is a row with its calls and cost', async () => {
  const host = fakeHost({ shop__look: () => text('ok') })
  const model = scriptedModel(uses('', ['shop__look']), textReply('Done.'))
  await createConversation({ host, model }).say('Look')
  expect(host.rows).toMatchObject([
    { kind: 'model', server: null, summary: 'scripted answered, wants shop__look', outcome: 'ok' },
    { kind: 'model', summary: 'scripted answered', detail: { usage: { inputTokens: 10, outputTokens: 5 } } },
  ])
})
