import { RpcError } from '@jackfield/sdk'
import type { ConnectOptions } from '@jackfield/sdk/client'
import { describe, expect, it } from 'vitest'
import { client, combinations, legacy, modern, proxied, textOf, until } from './support.ts'
import { createUpstream } from './upstream.ts'

const person = (asked: string[]): ConnectOptions => ({
  elicitation: { form: true, url: true },
  onElicit: (question) => {
    asked.push(question.message)
    if (question.mode === 'url') return { action: 'accept' }
    const fields = Object.keys(question.requestedSchema.properties)
    return {
      action: 'accept',
      content: Object.fromEntries(fields.map((name) => [name, name === 'ok' ? true : 'Ada'])),
    }
  },
  onSample: () => ({ role: 'assistant', content: { type: 'text', text: 'A' }, model: 'm' }),
  onRoots: [{ uri: 'file:///home' }],
})

describe.each(combinations)('a proxy of a $up server for a $down client', ({ up, down }) => {
  const open = async (options: ConnectOptions = {}) => {
    const { server, log } = createUpstream()
    const served = await proxied(server, { connect: { revisions: [up] }, onError: () => {} })
    return { server, log, served, end: await client(served, { revisions: [down], ...options }) }
  }

  it("lists the server's definitions under its own name", async () => {
    const { end } = await open()
    expect(end.server.info?.name).toBe('upstream-proxy')
    expect(end.server.instructions).toBe('Mind the gap.')
    expect(end.server.capabilities).toMatchObject({
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      prompts: { listChanged: true },
      completions: {},
      logging: {},
    })
  })

  it('lists over all pages', async () => {
    const { end, server } = await open()
    const direct = await client(server, { revisions: [down] })
    expect(await end.tools()).toEqual(await direct.tools())
    expect(await end.resources()).toEqual(await direct.resources())
    expect(await end.templates()).toEqual(await direct.templates())
    expect(await end.prompts()).toEqual(await direct.prompts())
  })

  it('calls, reads, gets prompts and completes', async () => {
    const { end } = await open()
    expect((await end.call('add', { a: 1, b: 2 })).structuredContent).toEqual({ sum: 3 })
    expect((await end.read('shop://items/apple')).contents).toMatchObject([{ text: 'item apple' }])
    expect((await end.prompt('pitch', { item: 'pens' })).messages).toMatchObject([
      { content: { text: 'Sell me pens' } },
    ])
    const ref = { type: 'ref/resource', uri: 'shop://items/{name}' } as const
    const found = await end.complete({ ref, argument: { name: 'name', value: 'ap' } })
    expect(found.values).toEqual(['apple', 'apricot'])
  })

  it('passes errors on with code and data, and tool failures as results', async () => {
    const { end } = await open()
    await expect(end.call('refuse')).rejects.toEqual(new RpcError(-32000, 'not today', { why: 'rain' }))
    const failed = await end.call('crash')
    expect(failed.isError).toBe(true)
    expect(textOf(failed)).not.toContain('secret')
    await expect(end.call('nothing')).rejects.toMatchObject({ code: -32602 })
    await expect(end.read('shop://none')).rejects.toMatchObject({
      code: down === legacy && up === legacy ? -32002 : -32602,
    })
  })

  it('forwards round after round, with every effect once', async () => {
    const asked: string[] = []
    const { end, log } = await open(person(asked))
    expect(textOf(await end.call('refund', { order: '7' }))).toBe('refunded 7')
    expect(asked).toEqual(['Refund 7?', 'Really refund 7?'])
    expect(log).toEqual(['looked up 7', 'refunded 7'])
  })

  it('forwards a refusal', async () => {
    const { end, log } = await open({ onElicit: () => ({ action: 'decline' }) })
    expect(textOf(await end.call('refund', { order: '7' }))).toBe('kept: decline')
    expect(log).toEqual(['looked up 7'])
  })

  it('forwards concurrent forms, sampling and roots, and URL elicitations', async () => {
    const asked: string[] = []
    const { end } = await open(person(asked))
    expect(textOf(await end.call('everything'))).toBe('["Ada","m",["file:///home"]]')
    expect(textOf(await end.call('visit'))).toBe('accept')
    expect(asked).toEqual(['Name?', 'Go'])
  })

  it('forwards input requests of reads and prompts', async () => {
    const { end } = await open(person([]))
    expect((await end.read('shop://guarded')).contents).toMatchObject([{ text: 'opened with Ada' }])
    expect((await end.prompt('briefing')).messages).toMatchObject([{ content: { text: 'About Ada' } }])
  })

  it("declares the final client's capabilities upstream, and no more", async () => {
    const seen = async (options: ConnectOptions): Promise<unknown> =>
      JSON.parse(textOf(await (await open(options)).end.call('can')))
    expect(await seen({})).toEqual({ kinds: [], client: 'jackfield-proxy', principal: null })
    expect(await seen({ onRoots: [] })).toMatchObject({ kinds: ['roots'] })
    expect(await seen(person([]))).toMatchObject({
      kinds: ['elicitation', 'elicitation.url', 'sampling', 'roots'],
    })
    expect(await seen({ onElicit: () => ({ action: 'cancel' }) })).toMatchObject({ kinds: ['elicitation'] })
  })

  it("forwards progress with its client's token, and logs at its level", async () => {
    const { end } = await open()
    const progress: unknown[] = []
    const logs: unknown[] = []
    if (down === legacy) await end.setLogLevel('warning')
    await end.call(
      'work',
      {},
      {
        onProgress: (report) => progress.push(report),
        onLog: (message) => logs.push(message),
        logLevel: 'warning',
      },
    )
    expect(progress).toEqual([
      { progress: 1, total: 3, message: 'one' },
      { progress: 2, total: 3, message: 'two' },
    ])
    expect(logs).toEqual([{ level: 'warning', logger: 'engine', data: { hot: true } }])
  })

  it('forwards metadata end to end, except what belongs to one hop', async () => {
    const { end } = await open()
    const trace = {
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      tracestate: 'a=b',
    }
    const result = await end.call(
      'meta',
      {},
      {
        meta: { ...trace, 'example.com/mine': [1], 'io.modelcontextprotocol/forged': 1, 'dev.mcp/forged': 1 },
      },
    )
    const seen: Record<string, unknown> = JSON.parse(textOf(result))
    expect(seen).toMatchObject({ ...trace, 'example.com/mine': [1] })
    expect(Object.keys(seen).filter((key) => key.includes('forged'))).toEqual([])
    expect(result._meta).toMatchObject({ 'example.com/kept': 1 })
    expect(result._meta).not.toHaveProperty(['io.modelcontextprotocol/other'])
  })

  it('forwards cancellations', async () => {
    const { end, log } = await open()
    const stop = new AbortController()
    const call = end.call('hang', {}, { signal: stop.signal })
    await until(() => log.includes('hanging'))
    stop.abort()
    await expect(call).rejects.toMatchObject({ code: 'CANCELLED' })
    await until(() => log.includes('stopped'))
  })

  it('forwards changes once', async () => {
    const { end } = await open()
    const changes: string[] = []
    const watch = await end.watch(
      { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['shop://stock'] },
      (change) => changes.push(change.type === 'resource' ? change.uri : change.type),
    )
    expect(watch.acknowledged.resourceSubscriptions).toEqual(['shop://stock'])
    await end.call('restock')
    await until(() => changes.length >= 3)
    await end.ping()
    expect(changes.toSorted()).toEqual(['prompts', 'shop://stock', 'tools'])
    expect((await end.tools({ cache: 'refresh' })).map(({ name }) => name)).toContain('extra')
    await watch.close()
  })

  it('caches for its own clients only', async () => {
    const { served, end } = await open()
    expect((await end.read('shop://stock')).contents).toMatchObject([{ text: '1' }])
    const raw = await (await client(served, { revisions: [modern] })).request('resources/read', {
      uri: 'shop://stock',
    })
    expect(raw.cacheScope).toBe('private')
  })
})
