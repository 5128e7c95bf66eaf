import { connect } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { begun, discovered, type Message, result, type Seen, scripted, sse, until } from './support/http.ts'
import { called } from './support/results.ts'

const form = {
  method: 'elicitation/create',
  params: { message: 'Sure?', requestedSchema: { type: 'object', properties: {} } },
}
const capabilitiesIn = (one: Seen | undefined): unknown =>
  one?.message.params._meta['io.modelcontextprotocol/clientCapabilities']
const yes = () => ({ action: 'accept' as const, content: {} })

describe('the handlers of a client', () => {
  it('can change from the next request on (2026-07-28)', async () => {
    const server = await scripted((one) => {
      if (!discovered(one)) result(one, called())
    })
    const client = await connect(server.url)
    onTestFinished(() => client.close())
    await client.call('x')
    client.setAnswers({ onElicit: yes, elicitation: { form: true, url: true }, onRoots: [] })
    await client.call('x')
    client.setAnswers({})
    await client.call('x')
    expect(server.of('tools/call').map(capabilitiesIn)).toEqual([
      {},
      { elicitation: { form: {}, url: {} }, roots: {} },
      {},
    ])
  })

  it('answer as declared in the request, regardless of later changes', async () => {
    const server = await scripted((one) => {
      if (discovered(one)) return
      if (one.message.params.inputResponses !== undefined) return result(one, called())
      client.setAnswers({})
      result(one, { resultType: 'input_required', inputRequests: { q: form } })
    })
    const client = await connect(server.url, { onElicit: yes })
    onTestFinished(() => client.close())
    await client.call('x')
    const [first, retry] = server.of('tools/call')
    expect(capabilitiesIn(first)).toEqual({ elicitation: { form: {} } })
    expect(retry?.message.params.inputResponses).toEqual({ q: { action: 'accept', content: {} } })
    expect(capabilitiesIn(retry)).toEqual({})
  })

  it('keep the capabilities of initialize for the whole session', async () => {
    const answers: Message[] = []
    const server = await scripted((one) => {
      if (one.message.method === undefined && one.message.id !== undefined) {
        answers.push(one.message)
        one.res.writeHead(202).end()
      } else if (begun(one, 's')) return
      else if (one.method === 'GET') one.res.writeHead(405).end()
      else if (one.message.method === 'tools/call') {
        sse(one.res)({ data: { jsonrpc: '2.0', id: answers.length, ...form } })
      }
    })
    const received = await connect(server.url, { onElicit: yes })
    onTestFinished(() => received.close())
    received.setAnswers({})
    received.call('x').catch(() => {})
    await until(() => answers.length === 1)
    expect(answers[0]).toMatchObject({ result: { action: 'accept' } })

    const untold = await connect(server.url)
    onTestFinished(() => untold.close())
    untold.setAnswers({ onElicit: yes })
    untold.call('x').catch(() => {})
    await until(() => answers.length === 2)
    expect(answers[1]).toMatchObject({ error: { code: -32601 } })
    const declared = server.of('initialize').map((one) => one.message.params['capabilities'])
    expect(declared).toEqual([{ elicitation: { form: {} } }, {}])
  })

  it('are rejected in the same cases as in connect, and nothing changes then', async () => {
    const server = await scripted((one) => {
      if (!discovered(one)) result(one, called())
    })
    const client = await connect(server.url, { onElicit: yes })
    onTestFinished(() => client.close())
    expect(() => client.setAnswers({ sampling: { tools: true } })).toThrow('requires the handler "onSample"')
    await client.call('x')
    expect(capabilitiesIn(server.of('tools/call')[0])).toEqual({ elicitation: { form: {} } })
  })
})
