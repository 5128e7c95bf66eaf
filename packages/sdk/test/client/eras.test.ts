import { describe, expect, it } from 'vitest'
import { connectionOver, text } from './support/connection.ts'

describe('on 2026-07-28', () => {
  const { open } = connectionOver('memory', '2026-07-28')

  it('a retry has a new id, the unchanged state, and the responses of that round only', async () => {
    const sent: { id?: unknown; params?: Record<string, unknown> }[] = []
    const states: unknown[] = []
    const { client } = await open({
      onElicit: () => ({ action: 'accept', content: { ok: true } }),
      onMessage(direction, message) {
        if (direction === 'sent' && 'method' in message && message.method === 'tools/call') sent.push(message)
        if (direction === 'received' && 'result' in message) states.push(message.result['requestState'])
      },
    })
    await client.call('buy', { item: 'tea' })
    await client.call('add', { a: 1 })
    expect(sent).toHaveLength(3)
    const [first, retry, other] = sent
    expect(new Set(sent.map(({ id }) => id)).size).toBe(3)
    expect(first?.params).not.toHaveProperty('requestState')
    expect(retry?.params?.['requestState']).toBe(states.find((state) => state !== undefined))
    expect(Object.values(retry?.params?.['inputResponses'] ?? {})).toEqual([
      { action: 'accept', content: { ok: true, note: 'none' } },
    ])
    expect(other?.params).not.toHaveProperty('requestState')
    expect(other?.params).not.toHaveProperty('inputResponses')
  })

  it('a server with endless input requests is stopped', async () => {
    const { client } = await open({
      onElicit: () => ({ action: 'accept', content: { v: 'x' } }),
      maxRounds: 3,
    })
    await expect(client.call('forever')).rejects.toMatchObject({ code: 'TOO_MANY_ROUNDS' })
  })

  it('a handler that refuses ends the call with its own error, without a retry', async () => {
    const { RpcError } = await import('@jackfield/sdk')
    const { client, log } = await open({
      onElicit: () => {
        throw new RpcError(-1, 'User rejected')
      },
    })
    await expect(client.call('buy', { item: 'tea' })).rejects.toMatchObject({
      code: -1,
      message: 'User rejected',
    })
    expect(log).toEqual([])
  })

  it('values that do not fit the form are never sent', async () => {
    const { client, log } = await open({ onElicit: () => ({ action: 'accept', content: { ok: 'yes' } }) })
    await expect(client.call('buy', { item: 'tea' })).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('"ok"'),
    })
    expect(log).toEqual([])
  })

  it("a request for an undeclared capability is the server's error", async () => {
    const { client } = await open()
    await expect(client.call('buy', { item: 'tea' })).rejects.toMatchObject({ code: -32021 })
    const { client: forms } = await open({ onElicit: () => ({ action: 'accept' }) })
    await expect(forms.call('visit')).rejects.toMatchObject({ code: -32021 })
    const { client: urls } = await open({
      onElicit: () => ({ action: 'accept', content: { stray: 1 } }),
      elicitation: { form: true, url: true },
    })
    await expect(urls.call('visit')).resolves.toMatchObject({ content: text('accept') })
  })

  it('lists and reads are cached as long as the server says, and refreshed or bypassed on request', async () => {
    const { client, log } = await open()
    const reads = () => log.filter((line) => line === 'read stock').length
    const first = await client.read('shop://stock')
    first.contents.length = 0
    await expect(client.read('shop://stock')).resolves.toMatchObject({ contents: [{ text: '1' }] })
    expect(reads()).toBe(1)
    await client.read('shop://stock', { cache: 'bypass' })
    await client.read('shop://stock', { cache: 'refresh' })
    expect(reads()).toBe(3)
    const { client: plain, log: other } = await open({ cache: false })
    await plain.read('shop://stock')
    await plain.read('shop://stock')
    expect(other.filter((line) => line === 'read stock')).toHaveLength(2)
  })

  it('a result after input requests is not cached', async () => {
    let asked = 0
    const { client } = await open({
      onElicit: () => ({ action: 'accept', content: { word: `${++asked}` } }),
    })
    await expect(client.read('shop://guarded')).resolves.toMatchObject({
      contents: [{ text: 'opened with 1' }],
    })
    await expect(client.read('shop://guarded')).resolves.toMatchObject({
      contents: [{ text: 'opened with 2' }],
    })
  })
})

describe('on a session', () => {
  const { open } = connectionOver('memory', '2025-11-25')

  it('a request without a handler is rejected, and the tool gets the error', async () => {
    const { client } = await open()
    await expect(client.call('where')).resolves.toMatchObject({ isError: true })
  })

  it("a handler's error is reported here, and its text is not sent", async () => {
    const warnings: string[] = []
    const received: unknown[] = []
    const { client } = await open({
      onElicit: () => {
        throw new Error('password in /home/me')
      },
      onWarning: (warning) => warnings.push(warning),
      onMessage: (direction, message) => direction === 'sent' && received.push(message),
    })
    await expect(client.call('buy', { item: 'tea' })).resolves.toMatchObject({ isError: true })
    expect(warnings.join()).toContain('password')
    expect(JSON.stringify(received)).not.toContain('password')
  })

  it('a roots change can be notified', async () => {
    const sent: string[] = []
    const { client } = await open({
      onRoots: [],
      onMessage: (direction, message) =>
        direction === 'sent' && 'method' in message && sent.push(message.method),
    })
    await client.rootsChanged()
    expect(sent.at(-1)).toBe('notifications/roots/list_changed')
  })

  it('the log level is set on the server', async () => {
    const logs: unknown[] = []
    const { client } = await open({ onLog: ({ level }) => logs.push(level) })
    await client.setLogLevel('error')
    await client.call('work', { steps: 2, ms: 1 })
    expect(logs).toEqual([])
    await client.setLogLevel('debug')
    await client.call('work', { steps: 2, ms: 1 })
    expect(logs).toEqual(['info', 'info'])
  })
})

it.each(['2025-06-18', '2025-11-25', '2026-07-28'] as const)(
  'on %s a connection with onLog gets messages from level info on',
  async (version) => {
    const logs: unknown[] = []
    const { client } = await connectionOver('memory', version).open({
      onLog: ({ level }) => logs.push(level),
    })
    await client.call('work', { steps: 2, ms: 1 })
    expect(logs).toEqual(['info', 'info'])
  },
)

it('callbacks that throw are reported and have no effect', async () => {
  const warnings: string[] = []
  const bad = (): never => {
    throw new Error('oops')
  }
  const { client } = await connectionOver('memory', '2026-07-28').open({
    onMessage: bad,
    onLog: bad,
    logLevel: 'debug',
    onWarning: (warning) => {
      warnings.push(warning)
      throw new Error('again')
    },
  })
  await expect(client.call('work', { steps: 2, ms: 1 }, { onProgress: bad })).resolves.toMatchObject({
    content: text('done'),
  })
  expect(warnings.join()).toMatch(/onMessage.*onProgress threw: oops/s)
})
