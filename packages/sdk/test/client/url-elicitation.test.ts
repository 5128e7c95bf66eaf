import { type ConnectOptions, connect } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { begun, failure, type Message, result, scripted, sse, tick, until } from './support/http.ts'

const urlElicitation = (elicitationId: string): object => ({
  mode: 'url',
  message: 'Sign in',
  url: 'https://example.com/',
  elicitationId,
})
const finished = (elicitationId: unknown): object => ({
  jsonrpc: '2.0',
  method: 'notifications/elicitation/complete',
  params: { elicitationId },
})

/** A session whose calls elicit a URL with an id, or are refused with the URL elicitations they require. */
async function connectToServer(options: ConnectOptions = {}) {
  const received: string[] = []
  const answers: Message[] = []
  let notify = (_message: object): void => {}
  const server = await scripted((one) => {
    const { message } = one
    if (message.method === undefined && message.id !== undefined) {
      answers.push(message)
      one.res.writeHead(202).end()
    } else if (begun(one, 's')) return
    else if (one.method === 'GET') {
      const send = sse(one.res)
      notify = (data) => send({ data })
      send({})
    } else if (message.method === 'ping') result(one, {})
    else if (message.params.name === 'refused') {
      failure(one, -32042, 'Visit first', 200, { elicitations: [urlElicitation('e1'), urlElicitation('e2')] })
    } else {
      const params = urlElicitation(message.params.name)
      sse(one.res)({ data: { jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params } })
    }
  })
  const client = await connect(server.url, {
    onElicit: () => ({ action: 'accept' }),
    elicitation: { url: true },
    onElicitationComplete: (id) => received.push(id),
    ...options,
  })
  onTestFinished(() => client.close())
  return { client, received, answers, notify: (message: object) => notify(message) }
}

describe('the completion of a URL elicitation', () => {
  it('is reported once for a URL the server requested, and ignored for every other', async () => {
    faultyPeer('elicitation ids that are not strings')
    const { client, received, answers, notify } = await connectToServer()
    notify(finished('e1'))
    client.call('e1').catch(() => {})
    await until(() => answers.length === 1)
    for (const id of ['e2', 7, null, undefined, 'constructor']) notify(finished(id))
    notify(finished('e1'))
    await until(() => received.length > 0)
    notify(finished('e1'))
    await tick(30)
    expect(received).toEqual(['e1'])
    await expect(client.ping()).resolves.toBeUndefined()
  })

  it('is reported for URLs required by an error of code -32042', async () => {
    const { client, received, notify } = await connectToServer()
    await expect(client.call('refused')).rejects.toMatchObject({
      code: -32042,
      data: { elicitations: [urlElicitation('e1'), urlElicitation('e2')] },
    })
    for (const id of ['e2', 'e1', 'e3', 'e2']) notify(finished(id))
    await until(() => received.length === 2)
    await tick(30)
    expect(received).toEqual(['e2', 'e1'])
  })

  it('is ignored for a URL this client declined', async () => {
    const { client, received, answers, notify } = await connectToServer({ elicitation: { form: true } })
    client.call('e1').catch(() => {})
    await until(() => answers.length === 1)
    expect(answers[0]?.error?.code).toBe(-32602)
    notify(finished('e1'))
    await tick(30)
    expect(received).toEqual([])
  })
})
