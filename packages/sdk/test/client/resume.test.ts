import { type ConnectOptions, connect, type Round } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { begun, discovered, result, type Seen, scripted } from './support/http.ts'
import { called } from './support/results.ts'

const form = {
  method: 'elicitation/create',
  params: {
    message: 'Sure?',
    requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
  },
}
const content = [{ type: 'text', text: 'done' }]
const asks = (more: object) => ({ resultType: 'input_required', ...more })
const yes = () => ({ action: 'accept' as const, content: { ok: true } })

/** A server that answers calls with `answer`, and clients of it. */
async function serve(answer: (one: Seen, nth: number) => object) {
  const server = await scripted((one) => {
    if (discovered(one)) return
    result(one, answer(one, server.of('tools/call').length))
  })
  const client = async (options: ConnectOptions) => {
    const made = await connect(server.url, options)
    onTestFinished(() => made.close())
    return made
  }
  return { client, calls: () => server.of('tools/call').map((one) => one.message.params) }
}

describe('a stored round', () => {
  it('is emitted before its questions are asked, and resumed by another client unchanged', async () => {
    const state = ' {"a": 1}\u0000é🎉 '
    const { client, calls } = await serve((_, nth) =>
      nth === 1 ? asks({ inputRequests: { 0: form, b: form }, requestState: state }) : called({ content }),
    )
    const order: string[] = []
    const stored: string[] = []
    const first = await client({
      onElicit: () => {
        order.push('question')
        throw new Error('the person is away')
      },
    })
    const onRound = (round: Round): void => {
      order.push('round')
      stored.push(JSON.stringify(round))
    }
    await expect(first.call('x', { n: 1 }, { onRound })).rejects.toThrow('the person is away')
    expect(order).toEqual(['round', 'question', 'question'])
    await first.close()

    const causes: unknown[] = []
    const second = await client({
      onElicit: (_, { cause }) => {
        causes.push(cause)
        return yes()
      },
    })
    const resume: Round = JSON.parse(stored[0] ?? '')
    await expect(second.call('x', { n: 1 }, { resume })).resolves.toEqual({ content })
    const sent = calls()
    expect(sent).toHaveLength(2)
    expect(sent[1]).toMatchObject({
      name: 'x',
      arguments: { n: 1 },
      requestState: state,
      inputResponses: { 0: { action: 'accept', content: { ok: true } }, b: { action: 'accept' } },
    })
    expect(causes).toMatchObject([{ method: 'tools/call', params: { name: 'x' } }, {}])
  })

  it('may be followed by further rounds, which are emitted too', async () => {
    const { client, calls } = await serve((_, nth) =>
      nth === 1 ? asks({ inputRequests: { q: form }, requestState: 'two' }) : called({ content }),
    )
    const rounds: Round[] = []
    const here = await client({ onElicit: yes })
    const resume = { inputRequests: { q: form }, requestState: 'one' }
    const sentBefore: number[] = []
    await here.call(
      'x',
      {},
      {
        resume,
        onRound: (round) => rounds.push(round),
        onAnswered: () => sentBefore.push(calls().length),
      },
    )
    expect(sentBefore).toEqual([0, 1])
    expect(calls().map((params) => params['requestState'])).toEqual(['one', 'two'])
    expect(rounds).toEqual([{ inputRequests: { q: form }, requestState: 'two' }])
  })

  it('is not sent without answers', async () => {
    const { client, calls } = await serve(() => called({ content }))
    const here = await client({})
    const resume = { inputRequests: { q: form }, requestState: 'one' }
    await expect(here.call('x', {}, { resume })).rejects.toMatchObject({ code: 'CAPABILITY' })
    expect(calls()).toEqual([])
  })

  it('may be answered by other handlers, which are not declared', async () => {
    const { client, calls } = await serve((_, nth) =>
      nth === 1 ? asks({ inputRequests: { q: form } }) : called({ content }),
    )
    const here = await client({})
    const resume = { inputRequests: { q: form }, requestState: 'one', answers: { onElicit: yes } }
    await expect(here.call('x', {}, { resume })).rejects.toMatchObject({ code: 'CAPABILITY' })
    const [sent, ...more] = calls()
    expect(sent?.inputResponses).toEqual({ q: { action: 'accept', content: { ok: true } } })
    expect(sent?._meta['io.modelcontextprotocol/clientCapabilities']).toEqual({})
    expect(more).toEqual([])
  })

  it('cannot be resumed in a session, nor for a method without rounds', async () => {
    const server = await scripted((one) => {
      if (!begun(one)) result(one, { content })
    })
    const client = await connect(server.url)
    onTestFinished(() => client.close())
    const resume = { requestState: 'one' }
    await expect(client.call('x', {}, { resume })).rejects.toMatchObject({ code: 'INVALID' })
    const modern = await serve(() => called())
    await expect((await modern.client({})).request('tools/list', {}, { resume })).rejects.toMatchObject({
      code: 'INVALID',
    })
    expect(server.of('tools/call')).toEqual([])
  })
})
