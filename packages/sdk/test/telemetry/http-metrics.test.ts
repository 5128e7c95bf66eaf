import { type Backplane, defineServer, McpError, tool } from '@jackfield/sdk'
import { httpMetrics } from '@jackfield/sdk/telemetry'
import { memoryBackplane } from '@jackfield/sdk/testing'
import { AggregationTemporality, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { nodeAdapter, session } from '../serve/http-support.ts'

const watchdog = { timeout: 20_000, interval: 10 }
const revision = '2025-11-25'

class TestReader extends MetricReader {
  constructor() {
    super({ aggregationTemporalitySelector: () => AggregationTemporality.CUMULATIVE })
  }

  protected async onForceFlush(): Promise<void> {}

  protected async onShutdown(): Promise<void> {}
}

/** A node, and a function that collects its metrics. */
async function node(backplane?: Backplane) {
  const reader = new TestReader()
  const provider = new MeterProvider({ readers: [reader] })
  const observer = httpMetrics({ meter: provider.getMeter('test'), attributes: { node: 'a' } })
  const server = defineServer({
    name: 'shop',
    version: '1.0.0',
    tools: {
      buy: tool({
        async run(_args, ctx) {
          return (await ctx.elicit({ message: 'Buy?', schema: z.object({ ok: z.boolean() }) })).action
        },
      }),
    },
    onError: () => {},
  })
  const mounted = await nodeAdapter(server, { observer, ...(backplane === undefined ? {} : { backplane }) })
  onTestFinished(() => mounted.close())
  /** The points of a metric: attributes without those of the node, and the value, or the count of a histogram. */
  const points = async (name: string): Promise<[Record<string, unknown>, number][]> => {
    const { resourceMetrics } = await reader.collect()
    const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics)
    const metric = metrics.find(({ descriptor }) => descriptor.name === name)
    return (metric?.dataPoints ?? []).map(({ attributes, value }) => {
      const { node, ...rest } = attributes
      expect(node).toBe('a')
      return [rest, typeof value === 'number' ? value : value.count]
    })
  }
  return { ...mounted, points }
}

const shared = (plane: Backplane): Backplane => ({ ...plane, spansProcesses: true })
const accept = (id: unknown) => ({ jsonrpc: '2.0', id, result: { action: 'accept', content: { ok: true } } })

describe('the metrics of a node', () => {
  it('count sessions, streams and calls by their state', async () => {
    const { points, ...mounted } = await node()
    const client = await session(mounted, revision)
    const stream = await client.get()
    const call = await client.call(1, 'buy')
    await vi.waitFor(() => expect(call.messages()).toHaveLength(1), watchdog)
    expect(await points('jackfield.server.sessions')).toEqual([[{}, 1]])
    expect(await points('jackfield.server.sessions.begun')).toEqual([[{}, 1]])
    expect(await points('jackfield.server.streams')).toEqual([
      [{ 'jackfield.stream.kind': 'session' }, 2],
      [{ 'jackfield.stream.kind': 'subscription' }, 0],
    ])
    expect(await points('jackfield.server.calls')).toEqual([
      [{ 'jackfield.call.state': 'running' }, 0],
      [{ 'jackfield.call.state': 'waiting' }, 1],
    ])
    await client.post(accept(call.messages()[0]?.['id']))
    await vi.waitFor(() => expect(call.over()).toBe(true), watchdog)
    stream.drop()
    await client.end()
    expect(await points('jackfield.server.sessions')).toEqual([[{}, 0]])
    expect(await points('mcp.server.session.duration')).toEqual([[{}, 1]])
    expect(await points('jackfield.server.lease.age')).toEqual([])
  })

  it('count messages between nodes, and the operations of the backplane', async () => {
    const backplane = shared(memoryBackplane())
    const [a, b] = [await node(backplane), await node(backplane)]
    const client = await session(a, revision)
    const headers = { 'mcp-session-id': client.id, 'mcp-protocol-version': revision }
    const call = await client.call(1, 'buy')
    await vi.waitFor(() => expect(call.messages()).toHaveLength(1), watchdog)
    const last = call.events.at(-1)?.id
    call.drop()
    const resumed = await b.send({ method: 'GET', headers: { ...headers, 'last-event-id': last } })
    expect(await b.points('jackfield.server.takeovers')).toEqual([
      [{ 'jackfield.takeover.outcome': 'followed' }, 1],
    ])
    const answer = accept(call.messages()[0]?.['id'])
    await b.send({ headers, body: answer })
    await vi.waitFor(() => expect(resumed.over()).toBe(true), watchdog)
    await b.send({ headers, body: answer })
    expect(await b.points('jackfield.server.answers')).toEqual([
      [{ 'jackfield.answer.arrived': 'elsewhere' }, 2],
    ])
    expect(await b.points('jackfield.server.writes.refused')).toEqual([
      [{ 'jackfield.write.kind': 'answer' }, 1],
    ])
    await client.post(answer)
    expect(await a.points('jackfield.server.answers')).toEqual([[{ 'jackfield.answer.arrived': 'here' }, 1]])
    const unknown = `${last?.slice(0, last.indexOf('_'))}_9-9`
    await b.send({ method: 'GET', headers: { ...headers, 'last-event-id': unknown } })
    expect(await b.points('jackfield.server.takeovers')).toContainEqual([
      { 'jackfield.takeover.outcome': 'lost' },
      1,
    ])
    const [[, age] = [{}, -1]] = await b.points('jackfield.server.lease.age')
    expect(age).toBeGreaterThanOrEqual(0)
    const operations = await b.points('jackfield.backplane.operation.duration')
    expect(operations).toContainEqual([{ 'jackfield.backplane.operation': 'swap' }, 2])
    expect(operations.map(([attributes]) => attributes['jackfield.backplane.operation'])).toEqual(
      expect.arrayContaining(['get', 'set', 'swap', 'read', 'publish', 'subscribe']),
    )
  })

  it('count the failures of the backplane by their error', async () => {
    const plane = shared(memoryBackplane())
    let fails = false
    const failing: Backplane = {
      ...plane,
      get: async (key) => {
        if (fails) throw new McpError('TIMEOUT', 'the store was too slow')
        return plane.get(key)
      },
    }
    const { points, ...mounted } = await node(failing)
    const client = await session(mounted, revision)
    fails = true
    expect((await client.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' })).status).toBe(200)
    expect(await points('jackfield.backplane.operation.duration')).toContainEqual([
      { 'jackfield.backplane.operation': 'get', 'error.type': 'TIMEOUT' },
      1,
    ])
  })
})
