import { type Client, type ConnectOptions, connect } from '@jackfield/sdk/client'
import { serveHttp } from '@jackfield/sdk/http'
import { telemetry } from '@jackfield/sdk/telemetry'
import { memory } from '@jackfield/sdk/testing'
import type { Attributes, Histogram, Meter } from '@opentelemetry/api'
import { context, createNoopMeter, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { build } from 'esbuild'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { createShop } from './shop.ts'
import { type Seen, startTracing, takeSpans } from './tracing.ts'

beforeAll(startTracing)
beforeEach(() => {
  takeSpans()
})

type Options = NonNullable<Parameters<typeof telemetry>[0]>

async function open(options: Options = {}, more: ConnectOptions = {}): Promise<Client> {
  const client = await connect(memory(createShop(options)), { telemetry: telemetry(options), ...more })
  onTestFinished(() => client.close())
  return client
}

/** Both spans of a call, once it is over. */
async function bothOf(client: Client, name: string, args = {}): Promise<Seen[]> {
  await client.call(name, args).catch(() => {})
  return takeSpans().filter((span) => span.name === `tools/call ${name}`)
}

describe('a call that fails', () => {
  it('in the tool is an error on both sides, of the type the conventions have for it', async () => {
    for (const span of await bothOf(await open(), 'broken')) {
      expect(span).toMatchObject({ status: SpanStatusCode.ERROR, attributes: { 'error.type': 'tool_error' } })
      expect(span.attributes).not.toHaveProperty('rpc.response.status_code')
    }
  })

  it('with a protocol error has its code and its message', async () => {
    const spans = await bothOf(await open(), 'forbidden')
    expect(spans).toHaveLength(2)
    for (const span of spans) {
      expect(span).toMatchObject({
        status: SpanStatusCode.ERROR,
        message: 'Not today',
        attributes: { 'error.type': '-32001', 'rpc.response.status_code': '-32001' },
      })
    }
  })

  it('because its caller aborted is marked on both sides', async () => {
    const client = await open()
    const stop = new AbortController()
    const called = client.call('slow', {}, { signal: stop.signal, onProgress: () => stop.abort() })
    await expect(called).rejects.toMatchObject({ code: 'CANCELLED' })
    const spans: Seen[] = []
    await expect.poll(() => spans.push(...takeSpans())).toBeGreaterThan(2)
    const slow = spans.filter(({ name }) => name === 'tools/call slow')
    expect(slow.map(({ attributes }) => attributes['error.type'])).toEqual(['CANCELLED', 'CANCELLED'])
  })
})

describe('recorded data', () => {
  it('contains arguments or results only on request', async () => {
    const quiet = JSON.stringify(await bothOf(await open(), 'price', { order: 'S3CRET' }))
    expect(quiet).not.toContain('S3CRET')
    const spans = await bothOf(await open({ recordArgumentsAndResults: true }), 'price', { order: 'S3CRET' })
    for (const { attributes } of spans) {
      expect(attributes['gen_ai.tool.call.arguments']).toBe('{"order":"S3CRET"}')
      expect(attributes['gen_ai.tool.call.result']).toContain('The price of S3CRET')
    }
  })

  it('contains session ids only on request', async () => {
    const sessions = async (options: Options): Promise<unknown[]> => {
      const listening = await serveHttp(createShop(options)).listen({ port: 0 })
      onTestFinished(() => listening.close())
      const client = await connect(listening.url, {
        telemetry: telemetry(options),
        revisions: ['2025-11-25'],
      })
      onTestFinished(() => client.close())
      return (await bothOf(client, 'price', { order: 'A1' })).map(
        ({ attributes }) => attributes['mcp.session.id'],
      )
    }
    expect(await sessions({})).toEqual([undefined, undefined])
    const [there, here] = await sessions({ recordSessionIds: true })
    expect(there).toMatch(/^\S{16,}$/)
    expect(here).toBe(there)
  })

  it('links the span of the server, when the request belongs to a trace of its own', async () => {
    const tracer = trace.getTracer('transport')
    const shop = createShop()
    const around: string[] = []
    const { fetch } = serveHttp(shop)
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'price',
        arguments: { order: 'A1' },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
          traceparent: '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01',
        },
      },
    })
    await tracer.startActiveSpan('POST', async (span) => {
      around.push(span.spanContext().spanId)
      const response = await fetch(
        new Request('http://localhost/mcp', {
          method: 'POST',
          headers: {
            host: 'localhost',
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            'mcp-protocol-version': '2026-07-28',
            'mcp-method': 'tools/call',
            'mcp-name': 'price',
          },
          body,
        }),
      )
      expect(response.status).toBe(200)
      await response.text()
      span.end()
    })
    const served = takeSpans().find(({ kind }) => kind === SpanKind.SERVER)
    expect(served).toMatchObject({
      trace: '0af7651916cd43dd8448eb211c80319c',
      parent: '00f067aa0ba902b7',
      links: around,
    })
  })

  it.each(['', 'garbage', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`, 'x'.repeat(10_000), 7, null])(
    'begins a trace of its own where a peer names none that can be: %j',
    async (traceparent) => {
      const plain = await connect(memory(createShop()))
      onTestFinished(() => plain.close())
      await plain.call('price', { order: 'A1' }, { meta: { traceparent, tracestate: {}, baggage: [] } })
      const served = takeSpans().find(({ kind }) => kind === SpanKind.SERVER)
      expect(served?.parent).toBeUndefined()
    },
  )
})

it('of a peer is limited to the size of a header: long baggage is ignored', async () => {
  const plain = await connect(memory(createShop()))
  onTestFinished(() => plain.close())
  const bags = ['tenant=acme', ...['a', 'b', 'c'].map((name) => `${name}=${'x'.repeat(3000)}`)]
  const tenant = async (baggage: string): Promise<unknown> =>
    (await plain.call('baggage', {}, { meta: { baggage } })).content
  expect(await tenant(bags.slice(0, 2).join(','))).toEqual([{ type: 'text', text: 'acme' }])
  expect(await tenant(bags.join(','))).toEqual([{ type: 'text', text: 'none' }])
})

it('a call and its questions have one trace where no context manager exists, as in browsers', async () => {
  context.disable()
  onTestFinished(startTracing)
  const onElicit = (): { action: 'decline' } => ({ action: 'decline' })
  const client = await open({}, { onElicit, revisions: ['2026-07-28'] })
  takeSpans()
  await client.call('refund', { order: 'A1' })
  const spans = takeSpans()
  const call = spans.find(({ kind, name }) => kind === SpanKind.CLIENT && name === 'tools/call refund')
  const others = spans.filter((span) => span !== call)
  expect(others).toHaveLength(3)
  expect(others.map(({ parent }) => parent)).toEqual(others.map(() => call?.id))
})

describe('durations', () => {
  it('are measured on both sides in seconds, without names from the peer', async () => {
    const measured: { name: string; unit: unknown; seconds: number; attributes: Attributes | undefined }[] =
      []
    const noop = createNoopMeter()
    const meter: Meter = Object.assign(Object.create(noop), {
      createHistogram: (name: string, options?: { unit?: string }): Histogram => ({
        record: (seconds, attributes) => measured.push({ name, unit: options?.unit, seconds, attributes }),
      }),
    })
    const client = await open({ meter })
    await client.call('price', { order: 'A1' })
    await client.call('made-up-by-the-peer').catch(() => {})
    const calls = measured.filter(({ attributes }) => attributes?.['mcp.method.name'] === 'tools/call')
    expect(calls.map(({ name, unit }) => [name, unit])).toEqual([
      ['mcp.server.operation.duration', 's'],
      ['mcp.client.operation.duration', 's'],
      ['mcp.server.operation.duration', 's'],
      ['mcp.client.operation.duration', 's'],
    ])
    expect(calls.every(({ seconds }) => seconds >= 0 && seconds < 10)).toBe(true)
    expect(calls[0]?.attributes).toMatchObject({ 'gen_ai.tool.name': 'price' })
    expect(calls[0]?.attributes).not.toHaveProperty('jsonrpc.request.id')
    expect(calls[2]?.attributes).toMatchObject({ 'error.type': '-32602' })
    expect(JSON.stringify(calls[2]?.attributes)).not.toContain('made-up')
  })
})

it('neither the root of the package nor the client imports OpenTelemetry', async () => {
  const { metafile } = await build({
    stdin: {
      contents: "export * from './index.ts'; export * from './client/index.ts'",
      resolveDir: new URL('../../src', import.meta.url).pathname,
      loader: 'ts',
    },
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'neutral',
    packages: 'external',
  })
  const imports = Object.values(metafile.inputs).flatMap(({ imports }) => imports.map(({ path }) => path))
  expect(imports.filter((path) => /opentelemetry|src\/telemetry/.test(path))).toEqual([])
})
