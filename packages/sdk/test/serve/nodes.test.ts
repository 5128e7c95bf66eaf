import { type Backplane, defineServer, type JsonObject, resource, type Server, tool } from '@jackfield/sdk'
import { memoryBackplane } from '@jackfield/sdk/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  type Adapter,
  type Answer,
  adapters,
  type Mounted,
  modern,
  nodeAdapter,
  session,
} from './http-support.ts'
import { meta, settle, until } from './support.ts'

const watchdogMs = 20_000

function shop(onError: (error: unknown) => void = () => {}): Server {
  return defineServer({
    name: 'shop',
    version: '1.0.0',
    tools: { look: tool({ run: () => 'seen' }) },
    resources: { stock: resource({ uri: 'shop://stock', read: () => 'full' }) },
    onError,
  })
}

async function node(server: Server, backplane: Backplane, adapter: Adapter = nodeAdapter): Promise<Mounted> {
  const mounted = await adapter(server, { backplane })
  onTestFinished(() => mounted.close())
  return mounted
}

/** A subscription to the tools and the stock, once it is acknowledged. */
async function listening(mounted: Mounted): Promise<Answer> {
  const notifications = { toolsListChanged: true, resourceSubscriptions: ['shop://stock'] }
  const answer = await mounted.send(modern('subscriptions/listen', { notifications }))
  await until(() => answer.messages().length === 1, watchdogMs)
  return answer
}

/** The messages of the streams after the first, which is the acknowledgement. */
const received = (answer: Answer): unknown[] => answer.messages().slice(1).map(subject)
const subject = ({ method, params }: JsonObject): unknown => Object(params)['uri'] ?? method
const toolsChanged = 'notifications/tools/list_changed'
const anything = [toolsChanged, 'shop://stock']

/** A backplane whose connection for messages can be lost. */
function losing(plane: Backplane): { plane: Backplane; lose: () => void } {
  const lost: (() => void)[] = []
  const subscribe: Backplane['subscribe'] = (topic, listener, received) => {
    if (received !== undefined) lost.push(received)
    return plane.subscribe(topic, listener)
  }
  return {
    plane: { ...plane, subscribe },
    lose: () => {
      for (const disconnect of lost) disconnect()
    },
  }
}

/** A backplane whose messages take a while to arrive. */
function delayed(plane: Backplane): Backplane {
  const publish: Backplane['publish'] = async (...given) => {
    setTimeout(() => plane.publish(...given), 5)
  }
  return { ...plane, publish }
}

describe('nodes that share a backplane', () => {
  it.each(adapters)(
    'replicate each change once, to subscribed clients of every node (%s)',
    async (_name, adapter) => {
      const plane = delayed(memoryBackplane())
      const publish = vi.spyOn(plane, 'publish')
      const subscribe = vi.spyOn(plane, 'subscribe')
      const servers = [shop(), shop(), shop()]
      const nodes = await Promise.all(servers.map((server) => node(server, plane, adapter)))
      await until(() => subscribe.mock.settledResults.length === 3, watchdogMs)
      await settle()
      const listeners = await Promise.all(nodes.map(listening))
      servers[1]?.resourceUpdated('shop://stock')
      for (const one of listeners) await until(() => received(one).length === 1, watchdogMs)
      servers[2]?.add({ tools: { buy: tool({ run: () => 'bought' }) } })
      for (const one of listeners) await until(() => received(one).length === 2, watchdogMs)
      await settle(50)
      for (const one of listeners) expect(received(one)).toEqual(['shop://stock', toolsChanged])
      expect(publish).toHaveBeenCalledTimes(2)
    },
  )

  it('notify a session of changes on other nodes', async () => {
    const plane = memoryBackplane()
    const servers = [shop(), shop()]
    const [home] = await Promise.all(servers.map((server) => node(server, plane)))
    if (home === undefined) throw new Error('No node')
    const mine = await session(home)
    await mine.post({ jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri: 'shop://stock' } })
    const stream = await mine.get()
    servers[1]?.resourceUpdated('shop://stock')
    await until(() => stream.messages().length === 1, watchdogMs)
    expect(stream.messages().map(subject)).toEqual(['shop://stock'])
  })

  it('ignore changes of servers with another name, and of a server that is closed', async () => {
    const plane = memoryBackplane()
    const [here, bank] = [
      shop(),
      defineServer({
        name: 'bank',
        version: '1.0.0',
        resources: { stock: resource({ uri: 'shop://stock', read: () => '' }) },
      }),
    ]
    const mounted = await node(here, plane)
    await node(bank, plane)
    const gone = shop()
    await (await node(gone, plane)).close()
    const stream = await listening(mounted)
    bank.resourceUpdated('shop://stock')
    gone.resourceUpdated('shop://stock')
    here.add({ tools: { buy: tool({ run: () => 'bought' }) } })
    await until(() => received(stream).length === 1, watchdogMs)
    expect(received(stream)).toEqual([toolsChanged])
  })

  it('notify of a change once where one server is mounted twice', async () => {
    const plane = delayed(memoryBackplane())
    const server = shop()
    const nodes = [await node(server, plane), await node(server, plane)]
    const listeners = await Promise.all(nodes.map(listening))
    server.resourceUpdated('shop://stock')
    for (const one of listeners) await until(() => received(one).length === 1, watchdogMs)
    server.add({ tools: { buy: tool({ run: () => 'bought' }) } })
    for (const one of listeners) await until(() => received(one).length === 2, watchdogMs)
    await settle(50)
    for (const one of listeners) expect(received(one)).toEqual(['shop://stock', toolsChanged])
  })

  it('notify subscribers that anything may have changed, when messages may have been lost', async () => {
    const { plane, lose } = losing(memoryBackplane())
    const mounted = await node(shop(), plane)
    const stream = await listening(mounted)
    const mine = await session(mounted)
    await mine.post({ jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri: 'shop://stock' } })
    const standing = await mine.get()
    lose()
    await until(() => received(stream).length === 2 && standing.messages().length >= 3, watchdogMs)
    expect(received(stream)).toEqual(anything)
    expect(standing.messages().map(subject)).toEqual([
      toolsChanged,
      'notifications/resources/list_changed',
      'shop://stock',
    ])
  })

  it('subscribe as soon as the backplane accepts it, and then notify that anything may have changed before', async () => {
    const plane = memoryBackplane()
    const errors: unknown[] = []
    let failures = 2
    const subscribe: Backplane['subscribe'] = (...given) =>
      failures-- > 0 ? Promise.reject(new Error('away')) : plane.subscribe(...given)
    const other = shop()
    await node(other, plane)
    const stream = await listening(
      await node(
        shop((error) => errors.push(error)),
        { ...plane, subscribe },
      ),
    )
    await until(() => received(stream).length === 2, watchdogMs)
    expect(received(stream)).toEqual(anything)
    expect(errors).toEqual([new Error('away'), new Error('away')])
    other.resourceUpdated('shop://stock')
    await until(() => received(stream).length === 3, watchdogMs)
    expect(received(stream)).toEqual([...anything, 'shop://stock'])
  })

  it('notify later that anything may have changed, where a change could not be published', async () => {
    const plane = memoryBackplane()
    let failures = 2
    const publish: Backplane['publish'] = (...given) =>
      failures-- > 0 ? Promise.reject(new Error('away')) : plane.publish(...given)
    const changing = shop()
    const stream = await listening(await node(shop(), plane))
    await node(changing, { ...plane, publish })
    changing.resourceUpdated('shop://other')
    await until(() => received(stream).length === 2, watchdogMs)
    expect(received(stream)).toEqual(anything)
  })

  it('publish a flood of changes in bounded messages', async () => {
    const plane = memoryBackplane()
    const publish = vi.spyOn(plane, 'publish')
    const changing = shop()
    const stream = await listening(await node(shop(), plane))
    await node(changing, plane)
    for (let at = 0; at < 100_000; at++) changing.resourceUpdated(`shop://thing/${at}`)
    await until(() => received(stream).length === 2, watchdogMs)
    expect(received(stream)).toEqual(anything)
    const sizes = publish.mock.calls.map(([, message]) => message.length)
    expect(Math.max(...sizes)).toBeLessThan(200_000)
    expect(sizes.length).toBeLessThan(5)
  })

  it('ignore invalid messages', async () => {
    const plane = memoryBackplane()
    const changing = shop()
    const stream = await listening(await node(shop(), plane))
    await node(changing, plane)
    const noise = [
      '',
      'x',
      '[',
      '{}',
      'null',
      '{"changes":[{"type":"tools"}],"from":',
      `{"from":"a","changes":[${'{"type":"later"},'.repeat(9)}null,7,{"type":"resource"}]}`,
    ]
    for (const text of noise) await plane.publish('changes:shop', text)
    changing.resourceUpdated('shop://stock')
    await until(() => received(stream).length === 1, watchdogMs)
    expect(received(stream)).toEqual(['shop://stock'])
  })

  it('send the events of a session also while nothing can be stored, without ids to resume from', async () => {
    const errors: unknown[] = []
    const plane: Backplane = { ...memoryBackplane(), append: () => Promise.reject(new Error('away')) }
    const server = shop((error) => errors.push(error))
    server.add({
      tools: {
        slow: tool({
          async run(_args, ctx) {
            ctx.progress(1, 2)
            return 'done'
          },
        }),
      },
    })
    const mine = await session(await node(server, plane))
    const answer = await mine.call(1, 'slow', { _meta: { progressToken: 'p' } })
    await until(() => answer.over(), watchdogMs)
    expect(answer.events.map(({ id, data }) => [id, Object(JSON.parse(data))['method']])).toEqual([
      [undefined, 'notifications/progress'],
      [undefined, undefined],
    ])
    expect(answer.messages().at(-1)).toMatchObject({ id: 1, result: { content: [{ text: 'done' }] } })
    expect(errors.length).toBeGreaterThan(0)
  })

  it('refuse an answer while the backplane is unavailable, and accept it later', async () => {
    const plane = memoryBackplane()
    let away = false
    const add: Backplane['add'] = (...given) =>
      away ? Promise.reject(new Error('Redis at secret.example is away')) : plane.add(...given)
    const paid: string[] = []
    const server = defineServer({
      name: 'shop',
      version: '1.0.0',
      tools: {
        pay: tool({
          async run(_args, ctx) {
            const { action } = await ctx.elicit({
              message: 'Sure?',
              schema: { type: 'object', properties: { ok: { type: 'boolean' } } },
            })
            paid.push(action)
            return action
          },
        }),
      },
    })
    const mounted = await node(server, { ...plane, add })
    const ask = async (params: JsonObject): Promise<JsonObject> =>
      (await mounted.send(modern('tools/call', { _meta: meta(), name: 'pay', ...params }))).json()
    const { requestState, inputRequests } = Object((await ask({}))['result'])
    const [key = ''] = Object.keys(inputRequests)
    const answer = { requestState, inputResponses: { [key]: { action: 'accept', content: { ok: true } } } }
    away = true
    expect(Object((await ask(answer))['error'])).toEqual({
      code: -32603,
      message: expect.stringMatching(/cannot be reached\. Try again later/),
    })
    expect(paid).toEqual([])
    away = false
    expect(await ask(answer)).toMatchObject({ result: { content: [{ text: 'accept' }] } })
    expect(paid).toEqual(['accept'])
  })
})
