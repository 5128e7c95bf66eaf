import { describe, expect, it, vi } from 'vitest'
import { connectionOver, text } from './support/connection.ts'
import { tick, until } from './support/http.ts'
import { inTurns, withOwnTime } from './support/turns.ts'

const places = [
  connectionOver('memory', '2026-07-28'),
  connectionOver('memory', '2025-11-25'),
  connectionOver('memory', '2025-06-18'),
  connectionOver('http', '2026-07-28'),
  connectionOver('http', '2025-11-25'),
]

describe.each(places)('a client over $name', ({ open, era }) => {
  it('gets the identity of the server', async () => {
    const { client } = await open()
    expect(client.server).toMatchObject({ info: { name: 'shop' }, era, instructions: 'Ask before you buy.' })
    expect(Object.keys(client.server.capabilities)).toEqual(
      expect.arrayContaining(['tools', 'resources', 'prompts']),
    )
    await expect(client.ping()).resolves.toBeUndefined()
  })

  it('lists every page and calls with checked results', async () => {
    const { client } = await open()
    const tools = await client.tools()
    expect(tools.map((tool) => tool.name)).toContain('restock')
    expect(tools.length).toBeGreaterThan(10)
    await expect(client.call('add', { a: 2 })).resolves.toMatchObject({ structuredContent: { sum: 3 } })
    await expect(client.call('fail')).resolves.toMatchObject({ isError: true })
    await expect(client.call('refuse')).rejects.toMatchObject({
      name: 'RpcError',
      code: -32000,
      message: 'not today',
      data: { why: 'rain' },
    })
    await expect(client.call('no such tool')).rejects.toMatchObject({ name: 'RpcError', code: -32602 })
  })

  it('reads, gets prompts and completes', async () => {
    const { client } = await open()
    expect((await client.resources()).map((one) => one.uri)).toContain('shop://stock')
    expect((await client.templates()).map((one) => one.uriTemplate)).toEqual(['shop://items/{name}'])
    await expect(client.read('shop://items/pear')).resolves.toMatchObject({
      contents: [{ text: 'item pear' }],
    })
    expect((await client.prompts()).map((one) => one.name)).toEqual(['pitch'])
    await expect(client.prompt('pitch', { item: 'tea' })).resolves.toMatchObject({
      messages: [{ role: 'user', content: { text: 'Sell me tea' } }],
    })
    await expect(
      client.complete({
        ref: { type: 'ref/resource', uri: 'shop://items/{name}' },
        argument: { name: 'name', value: 'ap' },
      }),
    ).resolves.toMatchObject({ values: ['apple', 'apricot'] })
  })

  it('answers a form, applies defaults, and the tool has one effect', async () => {
    const causes: unknown[] = []
    const { client, log } = await open({
      onElicit(question, { cause }) {
        causes.push(cause?.method)
        expect(question).toMatchObject({ mode: 'form', message: 'Buy tea?' })
        return { action: 'accept', content: { ok: true } }
      },
    })
    await expect(client.call('buy', { item: 'tea' })).resolves.toMatchObject({
      content: text('ok=true note=none'),
    })
    expect(log).toEqual(['bought tea'])
    expect(causes).toHaveLength(1)
  })

  it.each(['decline', 'cancel'] as const)('passes on %s, without content', async (action) => {
    const { client, log } = await open({ onElicit: () => ({ action, content: { ok: true } }) })
    await expect(client.call('buy', { item: 'tea' })).resolves.toMatchObject({ content: text(action) })
    expect(log).toEqual([])
  })

  it('answers for the model and for the roots', async () => {
    const { client } = await open({
      onSample: ({ maxTokens }) => ({
        role: 'assistant',
        model: 'm',
        content: { type: 'text', text: `${maxTokens}` },
      }),
      onRoots: () => [{ uri: 'file:///home' }],
    })
    await expect(client.call('think')).resolves.toMatchObject({
      content: text('{"type":"text","text":"10"}'),
    })
    await expect(client.call('where')).resolves.toMatchObject({ content: text('file:///home') })
  })

  it('answers concurrent input requests', async () => {
    const waiting: (() => void)[] = []
    const { client } = await open({
      onElicit: (question) =>
        new Promise((resolve) => {
          waiting.push(() => resolve({ action: 'accept', content: { v: question.message } }))
          if (waiting.length === 2) for (const go of waiting) go()
        }),
    })
    await expect(client.call('both')).resolves.toMatchObject({ content: text('first,second') })
  })

  it('reports progress and logs of a call', async () => {
    const progress: number[] = []
    const logs: unknown[] = []
    const { client } = await open({ logLevel: 'debug' })
    await client.call(
      'work',
      { steps: 3, ms: 5 },
      { onProgress: (report) => progress.push(report.progress), onLog: ({ data }) => logs.push(data) },
    )
    expect(progress).toEqual([1, 2, 3])
    expect(logs).toEqual([{ step: 1 }, { step: 2 }, { step: 3 }])
  })

  it('waits as long as there is progress, up to a maximum', async () => {
    let reports = 0
    const { client } = await open({
      timeoutMs: 800,
      onMessage: (_, message) => {
        if ('method' in message && message.method === 'notifications/progress') reports++
      },
    })
    /** Lets so many reports come, each after a time. */
    const reported = async (count: number, ms: number): Promise<void> => {
      const before = reports
      for (let nth = 1; nth <= count; nth++) {
        await inTurns(() => reports === before + nth)
        await vi.advanceTimersByTimeAsync(ms)
      }
    }
    await withOwnTime(async () => {
      const done = client.call('work', { steps: 8, ms: 150 })
      await reported(8, 150)
      await expect(done).resolves.toMatchObject({ content: text('done') })
      const endless = expect(
        client.call('work', { steps: 50, ms: 150 }, { maxTotalMs: 1000 }),
      ).rejects.toMatchObject({ code: 'TIMEOUT', message: expect.stringContaining('1000 ms in total') })
      await reported(7, 150)
      await endless
      const silent = expect(client.call('work', { steps: 1, ms: 3000 })).rejects.toMatchObject({
        code: 'TIMEOUT',
        message: expect.stringContaining('for 800 ms'),
      })
      await reported(1, 800)
      await silent
    })
  })

  it('does not count the time a user takes', async () => {
    let asked = false
    const { client } = await open({
      timeoutMs: 800,
      maxTotalMs: 1000,
      onElicit: async () => {
        asked = true
        await tick(1500)
        return { action: 'accept', content: { ok: true } }
      },
    })
    await withOwnTime(async () => {
      const bought = client.call('buy', { item: 'tea' })
      await inTurns(() => asked)
      await vi.advanceTimersByTimeAsync(1500)
      await expect(bought).resolves.toMatchObject({ content: text('ok=true note=none') })
    })
  })

  it('cancels a call at the server on abort and on timeout', async () => {
    const { client, log } = await open()
    const stop = new AbortController()
    const call = client.call('hang', {}, { signal: stop.signal })
    await until(() => log.includes('hanging'))
    stop.abort()
    await expect(call).rejects.toMatchObject({ code: 'CANCELLED' })
    await until(() => log.includes('stopped'))
    log.length = 0
    await expect(client.call('hang', {}, { timeoutMs: 80 })).rejects.toMatchObject({ code: 'TIMEOUT' })
    await until(() => log.includes('stopped'))
    await expect(client.call('add', { a: 1 })).resolves.toMatchObject({ structuredContent: { sum: 2 } })
  })

  it("aborts the user's question when the call is cancelled", async () => {
    let signal: AbortSignal | undefined
    const { client } = await open({
      onElicit: (_, context) => {
        signal = context.signal
        return new Promise(() => {})
      },
    })
    const stop = new AbortController()
    const call = client.call('buy', { item: 'tea' }, { signal: stop.signal })
    await until(() => signal !== undefined)
    stop.abort()
    await expect(call).rejects.toMatchObject({ code: 'CANCELLED' })
    await until(() => signal?.aborted === true)
  })

  it('subscribes to changes, which reach its cache first', async () => {
    const received: unknown[] = []
    const all: unknown[] = []
    const { client, log } = await open({ onChange: (change) => all.push(change) })
    const watch = await client.watch(
      { toolsListChanged: true, resourceSubscriptions: ['shop://stock'] },
      (change) => received.push(change),
    )
    expect(watch.acknowledged).toEqual({ toolsListChanged: true, resourceSubscriptions: ['shop://stock'] })
    const before = (await client.tools()).length
    await client.read('shop://stock')
    await client.call('restock')
    await until(() => received.length >= 2)
    expect(received).toEqual(
      expect.arrayContaining([{ type: 'tools' }, { type: 'resource', uri: 'shop://stock' }]),
    )
    expect(all).toEqual(expect.arrayContaining(received))
    expect((await client.tools()).length).toBe(before + 1)
    await expect(client.read('shop://stock')).resolves.toMatchObject({ contents: [{ text: '2' }] })
    expect(log.filter((line) => line === 'read stock')).toHaveLength(2)
    await watch.close()
    await watch.closed
    received.length = 0
    await client.call('restock')
    await tick(50)
    expect(received).toEqual([])
  })

  it('rejects unsupported methods before anything is sent', async () => {
    const sent: unknown[] = []
    const { client } = await open({
      onMessage: (direction, message) => direction === 'sent' && sent.push(message),
    })
    const before = sent.length
    await expect(client.request('initialize', undefined)).rejects.toMatchObject({ code: 'INVALID' })
    await expect(client.request('subscriptions/listen')).rejects.toThrow(/watch/)
    if (era === 'stateless') {
      await expect(client.request('resources/subscribe', { uri: 'x' })).rejects.toMatchObject({
        code: 'CAPABILITY',
      })
    } else {
      await expect(client.request('server/discover')).rejects.toMatchObject({ code: 'CAPABILITY' })
    }
    expect(sent.length).toBe(before)
  })

  it("returns one page on request, with the server's error for a cursor", async () => {
    const { client } = await open()
    const page = await client.request('tools/list')
    expect(page.tools).toHaveLength(5)
    const next = await client.request('tools/list', { cursor: page.nextCursor ?? '' })
    expect(next.tools[0]?.name).not.toBe(page.tools[0]?.name)
    await expect(client.request('tools/list', { cursor: 'nonsense' })).rejects.toMatchObject({ code: -32602 })
  })

  it('closes once, rejects running calls, and emits an event', async () => {
    const closed: unknown[] = []
    const { client, log } = await open({ onClose: (reason) => closed.push(reason) })
    const call = client.call('hang')
    await until(() => log.includes('hanging'))
    const ended = expect(call).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
    await client.close()
    await client.close()
    await ended
    await expect(client.closed).resolves.toBeUndefined()
    expect(closed).toEqual([undefined])
    await expect(client.tools({ cache: 'refresh' })).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
  })
})
