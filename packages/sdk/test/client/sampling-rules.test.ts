import { type ConnectOptions, connect } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { child } from './support/child.ts'
import { begun, type Message, result, type Scripted, scripted, sse, until } from './support/http.ts'

const sampler = () => ({
  role: 'assistant' as const,
  model: 'm',
  content: { type: 'text' as const, text: 'A' },
})
const sample = {
  jsonrpc: '2.0',
  id: 'q',
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }], maxTokens: 5 },
}
const roots = { jsonrpc: '2.0', id: 'r', method: 'roots/list' }

/** A client's responses to requests on the stream of a GET, without or during a call. */
async function answersOnGet(during: boolean, options: ConnectOptions): Promise<Message[]> {
  const answers: Message[] = []
  let standalone: ReturnType<typeof sse> | undefined
  const ask = (): void => {
    standalone?.({ data: sample })
    standalone?.({ data: roots })
  }
  const server: Scripted = await scripted((one) => {
    if (one.message.method === undefined && one.message.id !== undefined) {
      answers.push(one.message)
      one.res.writeHead(202).end()
    } else if (begun(one, 's')) return
    else if (one.method === 'GET') standalone = sse(one.res)
    else if (one.message.method === 'tools/call') {
      sse(one.res)
      ask()
    } else result(one, {})
  })
  const client = await connect(server.url, { onSample: sampler, onRoots: [], ...options })
  onTestFinished(() => client.close())
  await until(() => standalone !== undefined)
  if (during) client.call('x').catch(() => {})
  else ask()
  await until(() => answers.length === 2)
  return answers
}

/** A client's responses over stdio, without or during a call. */
async function answersOverStdio(during: boolean, options: ConnectOptions): Promise<string> {
  const link = child(`
    const answers = []
    const ask = () => {
      send(${JSON.stringify(sample)})
      send(${JSON.stringify(roots)})
    }
    each((message) => {
      if (message.method === 'server/discover') send({ id: message.id, error: { code: -32601, message: 'no' } })
      if (message.method === 'initialize') legacy(message)
      if (message.method === 'notifications/initialized' && !${during}) ask()
      if (message.method === 'ping') send({ id: message.id, result: {} })
      if (message.method === 'tools/call') { globalThis.call = message.id; if (${during}) ask() }
      if (message.id === 'q' || message.id === 'r') answers.push(message.error?.code ?? message.id)
      if (answers.length === 2 && globalThis.call) send({ id: call, result: text(answers.sort().join(' ')) })
    })`)
  const client = await connect(link, { onSample: sampler, onRoots: [], ...options })
  onTestFinished(() => client.close())
  // Requests outside a call arrived before the response to this.
  await client.ping()
  const { content } = await client.call('x')
  return content[0]?.type === 'text' ? content[0].text : ''
}

describe('a sampling request without a request of the client', () => {
  it('is rejected over HTTP while nothing is running; roots are not', async () => {
    const answers = await answersOnGet(false, {})
    expect(answers.find(({ id }) => id === 'q')).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('belongs to no request of this client') },
    })
    expect(answers.find(({ id }) => id === 'r')).toMatchObject({ result: { roots: [] } })
  })

  it.each([
    ['while a call is under way, also on a stream that belongs to no request', true, {}],
    ['at any time where the client allows it', false, { sampling: { unrelated: true } }],
  ])('is answered over HTTP %s', async (_when, during, options) => {
    const answers = await answersOnGet(during, options)
    expect(answers.find(({ id }) => id === 'q')).toMatchObject({ result: { model: 'm' } })
  })

  it('is rejected over stdio while nothing is running, and answered during a call', async () => {
    const idle = { sampling: {} }
    expect(await answersOverStdio(true, idle)).toBe('q r')
    expect(await answersOverStdio(false, idle)).toBe('-32602 r')
    expect(await answersOverStdio(false, { sampling: { unrelated: true } })).toBe('q r')
  })
})

describe('a conversation in which the model uses tools', () => {
  const use = (id: string) => ({
    role: 'assistant',
    content: [{ type: 'tool_use', id, name: 't', input: {} }],
  })
  const used = (toolUseId: string) => ({
    role: 'user',
    content: [{ type: 'tool_result', toolUseId, content: [] }],
  })
  const loop = (rounds: number) => ({
    messages: [
      { role: 'user', content: { type: 'text', text: 'Go' } },
      ...Array.from({ length: rounds }, (_, n) => [use(`u${n}`), used(`u${n}`)]).flat(),
    ],
    tools: [{ name: 't', inputSchema: { type: 'object' } }],
    maxTokens: 5,
  })

  async function answerTo(
    params: object,
    sampling: ConnectOptions['sampling'],
  ): Promise<Message | undefined> {
    const answers: Message[] = []
    const server = await scripted((one) => {
      if (one.message.method === undefined && one.message.id !== undefined) {
        answers.push(one.message)
        one.res.writeHead(202).end()
      } else if (begun(one, 's')) return
      else if (one.method === 'GET') one.res.writeHead(405).end()
      else if (one.message.method === 'tools/call') sse(one.res)({ data: { ...sample, params } })
      else result(one, {})
    })
    const client = await connect(server.url, { onSample: sampler, sampling: { tools: true, ...sampling } })
    onTestFinished(() => client.close())
    client.call('x').catch(() => {})
    await until(() => answers.length === 1)
    return answers[0]
  }

  it('is answered for 20 rounds by default, and then rejected', async () => {
    expect(await answerTo(loop(20), {})).toHaveProperty('result')
    expect(await answerTo(loop(21), {})).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('more than 20 consecutive rounds') },
    })
  })

  it('has a configurable limit, counted since the last message without tool results', async () => {
    expect(await answerTo(loop(3), { maxToolRounds: 2 })).toMatchObject({ error: { code: -32602 } })
    const more = loop(3)
    more.messages.push({ role: 'user', content: { type: 'text', text: 'And now?' } })
    expect(await answerTo(more, { maxToolRounds: 2 })).toHaveProperty('result')
  })
})
