import { type Client, type ConnectOptions, connect, type Target } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import { serveHttp } from '@jackfield/sdk/http'
import { telemetry } from '@jackfield/sdk/telemetry'
import { memory } from '@jackfield/sdk/testing'
import { context, propagation, SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import { createShop } from './shop.ts'
import { type Seen, startTracing, takeSpans, within } from './tracing.ts'

beforeAll(startTracing)
beforeEach(() => {
  takeSpans()
})

const revisions = ['2025-11-25', '2026-07-28'] as const
const program = programFile(new URL('./stdio-program.ts', import.meta.url))

const transports: Readonly<Record<string, { at(): Promise<Target>; transport: string | undefined }>> = {
  memory: { at: async () => memory(createShop()), transport: undefined },
  http: {
    async at() {
      const listening = await serveHttp(createShop()).listen({ port: 0 })
      onTestFinished(() => listening.close())
      return listening.url
    },
    transport: 'tcp',
  },
  stdio: { at: async () => stdio({ command: process.execPath, args: [program] }), transport: 'pipe' },
}

async function open(target: Target, options: ConnectOptions = {}): Promise<Client> {
  const client = await connect(target, { telemetry: telemetry(), ...options })
  onTestFinished(() => client.close())
  return client
}

/** Every span of one trace, those of a server in another process among them. */
async function spansOf(client: Client): Promise<Seen[]> {
  const here = takeSpans()
  const { content } = await client.call('spans')
  const [first] = content
  const there: Seen[] = first?.type === 'text' ? JSON.parse(first.text) : []
  takeSpans()
  const all = new Map([...here, ...there].map((span) => [span.id, span]))
  return [...all.values()]
}

function only(spans: readonly Seen[], name: string, kind?: SpanKind): Seen {
  const found = spans.filter((span) => span.name === name && (kind === undefined || span.kind === kind))
  expect(found, `one span ${name}`).toHaveLength(1)
  const [one] = found
  if (one === undefined) throw new Error(name)
  return one
}

describe.each(Object.keys(transports))('one trace over %s', (name) => {
  it.each(revisions)(
    'from the caller through client and server to the spans of a handler (%s)',
    async (revision) => {
      const { at, transport } = transports[name] ?? transports['memory'] ?? raise()
      const client = await open(await at(), { revisions: [revision] })
      await within('work', () => client.call('price', { order: 'A1' }))

      const spans = await spansOf(client)
      const work = only(spans, 'work')
      const asked = only(spans, 'tools/call price', SpanKind.CLIENT)
      const served = only(spans, 'tools/call price', SpanKind.SERVER)
      const lookup = only(spans, 'lookup')
      expect([asked.parent, served.parent, lookup.parent]).toEqual([work.id, asked.id, served.id])
      expect(new Set([work, asked, served, lookup].map(({ trace }) => trace)).size).toBe(1)
      const attributes = {
        'mcp.method.name': 'tools/call',
        'mcp.protocol.version': revision,
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'price',
        'jsonrpc.request.id': expect.stringMatching(/^\d+$/),
        ...(transport === undefined ? {} : { 'network.transport': transport }),
      }
      expect(asked.attributes).toEqual(attributes)
      expect(served.attributes).toEqual(attributes)
      expect(served.attributes['jsonrpc.request.id']).toBe(asked.attributes['jsonrpc.request.id'])
      expect([asked.status, served.status]).toEqual([SpanStatusCode.UNSET, SpanStatusCode.UNSET])
    },
  )
})

describe('the negotiation', () => {
  it.each([
    ['2025-11-25', 'initialize'],
    ['2026-07-28', 'server/discover'],
  ] as const)('is traced too (%s)', async (revision, method) => {
    await open(memory(createShop()), { revisions: [revision] })
    const greeted = only(takeSpans(), method, SpanKind.CLIENT)
    expect(greeted.attributes).toMatchObject({ 'mcp.method.name': method, 'mcp.protocol.version': revision })
  })
})

describe('a question during a call', () => {
  const answering: ConnectOptions = {
    onElicit: () => within('ask the person', async () => ({ action: 'accept', content: { ok: true } })),
  }

  it('is a request span inside of the waiting call (2025-11-25)', async () => {
    const client = await open(memory(createShop()), { ...answering, revisions: ['2025-11-25'] })
    await client.call('refund', { order: 'A1' })
    const spans = takeSpans()
    const served = only(spans, 'tools/call refund', SpanKind.SERVER)
    const elicitation = only(spans, 'elicitation/create', SpanKind.CLIENT)
    const answered = only(spans, 'elicitation/create', SpanKind.SERVER)
    const person = only(spans, 'ask the person')
    expect([elicitation.parent, answered.parent, person.parent]).toEqual([
      served.id,
      elicitation.id,
      answered.id,
    ])
    expect(new Set([served, elicitation, answered, person].map(({ trace }) => trace)).size).toBe(1)
  })

  it('ends a round without an error; all rounds are children of one call (2026-07-28)', async () => {
    const client = await open(memory(createShop()), { ...answering, revisions: ['2026-07-28'] })
    await client.call('refund', { order: 'A1' })
    const spans = takeSpans()
    const call = only(spans, 'tools/call refund', SpanKind.CLIENT)
    const rounds = spans.filter(({ name, kind }) => name === 'tools/call refund' && kind === SpanKind.SERVER)
    expect(rounds.map(({ parent }) => parent)).toEqual([call.id, call.id])
    expect(rounds.map(({ status }) => status)).toEqual([SpanStatusCode.UNSET, SpanStatusCode.UNSET])
    expect(rounds.map(({ attributes }) => attributes['jackfield.result.type'])).toEqual([
      'input_required',
      undefined,
    ])
    expect(rounds[0]?.attributes['jackfield.questions']).toEqual(['elicitation/create'])
    expect(only(spans, 'elicitation/create', SpanKind.SERVER).parent).toBe(call.id)
  })

  it('that the client cannot answer is an error of the question', async () => {
    const failing = { onElicit: () => Promise.reject(new Error('No hands')) }
    const client = await open(memory(createShop()), { ...failing, revisions: ['2025-11-25'] })
    await client.call('refund', { order: 'A1' })
    const spans = takeSpans()
    expect(only(spans, 'elicitation/create', SpanKind.CLIENT)).toMatchObject({
      status: SpanStatusCode.ERROR,
      attributes: { 'error.type': '-32603', 'rpc.response.status_code': '-32603' },
    })
    expect(only(spans, 'tools/call refund', SpanKind.SERVER).attributes['error.type']).toBe('tool_error')
  })
})

describe('a request of the client', () => {
  it('carries baggage to the handler', async () => {
    const client = await open(memory(createShop()))
    const bags = propagation.createBaggage({ tenant: { value: 'acme' } })
    const result = await context.with(propagation.setBaggage(context.active(), bags), () =>
      client.call('baggage'),
    )
    expect(result.content).toEqual([{ type: 'text', text: 'acme' }])
  })

  it('has its trace in unprefixed keys of "_meta", and none without tracing', async () => {
    const metas: unknown[] = []
    const onMessage: ConnectOptions['onMessage'] = (direction, message) => {
      if (direction === 'sent' && 'method' in message && message.method === 'tools/call') {
        metas.push(message.params?.['_meta'])
      }
    }
    await (await open(memory(createShop()), { onMessage })).call('price', { order: 'A1' })
    const plain = await connect(memory(createShop()), { onMessage })
    onTestFinished(() => plain.close())
    await plain.call('price', { order: 'A1' })
    const [traced, untraced] = metas
    expect(traced).toMatchObject({ traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/) })
    expect(Object.keys(untraced ?? {}).filter((key) => /trace|baggage/.test(key))).toEqual([])
  })
})

function raise(): never {
  throw new Error('No such transport')
}
