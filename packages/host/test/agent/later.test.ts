import { describe, expect, onTestFinished, test } from 'vitest'
import { createConversation, type LateResult, type ToolCallEvent } from '../../src/models/agent/index.ts'
import type { Model } from '../../src/types/index.ts'
import { session, started, until, type Watched } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { statelessServer } from '../fixtures/stateless-server.ts'
import { form, seatAnswer } from '../inbox/programs.ts'
import { scriptedModel, textReply, uses } from './host.ts'

/** A host whose person leaves every form for later. */
async function hostIn(era: 'session' | 'stateless'): Promise<Watched> {
  const options = {
    rules: [{ id: 'all', verdict: 'allow' as const }],
    surface: person({ elicitation: () => undefined, approval: () => undefined }),
  }
  if (era === 'session') return started({ servers: { s: session().config }, ...options })
  const server = await statelessServer()
  onTestFinished(() => server.stop())
  return started({ servers: { s: { url: server.url } }, ...options })
}

function conversationWith(host: Watched, model: Model) {
  const late: LateResult[] = []
  const conversation = createConversation({ host, model, onLate: (result) => late.push(result) })
  const events: ToolCallEvent[] = []
  const say = (words: string, signal?: AbortSignal) =>
    conversation.say(words, {
      onToolCall: (event) => events.push(event),
      ...(signal !== undefined && { signal }),
    })
  const question = () => events.flatMap((event) => (event.type === 'later' ? [event.item.id] : []))[0] ?? ''
  return { conversation, say, late, events, question }
}

/** The result of the fixture's tool: the answer that it received. */
function resultOf(late: LateResult | undefined): unknown {
  const [block] = late?.result.content ?? []
  return block?.type === 'text' ? JSON.parse(block.text) : undefined
}

const askSeat: [string, Record<string, unknown>] = ['s__ask', { params: form() }]

describe.each(['session', 'stateless'] as const)('a call with a deferred question (%s)', (era) => {
  test('lets the turn continue, completes when it is answered, and the model gets the result with the next turn', async () => {
    const host = await hostIn(era)
    const model = scriptedModel(uses('I book.', askSeat), textReply('Meanwhile …'), textReply('12A it is.'))
    const { conversation, say, late, events, question } = conversationWith(host, model)
    expect(await say('Book a seat')).toMatchObject({ text: 'Meanwhile …', stopReason: 'endTurn' })
    expect(events.map(({ type }) => type)).toEqual(['start', 'later'])
    const lastMessage = JSON.stringify(model.requests[1]?.messages.at(-1))
    expect(lastMessage).toContain('has neither failed nor finished')
    expect(lastMessage).toContain(question().slice(0, 8))
    expect(host.inbox.get(question())).toMatchObject({ state: 'open', waits: true })

    host.inbox.answer(question(), seatAnswer('12A'), 'a window')
    await until(() => late.length === 1, 'the result')
    expect(late).toMatchObject([{ type: 'end', name: 's__ask', denied: false }])
    expect(resultOf(late[0])).toMatchObject({ answer: seatAnswer('12A') })
    // It is kept at once, so that it is not lost with this program.
    expect(JSON.stringify(host.conversations.entries(conversation.id).at(-1))).toContain('12A')
    await say('And?')
    const [result, words] = model.requests[2]?.messages.slice(-2) ?? []
    expect(JSON.stringify(result)).toMatch(/call of s__ask whose result was not there yet is over.*12A/)
    expect(words).toMatchObject({ content: { text: 'And?' } })
  })

  test('is not cancelled with a turn that continued without it', async () => {
    const host = await hostIn(era)
    const stop = new AbortController()
    const waits = Promise.withResolvers<never>()
    const model = scriptedModel(uses('', askSeat), ({ signal }) => {
      signal?.addEventListener('abort', () => waits.reject(signal.reason))
      stop.abort(new Error('enough'))
      return waits.promise
    })
    const { say, late, question } = conversationWith(host, model)
    expect(await say('Book a seat', stop.signal)).toMatchObject({ stopReason: 'cancelled' })
    host.inbox.answer(question(), seatAnswer('12A'), 'a window')
    await until(() => late.length === 1, 'the result')
    expect(late[0]?.result.isError).not.toBe(true)
  })

  test('is delivered in the same turn if it is answered before that ends, after the results of other calls', async () => {
    const host = await hostIn(era)
    const model = scriptedModel(
      uses('', askSeat),
      async () => {
        host.inbox.answer(question(), seatAnswer('3C'), 'a window')
        await until(() => late.length === 1, 'the result')
        return uses('', ['s__ask', { params: { ...form(), message: 'Which other?' } }])
      },
      textReply('Done.'),
    )
    const { say, late, question } = conversationWith(host, model)
    await say('Book a seat')
    const messages = model.requests[2]?.messages ?? []
    expect(messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
      'user',
    ])
    expect(JSON.stringify(messages.at(-2))).toContain('tool_result')
    expect(JSON.stringify(messages.at(-1))).toContain('3C')
  })
})

test('a deferred approval is no refusal: the call happens once it is given', async () => {
  const host = await started({
    servers: { s: session().config },
    surface: person({ approval: () => undefined, elicitation: () => seatAnswer('7F') }),
  })
  const { say, late, question } = conversationWith(
    host,
    scriptedModel(uses('', askSeat), textReply('Later, then.')),
  )
  await say('Book a seat')
  host.inbox.answer(question(), { verdict: 'allow' }, 'a window')
  await until(() => late.length === 1, 'the result')
  expect(resultOf(late[0])).toMatchObject({ answer: seatAnswer('7F') })
})

test('a call that still waits when the host closes is suspended, and the model gets no result for it', async () => {
  const host = await hostIn('stateless')
  const { say, late, question } = conversationWith(host, scriptedModel(uses('', askSeat), textReply('Bye.')))
  await say('Book a seat')
  expect(host.inbox.get(question())).toMatchObject({ resumable: true })
  await host.close()
  expect(late).toEqual([])
})
