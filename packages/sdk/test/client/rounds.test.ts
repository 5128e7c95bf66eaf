import { type ConnectOptions, connect } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { discovered, result, type Seen, scripted } from './support/http.ts'
import { called } from './support/results.ts'

const form = (name = 'confirmed') => ({
  method: 'elicitation/create',
  params: {
    message: 'Sure?',
    requestedSchema: { type: 'object', properties: { [name]: { type: 'boolean' } }, required: [name] },
  },
})
const content = [{ type: 'text', text: 'done' }]
const done = called({ content })
const asks = (more: object) => ({ resultType: 'input_required', ...more })
const yes = () => ({ action: 'accept' as const, content: { confirmed: true } })

async function serve(answer: (one: Seen, nth: number) => object, options: ConnectOptions = {}) {
  const server = await scripted((one) => {
    if (discovered(one)) return
    const nth = server.seen.filter((other) => other.message.method === one.message.method).length
    result(one, answer(one, nth))
  })
  const client = await connect(server.url, { onElicit: yes, ...options })
  onTestFinished(() => client.close())
  return { client, calls: () => server.of('tools/call').map((one) => one.message) }
}

describe('a request with input_required', () => {
  it('is retried with a new id and the unchanged state', async () => {
    const state = ' {"a": 1}\u0000é🎉 '
    const { client, calls } = await serve((_, nth) =>
      nth === 1 ? asks({ inputRequests: { confirm: form() }, requestState: state }) : done,
    )
    await expect(client.call('x', { n: 1 })).resolves.toEqual({ content })
    const [first, retry] = calls()
    expect(retry?.id).not.toBe(first?.id)
    expect(retry?.params).toMatchObject({
      name: 'x',
      arguments: { n: 1 },
      requestState: state,
      inputResponses: { confirm: { action: 'accept', content: { confirmed: true } } },
    })
    expect(retry?.params._meta.progressToken).not.toBe(first?.params._meta.progressToken)
  })

  it('has no state when the server sent none, and drops that of the last round', async () => {
    const { client, calls } = await serve((_, nth) =>
      nth === 1
        ? asks({ inputRequests: { a: form() }, requestState: 'one' })
        : nth === 2
          ? asks({ inputRequests: { b: form() } })
          : done,
    )
    await client.call('x')
    const [, second, third] = calls()
    expect(Object.keys(second?.params.inputResponses ?? {})).toEqual(['a'])
    expect(Object.keys(third?.params.inputResponses ?? {})).toEqual(['b'])
    expect(third?.params).not.toHaveProperty('requestState')
  })

  it('does not share its state with a concurrent request', async () => {
    let release = (): void => {}
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const { client, calls } = await serve(
      (one) =>
        one.message.params.name === 'ask' && one.message.params.inputResponses === undefined
          ? asks({ inputRequests: { a: form() }, requestState: 'secret' })
          : done,
      {
        onElicit: async () => {
          await gate
          return yes()
        },
      },
    )
    const asking = client.call('ask')
    await client.call('plain')
    release()
    await asking
    const plain = calls().filter((one) => one.params.name === 'plain')
    expect(plain).toHaveLength(1)
    expect(JSON.stringify(plain)).not.toContain('secret')
  })

  it('with only a state is retried after growing pauses', async () => {
    const { client, calls } = await serve((_, nth) => (nth <= 3 ? asks({ requestState: `s${nth}` }) : done))
    const began = performance.now()
    await client.call('x')
    expect(performance.now() - began).toBeGreaterThanOrEqual(100 + 200 + 400 - 10)
    expect(calls().map((one) => one.params.requestState)).toEqual([undefined, 's1', 's2', 's3'])
    expect(calls().every((one) => one.params.inputResponses === undefined)).toBe(true)
  })

  it('ends with its timeout, however often the server asks for more time', async () => {
    const { client } = await serve(() => asks({ requestState: 's' }), { maxTotalMs: 250, maxRounds: 1_000 })
    await expect(client.call('x')).rejects.toMatchObject({ code: 'TIMEOUT' })
  })

  it('fails when one handler fails, and the others are aborted', async () => {
    let stopped = false
    const { client, calls } = await serve(() => asks({ inputRequests: { a: form('a'), b: form('b') } }), {
      onElicit: (question, { signal }) => {
        if (question.mode === 'form' && 'a' in question.requestedSchema.properties)
          throw new Error('screen is gone')
        return new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            stopped = true
            resolve({ action: 'cancel' })
          })
        })
      },
    })
    await expect(client.call('x')).rejects.toThrow('screen is gone')
    expect(stopped).toBe(true)
    expect(calls()).toHaveLength(1)
  })
})

describe('a response', () => {
  it('without a type is complete', async () => {
    faultyPeer('a result without its type')
    const { client, calls } = await serve(() => ({ content }))
    await expect(client.call('x')).resolves.toEqual({ content })
    expect(calls()).toHaveLength(1)
  })

  it.each<[string, object, RegExp, string?]>([
    ['of an unknown type', { resultType: 'task' }, /unknown type "task"/],
    [
      'that asks for nothing',
      asks({}),
      /with no "inputRequests" and no "requestState"/,
      'neither questions nor a state',
    ],
    ['with a state that is no text', asks({ requestState: 7 }), /requestState/, 'a state that is a number'],
    [
      'with questions that are no object',
      asks({ inputRequests: [] }),
      /inputRequests/,
      'questions in a list',
    ],
    [
      'with a question that is none',
      asks({ inputRequests: { a: 'b' } }),
      /"a" is not a request/,
      'a text for a question',
    ],
    ['without content blocks', called({ content: 'text' }), /"content"/, 'content that is a text'],
  ])('%s is rejected', async (_, answer, why, fault) => {
    if (fault !== undefined) faultyPeer(fault)
    const { client } = await serve(() => answer)
    await expect(client.call('x')).rejects.toMatchObject({
      code: 'PROTOCOL',
      message: expect.stringMatching(why),
    })
  })

  it('that requests an undeclared capability is rejected', async () => {
    const sampling = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } }
    const { client } = await serve(() => asks({ inputRequests: { s: sampling } }))
    await expect(client.call('x')).rejects.toMatchObject({
      code: 'CAPABILITY',
      message: expect.stringContaining('Give connect the option "onSample"'),
    })
  })

  it('that has too many input requests is rejected', async () => {
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`q${i}`, form()]))
    let asked = 0
    const { client } = await serve(() => asks({ inputRequests: many }), {
      onElicit: () => {
        asked++
        return yes()
      },
    })
    await expect(client.call('x')).rejects.toMatchObject({ code: 'LIMIT' })
    expect(asked).toBe(0)
  })

  it('may have as many input requests as maxQuestions allows', async () => {
    const of = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`q${i}`, form()]))
    const low = await serve(() => asks({ inputRequests: of(3) }), { maxQuestions: 2 })
    await expect(low.client.call('x')).rejects.toMatchObject({
      code: 'LIMIT',
      message: expect.stringMatching(/the limit is 2\. .*maxQuestions of connect/),
    })
    const high = await serve((_, nth) => (nth === 1 ? asks({ inputRequests: of(65) }) : done), {
      maxQuestions: 65,
    })
    await expect(high.client.call('x')).resolves.toEqual({ content })
  })

  it('may not require input for a list', async () => {
    faultyPeer('questions in answer to a list')
    const { client } = await serve(() => asks({ inputRequests: { a: form() } }))
    await expect(client.tools()).rejects.toMatchObject({ code: 'PROTOCOL' })
  })
})
