import { defineServer, resource, tool } from '@jackfield/sdk'
import { describe, expect, test, vi } from 'vitest'
import type { ServerNotification } from '../../src/protocol/methods.ts'
import { complete, exchange, request } from './support.ts'

const _meta = { 'io.modelcontextprotocol/subscriptionId': 'sub-1' }

function listening(filter: object) {
  const server = defineServer({
    name: 'shop',
    version: '1.0.0',
    tools: { t: tool({ run: () => 'x' }) },
    resources: { r: resource({ uri: 'x:1', read: () => 'x' }) },
  })
  const stop = new AbortController()
  const sent: ServerNotification[] = []
  const over = server.handle(
    exchange(
      'subscriptions/listen',
      { notifications: filter },
      { id: 'sub-1', signal: stop.signal, notify: (notification) => sent.push(notification) },
    ),
  )
  return { server, stop, sent, over }
}

describe('subscriptions/listen', () => {
  test('first acknowledges its filter, without what the server does not support', async () => {
    const { sent, stop, over } = listening({
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: false,
      resourceSubscriptions: ['x:1'],
    })
    await vi.waitFor(() => expect(sent).toHaveLength(1))
    expect(sent[0]).toEqual({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { toolsListChanged: true, resourceSubscriptions: ['x:1'] }, _meta },
    })
    stop.abort()
    await over
  })

  test('sends the requested changes, each notification with its subscription', async () => {
    const { server, sent, stop, over } = listening({ toolsListChanged: true, resourceSubscriptions: ['x:1'] })
    server.add({ tools: { u: tool({ run: () => 'x' }) } })
    server.resourceUpdated('x:1')
    server.resourceUpdated('x:2')
    server.remove({ resources: ['r'] })
    await vi.waitFor(() => expect(sent).toHaveLength(3))
    expect(sent.slice(1)).toEqual([
      { method: 'notifications/tools/list_changed', params: { _meta } },
      { method: 'notifications/resources/updated', params: { uri: 'x:1', _meta } },
    ])
    stop.abort()
    expect(complete(await over)).toEqual({ _meta })
  })

  test('sends nothing that was not requested', async () => {
    const { server, sent, stop, over } = listening({})
    server.remove({ tools: ['t'], resources: ['r'] })
    server.resourceUpdated('x:1')
    stop.abort()
    await over
    expect(sent).toEqual([
      { method: 'notifications/subscriptions/acknowledged', params: { notifications: {}, _meta } },
    ])
  })

  test('loses no change that occurs during the acknowledgement', async () => {
    const { server, sent, stop, over } = listening({ toolsListChanged: true })
    server.remove({ tools: ['t'] })
    await vi.waitFor(() => expect(sent).toHaveLength(2))
    stop.abort()
    await over
  })

  test.each([
    ['no filter', undefined],
    ['a filter that is a list', []],
    ['URIs that are none', { resourceSubscriptions: [1] }],
    ['more URIs than allowed', { resourceSubscriptions: Array.from({ length: 1025 }, (_, i) => `x:${i}`) }],
    ['a URI too long', { resourceSubscriptions: [`x:${'a'.repeat(8192)}`] }],
  ])('%s is refused', async (_, notifications) => {
    const { server } = listening({})
    await expect(request(server, 'subscriptions/listen', { notifications })).rejects.toMatchObject({
      code: -32602,
    })
  })
})
