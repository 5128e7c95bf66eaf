import { beforeAll, describe, expect, it } from 'vitest'
import { checkWire } from '../schema/wire.ts'
import {
  answers,
  conversation,
  member,
  metaOf,
  notifications,
  places,
  type RecordedMessage,
  requests,
} from './conversation.ts'

const prefix = 'io.modelcontextprotocol/'
const cacheable = [
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]

describe.each(places)('all messages over $transport at $revision', (place) => {
  const { revision } = place
  const modern = revision === '2026-07-28'
  let messages: RecordedMessage[] = []
  beforeAll(async () => {
    messages = await conversation(place)
  })
  it('conform to the official schema', () => {
    const faults = messages.flatMap(({ by, message, answers }) =>
      checkWire(revision, by, message, answers).map((fault) => `${by}: ${JSON.stringify(message)}: ${fault}`),
    )
    expect(faults).toEqual([])
    expect(messages.length).toBeGreaterThan(40)
  })

  it('are requests, responses or notifications of JSON-RPC 2.0', () => {
    for (const { message } of messages) {
      expect(message['jsonrpc']).toBe('2.0')
      const kinds = ['method', 'result', 'error'].filter((name) => name in message)
      expect(kinds).toHaveLength(1)
    }
  })

  it('have a string or an integer as the id of a request, never reused', () => {
    for (const by of ['client', 'server'] as const) {
      const ids = requests(messages, by).map(({ message }) => message['id'])
      for (const id of ids) expect(typeof id === 'string' || Number.isInteger(id)).toBe(true)
      expect(new Set(ids).size).toBe(ids.length)
    }
    expect(requests(messages, 'server').length > 0).toBe(!modern)
  })

  it('have one response for each request, by its id, with a result or an error', () => {
    for (const [requester, answerer] of [
      ['client', 'server'],
      ['server', 'client'],
    ] as const) {
      const asked = requests(messages, requester).map(({ message }) => message['id'])
      const answered = answers(messages, answerer).map(({ message }) => message['id'])
      expect(new Set(answered).size).toBe(answered.length)
      expect(answered.filter((id) => !asked.includes(id))).toEqual([])
      const unanswered = requests(messages, requester).filter(
        ({ message }) => !answered.includes(message['id']),
      )
      // Only what was cancelled has no answer.
      for (const { message } of unanswered) {
        expect(['tools/call', 'subscriptions/listen']).toContain(message['method'])
      }
      expect(unanswered.length).toBeLessThanOrEqual(2)
    }
  })

  it('have an integer code and a message in every error', () => {
    const errors = messages.flatMap(({ message }) => ('error' in message ? [message['error']] : []))
    expect(errors.length).toBeGreaterThanOrEqual(5)
    for (const error of errors) {
      expect(error).toMatchObject({ code: expect.any(Number), message: expect.stringMatching(/./) })
      expect(Number.isInteger(member(error, 'code'))).toBe(true)
    }
  })

  it('have no id in a notification', () => {
    expect(notifications(messages).length).toBeGreaterThan(5)
    for (const { message } of notifications(messages))
      expect(String(message['method'])).toMatch(/^notifications\//)
    for (const { message } of [...requests(messages, 'client'), ...requests(messages, 'server')]) {
      expect(String(message['method'])).not.toMatch(/^notifications\//)
    }
  })

  it('have unique progress tokens among running requests, and progress that only increases', () => {
    const tokens = requests(messages, 'client').flatMap(
      ({ message }) => metaOf(message['params'])['progressToken'] ?? [],
    )
    expect(tokens.length).toBeGreaterThan(2)
    for (const token of tokens) expect(typeof token === 'string' || Number.isInteger(token)).toBe(true)
    expect(new Set(tokens).size).toBe(tokens.length)
    const last = new Map<unknown, number>()
    for (const { message } of notifications(messages)) {
      if (message['method'] !== 'notifications/progress') continue
      const token = member(message['params'], 'progressToken')
      const progress = Number(member(message['params'], 'progress'))
      expect(tokens).toContain(token)
      expect(progress).toBeGreaterThan(last.get(token) ?? Number.NEGATIVE_INFINITY)
      last.set(token, progress)
    }
    expect(last.size).toBe(2)
  })

  it('have well-formed keys in every _meta', () => {
    const label = '[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?'
    const key = new RegExp(`^(?:${label}(?:\\.${label})*/)?[A-Za-z0-9](?:[\\w.-]*[A-Za-z0-9])?$`)
    const keys = messages.flatMap(({ message }) =>
      [message['params'], message['result']].flatMap((part) => Object.keys(metaOf(part))),
    )
    expect(keys.length).toBeGreaterThan(2)
    for (const name of keys) expect(name).toMatch(key)
  })

  it('declare every capability that is used', () => {
    const [first] = answers(messages, 'server').filter(({ answers }) =>
      modern ? answers === 'server/discover' : answers === 'initialize',
    )
    const capabilities = member(first?.message['result'], 'capabilities')
    expect(capabilities).toMatchObject({
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      logging: {},
      ...(revision > '2024-11-05' ? { completions: {} } : {}),
    })
    const initialize = requests(messages, 'client').find(({ message }) => message['method'] === 'initialize')
    const declared = modern
      ? metaOf(requests(messages, 'client')[0]?.message['params'])[`${prefix}clientCapabilities`]
      : member(initialize?.message['params'], 'capabilities')
    expect(declared).toMatchObject({ sampling: {}, roots: {}, elicitation: {} })
  })
})

describe.each(places.filter(({ revision }) => revision === '2026-07-28'))(
  'all messages over $transport without a session',
  (place) => {
    let messages: RecordedMessage[] = []
    beforeAll(async () => {
      messages = await conversation(place)
    })

    it('have the version, client and capabilities in every request', () => {
      for (const { message } of requests(messages, 'client')) {
        expect(metaOf(message['params'])).toMatchObject({
          [`${prefix}protocolVersion`]: '2026-07-28',
          [`${prefix}clientInfo`]: { name: 'talker', version: '1.0.0' },
          [`${prefix}clientCapabilities`]: { roots: {}, sampling: {}, elicitation: { form: {}, url: {} } },
        })
      }
    })

    it('have the type and server in every result', () => {
      const results = answers(messages, 'server').filter(({ message }) => 'result' in message)
      for (const { message } of results) {
        expect(message['result']).toMatchObject({
          resultType: expect.stringMatching(/^(?:complete|input_required)$/),
        })
        expect(metaOf(message['result'])[`${prefix}serverInfo`]).toMatchObject({ name: 'everything' })
      }
      const types = results.map(({ message }) => member(message['result'], 'resultType'))
      expect(new Set(types)).toEqual(new Set(['complete', 'input_required']))
    })

    it('have the cache lifetime in cacheable results only', () => {
      const results = answers(messages, 'server').filter(({ message }) => 'result' in message)
      for (const method of cacheable) {
        const some = results.filter(({ answers }) => answers === method)
        expect([method, some.length > 0]).toEqual([method, true])
        for (const { message } of some) {
          expect(message['result']).toMatchObject({
            cacheScope: expect.stringMatching(/^(?:public|private)$/),
          })
          expect(member(message['result'], 'ttlMs')).toBeGreaterThanOrEqual(0)
        }
      }
      for (const { message, answers } of results) {
        if (!cacheable.includes(answers ?? '')) expect(message['result']).not.toHaveProperty('ttlMs')
      }
    })

    it('have the subscription in each of its notifications', () => {
      const [listen] = requests(messages, 'client').filter(
        ({ message }) => message['method'] === 'subscriptions/listen',
      )
      const id = listen?.message['id']
      const received = notifications(messages).filter(
        ({ by, message }) => by === 'server' && /changed|updated|ackn/.test(String(message['method'])),
      )
      expect(received.length).toBeGreaterThanOrEqual(3)
      expect(received[0]?.message['method']).toBe('notifications/subscriptions/acknowledged')
      for (const { message } of received)
        expect(metaOf(message['params'])[`${prefix}subscriptionId`]).toBe(id)
    })
  },
)
