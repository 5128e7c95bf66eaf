import type { SamplingMessage } from '@jackfield/sdk'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createConversationTable } from '../../src/log/store/conversation-table.ts'
import { openDatabase } from '../../src/log/store/database.ts'
import { openStore } from '../../src/log/store/store.ts'
import { createConversation } from '../../src/models/agent/index.ts'
import { createConversationStore } from '../../src/models/conversation-store.ts'
import type { ConversationEntry, ConversationStore } from '../../src/types/index.ts'
import { folder, hostOf } from '../fixtures/hosts.ts'
import { type FakeHost, fakeHost, scriptedModel, text, textReply, uses } from './host.ts'

/** Another program with the same tools, on the same conversations. */
function next(before: FakeHost): FakeHost {
  return { ...fakeHost(before.runs), conversations: before.conversations }
}

function userTurn(words: string): ConversationEntry {
  return {
    kind: 'message',
    by: 'person',
    message: { role: 'user', content: { type: 'text', text: words } },
  }
}

function conversationsOf(): ConversationStore {
  return createConversationStore({ store: openStore(':memory:'), redact: (value) => value })
}

describe('a resumed conversation', () => {
  test('has its messages, usage and title, and continues under its id', async () => {
    const host = fakeHost({ shop__look: () => text('3 left') })
    const model = scriptedModel(uses('Looking.', ['shop__look']), textReply('Three.'))
    const first = createConversation({ host, model })
    await first.say('How many are left?\nBe quick.')

    const again = scriptedModel(textReply('Still three.'))
    const conversation = createConversation({ host: next(host), model: again, resume: first.id.slice(0, 8) })
    expect(conversation.id).toBe(first.id)
    expect(conversation.messages).toEqual(first.messages)
    expect(conversation.title).toBe('How many are left? Be quick.')
    expect(conversation.usage).toEqual([{ model: 'scripted', inputTokens: 20, outputTokens: 10 }])
    expect(conversation.contextTokens).toBe(15)
    await conversation.say('And now?')
    expect(again.requests[0]?.messages.map((message) => message.role)).toEqual([
      ...['user', 'assistant', 'user', 'assistant'],
      'user',
    ])
    expect(host.conversations.list()).toMatchObject([
      { id: first.id, turns: 2, inputTokens: 30, outputTokens: 15, model: 'scripted' },
    ])
  })

  test('has no row before its first message', () => {
    const host = fakeHost({})
    createConversation({ host, model: scriptedModel() })
    expect(host.conversations.list()).toEqual([])
  })

  test('reports to the model which calls were running when the program ended, and keeps existing results', async () => {
    const host = fakeHost({ shop__buy: () => text('bought') })
    host.runs['shop__send'] = () => new Promise(() => {})
    const model = scriptedModel(uses('', ['shop__buy'], ['shop__send', { to: 'a' }]))
    const first = createConversation({ host, model })
    const underWay = Promise.withResolvers<void>()
    first.say('Buy and send', {
      onToolCall: (event) => event.type === 'start' && event.name === 'shop__send' && underWay.resolve(),
    })
    await underWay.promise

    const again = scriptedModel(textReply('I do not know whether it was sent.'))
    const conversation = createConversation({ host: next(host), model: again, resume: first.id })
    expect(conversation.unfinished).toMatchObject([{ name: 'shop__send', input: { to: 'a' } }])
    await conversation.say('Was it sent?')
    const results = again.requests[0]?.messages.at(-2)?.content
    expect(results).toMatchObject([
      { toolUseId: 'shop__buy-0', content: [{ text: 'bought' }] },
      { toolUseId: 'shop__send-1', isError: true },
    ])
    expect(JSON.stringify(results)).toContain('Whether it took effect is not known')
    // It is kept with what followed.
    const third = createConversation({ host: next(host), model: again, resume: first.id })
    expect(third.unfinished).toEqual([])
    expect(third.messages).toEqual(conversation.messages)
  })

  test('that continued elsewhere is not written to', async () => {
    const host = fakeHost({})
    const first = createConversation({ host, model: scriptedModel(textReply('a')) })
    await first.say('one')
    const other = createConversation({ host, model: scriptedModel(textReply('b')), resume: first.id })
    await other.say('two')
    await expect(first.say('three')).rejects.toThrow('went on in another window')
    expect(host.conversations.find(first.id).turns).toBe(2)
  })

  test('outlives the host: its store is read by the next one', async () => {
    const store = `${folder()}/store.db`
    const one = hostOf({ store })
    const first = createConversation({ host: one, model: scriptedModel(textReply('Hello.')) })
    await first.say('Hi')
    await one.close()
    const two = hostOf({ store })
    expect(createConversation({ host: two, model: scriptedModel(), resume: first.id }).messages).toEqual(
      first.messages,
    )
  })
})

describe('a fork', () => {
  test('shares the earlier entries and no later ones, on both sides', async () => {
    const host = fakeHost({})
    const trunk = createConversation({ host, model: scriptedModel(textReply('a')) })
    await trunk.say('one')
    const id = host.conversations.fork(trunk.id)
    await trunk.say('two')
    const fork = createConversation({ host, model: scriptedModel(textReply('b')), resume: id })
    await fork.say('other')
    const words = (messages: readonly SamplingMessage[]): string => JSON.stringify(messages)
    expect(words(fork.messages)).toContain('one')
    expect(words(fork.messages)).not.toContain('two')
    expect(words(trunk.messages)).not.toContain('other')
    expect(host.conversations.find(id)).toMatchObject({ title: 'one', turns: 2, fork: { of: trunk.id } })
    expect(() => host.conversations.remove(trunk.id)).toThrow('forked from this one')
    host.conversations.remove(id)
    host.conversations.remove(trunk.id)
    expect(host.conversations.list()).toEqual([])
  })

  test('keeps labels only of data seen before it', () => {
    const store = openStore(':memory:')
    const conversations = createConversationStore({ store, redact: (value) => value })
    conversations.append('a', 0, [userTurn('secret things')])
    store.labels.add('a', { label: 'private', server: 'mail' })
    expect(store.labels.of(conversations.fork('a'))).toEqual([{ label: 'private', server: 'mail' }])
  })

  test('of forks reads the same as its full history, wherever they branch', () => {
    const step = fc.record({ from: fc.nat(), at: fc.nat(), adds: fc.array(fc.string(), { maxLength: 3 }) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const conversations = conversationsOf()
        conversations.append('root', 0, [userTurn('first')])
        const expected = new Map([['root', [userTurn('first')]]])
        for (const { from, at, adds } of steps) {
          const [id = '', history = []] = [...expected][from % expected.size] ?? []
          const cut = at % (history.length + 1)
          const fork = conversations.fork(id, cut)
          const entries = adds.map(userTurn)
          if (entries.length > 0) conversations.append(fork, cut, entries)
          expected.set(fork, [...history.slice(0, cut), ...entries])
        }
        for (const [id, history] of expected) expect(conversations.entries(id)).toEqual(history)
      }),
      { numRuns: 60 },
    )
  })
})

describe('a summary', () => {
  test('is requested without calls, changes nothing until accepted, then replaces earlier messages', async () => {
    const host = fakeHost({ shop__look: () => text('3 left') })
    const model = scriptedModel(
      uses('', ['shop__look']),
      textReply('Three.'),
      textReply('Three are left.'),
      textReply('Ok.'),
    )
    const conversation = createConversation({ host, model })
    await conversation.say('How many?')
    const before = [...conversation.messages]
    const summary = await conversation.summarize()
    expect(summary).toBe('Three are left.')
    expect(conversation.messages).toEqual(before)
    expect(model.requests[2]).toMatchObject({ toolChoice: 'none' })
    expect(model.requests[2]?.tools?.length).toBe(model.requests[1]?.tools?.length)

    conversation.compact(`${summary} The person edited this.`)
    expect(conversation.contextTokens).toBeUndefined()
    await conversation.say('Go on')
    expect(model.requests[3]?.messages).toHaveLength(2)
    expect(JSON.stringify(model.requests[3]?.messages[0])).toContain('The person edited this.')
    const again = createConversation({ host, model, resume: conversation.id })
    expect(again.messages).toEqual(conversation.messages)
    // What was before stays kept.
    expect(JSON.stringify(host.conversations.entries(conversation.id))).toContain('3 left')
  })

  test('of an empty conversation is an error', async () => {
    const conversation = createConversation({ host: fakeHost({}), model: scriptedModel() })
    await expect(conversation.summarize()).rejects.toThrow('There are no messages')
    expect(() => conversation.compact(' ')).toThrow('is empty')
  })
})

describe('stored conversations', () => {
  test('are found by a unique id prefix', () => {
    const conversations = conversationsOf()
    conversations.append('abc1', 0, [userTurn('x')])
    conversations.append('abc2', 0, [userTurn('y')])
    expect(conversations.find('abc1').id).toBe('abc1')
    expect(() => conversations.find('abc')).toThrow('Several conversations')
    expect(() => conversations.find('x')).toThrow('no conversation "x"')
    expect(() => conversations.find('')).toThrow('no conversation')
  })

  test('cannot be changed', () => {
    const database = openDatabase(':memory:')
    const store = { conversations: createConversationTable(database), labels: openStore(':memory:').labels }
    createConversationStore({ store, redact: (value) => value }).append('a', 0, [userTurn('x')])
    expect(() => database.exec("UPDATE conversation_entry SET entry = '{}'")).toThrow('append-only')
  })

  test('make room for new ones: the oldest without forks are deleted first', () => {
    const bounds = { conversations: 3, characters: 10_000 }
    const table = createConversationTable(openDatabase(':memory:'), bounds)
    let now = 0
    const store = { conversations: table, labels: openStore(':memory:').labels }
    const conversations = createConversationStore({
      store,
      redact: (value) => value,
      now: () => (now += 1_000),
    })
    conversations.append('trunk', 0, [userTurn('x')])
    const fork = conversations.fork('trunk')
    conversations.append('b', 0, [userTurn('x')])
    conversations.append('c', 0, [userTurn('x')])
    expect(conversations.list().map(({ id }) => id)).toEqual(['c', 'b', 'trunk'])
    expect(() => conversations.find(fork)).toThrow()
    conversations.append('large', 0, [userTurn('x'.repeat(9_950))])
    expect(conversations.list().map(({ id }) => id)).toEqual(['large'])
  })

  test('contain no secret of the host, and mark what was too large', () => {
    const store = openStore(':memory:')
    const hide = (text: string): string => text.replaceAll('hunter2', '[secret]')
    const redact = <T>(value: T): T => JSON.parse(hide(JSON.stringify(value)))
    const conversations = createConversationStore({ store, redact })
    conversations.append('a', 0, [userTurn('the password is hunter2'), userTurn('y'.repeat(9_000_000))])
    const stored = JSON.stringify(conversations.entries('a'))
    expect(stored).not.toContain('hunter2')
    expect(stored).toContain('8000000 more characters were not kept')
  })
})
