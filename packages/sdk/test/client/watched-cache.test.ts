import { type Client, connect } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { discovered, result, type Scripted, type Seen, scripted, sse, until } from './support/http.ts'
import { listed } from './support/results.ts'

const day = 86_400_000

interface Shop {
  readonly client: Client
  readonly server: Scripted
  /** Answers the pending lists of tools. */
  release(): void
  isPaused: boolean
}

/** A server whose lists stay fresh for a day, and that acknowledges the subscriptions in `acknowledged`. */
async function shop(acknowledged: object): Promise<Shop> {
  const paused: Seen[] = []
  const answer = (one: Seen): void => {
    const { method } = one.message
    if (method === 'tools/list') result(one, listed({ tools: [], ttlMs: day }))
    else if (method === 'prompts/list') result(one, listed({ prompts: [], ttlMs: day }))
    else if (method === 'resources/read') result(one, listed({ contents: [], ttlMs: day }))
    else if (method === 'subscriptions/listen') {
      const _meta = { 'io.modelcontextprotocol/subscriptionId': one.message.id }
      const params = { _meta, notifications: acknowledged }
      sse(one.res)({
        data: { jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params },
      })
    }
  }
  const server = await scripted((one) => {
    if (discovered(one)) return
    if (shop.isPaused && one.message.method === 'tools/list') paused.push(one)
    else answer(one)
  })
  const client = await connect(server.url)
  onTestFinished(() => client.close())
  const shop: Shop = { client, server, isPaused: false, release: () => paused.forEach(answer) }
  return shop
}

describe('entries cached before a subscription', () => {
  it('are refetched if the server now notifies of changes, and kept otherwise', async () => {
    const { client, server } = await shop({ toolsListChanged: true, resourceSubscriptions: ['a:b'] })
    const readAll = async (): Promise<void> => {
      await client.tools()
      await client.prompts()
      await client.read('a:b')
      await client.read('c:d')
    }
    await readAll()
    await client.watch({ toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['a:b'] })
    await readAll()
    expect(server.of('tools/list')).toHaveLength(2)
    expect(server.of('prompts/list')).toHaveLength(1)
    expect(server.of('resources/read').map(({ message }) => message.params['uri'])).toEqual([
      'a:b',
      'c:d',
      'a:b',
    ])
    await readAll()
    expect(server.of('tools/list')).toHaveLength(2)
  })

  it('are not restored by a result requested before and received after', async () => {
    const made = await shop({ toolsListChanged: true })
    const { client, server } = made
    made.isPaused = true
    const early = client.tools()
    await until(() => server.of('tools/list').length === 1)
    await client.watch({ toolsListChanged: true })
    made.isPaused = false
    made.release()
    await early
    await client.tools()
    expect(server.of('tools/list')).toHaveLength(2)
  })

  it('are dropped without a change event', async () => {
    const received: unknown[] = []
    const { client } = await shop({ toolsListChanged: true })
    await client.tools()
    await client.watch({ toolsListChanged: true }, (change) => received.push(change))
    await client.tools()
    expect(received).toEqual([])
  })
})
