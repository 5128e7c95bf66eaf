import { McpError } from '@jackfield/sdk'
import { type Client, connect, http } from '@jackfield/sdk/client'
import { expect, vi } from 'vitest'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'

const clientsEach = 10
const maxAttempts = 6
const failing = [502, 503, 504] as const

interface Sent {
  attempts: number
  runs: number
}

/** A server behind a gateway that fails now and then: some requests never get through, some answers never come back. */
class Gateway {
  readonly sent = new Map<string, Sent>()
  failing = false
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  readonly fetch = async (_: URL, { method: verb, body }: RequestInit): Promise<Response> => {
    if (verb !== 'POST') return new Response(null, { status: verb === 'GET' ? 405 : 200 })
    const { id, method, params } = JSON.parse(String(body))
    if (id === undefined) return new Response(null, { status: 202 })
    const version = params?._meta?.['io.modelcontextprotocol/protocolVersion'] ?? '2025-11-25'
    const key: unknown = params?.arguments?.key ?? params?.uri
    const one = this.sent.get(String(key)) ?? { attempts: 0, runs: 0 }
    this.sent.set(String(key), one)
    one.attempts++
    const outcome = this.failing
      ? this.#random.pick(['passes', 'stops', 'stops', 'loses'] as const)
      : 'passes'
    if (outcome !== 'stops') one.runs++
    if (outcome === 'passes') return Response.json({ jsonrpc: '2.0', id, result: resultOf(method, version) })
    return this.#failure(outcome)
  }

  #failure(outcome: 'stops' | 'loses'): Response {
    const text = this.#random.pick(['', '<h1>Bad gateway</h1>', '{"error":"upstream"}', '{'])
    // A gateway that sends Retry-After has forwarded nothing.
    const cancels = outcome === 'stops' && this.#random.fraction() < 0.5
    return new Response(text, {
      status: cancels ? 503 : this.#random.pick(failing),
      headers: cancels ? { 'retry-after': String(this.#random.between(0, 3)) } : {},
    })
  }
}

function resultOf(method: string, version: string): object {
  const capabilities = { tools: {}, resources: {} }
  const serverInfo = { name: 'hand', version: '1' }
  const cached = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
  if (method === 'initialize') return { protocolVersion: version, capabilities, serverInfo }
  if (method === 'server/discover') return { ...cached, supportedVersions: [version], capabilities }
  const result = method === 'resources/read' ? { contents: [] } : { content: [] }
  if (version !== '2026-07-28') return result
  return method === 'resources/read' ? { ...cached, ...result } : { resultType: 'complete', ...result }
}

campaign(
  {
    id: 'gateway-outages',
    chapter: 'Sessions and streams',
    claim:
      'Behind a failing gateway no call is made twice, read-only calls are retried, and every reported failure says whether the call may have run',
    trial: 'call while the gateway comes and goes, by a clock of the test',
    trials: { test: 500, change: 1_500, long: 100_000 },
  },
  async ({ trials, seed, measured }) => {
    const random = new Random(seed)
    const gateway = new Gateway(random)
    const ends = { answered: 0, unknown: 0, refused: 0 }
    let reads = 0
    let givenUp = 0

    const one = async (client: Client, key: string): Promise<void> => {
      const kind = random.pick(['read', 'look', 'pay', 'pay'] as const)
      const call =
        kind === 'read'
          ? client.read(key, { cache: 'bypass' })
          : client.call(kind, { key }, { repeatable: kind === 'look' })
      const error: unknown = await call.then(
        () => undefined,
        (reason: unknown) => reason,
      )
      const { attempts, runs } = gateway.sent.get(key) ?? { attempts: 0, runs: 0 }
      if (error !== undefined) expect(error, key).toBeInstanceOf(McpError)
      const code = error instanceof McpError ? error.code : undefined
      expect(attempts, `${kind} ${key}`).toBeLessThanOrEqual(kind === 'pay' ? 1 : maxAttempts)
      if (kind !== 'pay') {
        reads++
        if (code !== undefined) {
          givenUp++
          expect(code, `${kind} ${key}`).toBe('HTTP')
          expect(attempts, `${kind} ${key}`).toBe(maxAttempts)
        }
        return
      }
      if (code === undefined) ends.answered++
      else if (code === 'OUTCOME_UNKNOWN') ends.unknown++
      else ends.refused++
      if (code === undefined) expect(runs, key).toBe(1)
      else if (code !== 'OUTCOME_UNKNOWN') expect([code, runs], key).toEqual(['HTTP', 0])
    }

    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    vi.spyOn(Math, 'random').mockImplementation(() => random.fraction())
    try {
      const clients = await Promise.all(
        (['2025-11-25', '2026-07-28'] as const).flatMap((revision) =>
          Array.from({ length: clientsEach }, () =>
            connect(http('http://127.0.0.1/mcp', { fetch: gateway.fetch }), { revisions: [revision] }),
          ),
        ),
      )
      // The first failure loads code, for which the clock of the test does not wait.
      gateway.failing = true
      for (const client of clients) await client.call('pay', { key: 'first' }).catch(() => {})
      for (let made = 0; made < trials; made += clients.length) {
        gateway.failing = true
        const calls = Promise.all(clients.map((client, nth) => one(client, `shop://${made + nth}`)))
        calls.catch(() => {})
        await vi.advanceTimersByTimeAsync(random.between(0, 3_000))
        gateway.failing = false
        await vi.advanceTimersByTimeAsync(60_000)
        await calls
      }
      await Promise.all(clients.map((client) => client.close()))
    } finally {
      vi.restoreAllMocks()
      vi.useRealTimers()
    }
    expect(ends.unknown).toBeGreaterThan(0)
    measured('calls that only read', reads, '')
    measured('of them given up', givenUp, '')
    measured('other calls that were answered', ends.answered, '')
    measured('other calls that were refused and did not run', ends.refused, '')
    measured('other calls whose outcome was reported as unknown', ends.unknown, '')
  },
)
