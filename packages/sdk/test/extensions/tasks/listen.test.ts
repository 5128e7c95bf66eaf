import { defineServer, type JsonObject, MetaKey, tool } from '@jackfield/sdk'
import { tasks } from '@jackfield/sdk/extensions/tasks'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { isObject } from '../../../../../test/setup/json.ts'
import { caller, gate, idIn, modern, type Raw, type RawOptions, reached, tasksId } from './support.ts'

const open: Raw[] = []
afterEach(async () => {
  for (const raw of open.splice(0)) await raw.close()
})

const work = gate()
const server = defineServer({
  name: 'teller',
  version: '1',
  tools: {
    careful: tool({
      task: 'optional',
      async run(_args, ctx) {
        ctx.progress(1, 2, 'Thinking')
        ctx.log('error', 'noise')
        await ctx.elicit({ key: 'sure', message: 'Sure?', schema: z.object({ ok: z.boolean() }) })
        return 'done'
      },
    }),
    waiting: tool({
      task: 'optional',
      run: async () => {
        await work.opened
        return 'done'
      },
    }),
  },
  extensions: [tasks({ pollIntervalMs: 20 })],
})

function peerOf(options: RawOptions = {}): Raw {
  const raw = modern(server, options)
  open.push(raw)
  return raw
}

function paramsOf(raw: Raw, method: string): JsonObject[] {
  return raw.received.flatMap((message) =>
    message['method'] === method && isObject(message['params']) ? [message['params']] : [],
  )
}

describe('a subscription to tasks', () => {
  it('sends every state in full, as in a poll, until the task ends', async () => {
    const peer = peerOf()
    const taskId = idIn(await peer.ask('tools/call', { name: 'careful' }))
    const { id } = peer.open('subscriptions/listen', { notifications: { taskIds: [taskId] } })
    const notified = (): JsonObject[] => paramsOf(peer, 'notifications/tasks')
    await expect.poll(() => notified().at(-1)?.['status'], { timeout: 5000 }).toBe('input_required')
    const { resultType, _meta, ...look } = await peer.ask('tasks/get', { taskId })
    const { _meta: tied, ...notice } = notified().at(-1) ?? {}
    expect(notice).toEqual(look)
    expect(tied).toEqual({ [MetaKey.subscriptionId]: id })
    expect(paramsOf(peer, 'notifications/subscriptions/acknowledged')).toMatchObject([
      { notifications: { taskIds: [taskId] } },
    ])
    await peer.ask('tasks/update', { taskId, inputResponses: { sure: { action: 'decline' } } })
    await expect.poll(() => notified().at(-1)?.['status'], { timeout: 5000 }).toBe('completed')
    expect(notified().at(-1)).toMatchObject({ result: { content: [{ text: 'done' }] } })
    expect(paramsOf(peer, 'notifications/progress')).toEqual([])
    expect(paramsOf(peer, 'notifications/message')).toEqual([])
  })

  it('acknowledges the client’s own tasks only', async () => {
    const [ada, eve] = [peerOf({ caller: caller('ada') }), peerOf({ caller: caller('eve') })]
    const taskId = idIn(await ada.ask('tools/call', { name: 'waiting' }))
    eve.open('subscriptions/listen', {
      notifications: { toolsListChanged: true, taskIds: [taskId, 'guess'] },
    })
    const acknowledged = (): JsonObject[] => paramsOf(eve, 'notifications/subscriptions/acknowledged')
    await expect.poll(() => acknowledged().length, { timeout: 5000 }).toBe(1)
    expect(acknowledged()).toMatchObject([{ notifications: { toolsListChanged: true, taskIds: [] } }])
    work.open()
    await reached(ada, taskId, 'completed')
    expect(paramsOf(eve, 'notifications/tasks')).toEqual([])
  })

  it('is rejected for a client without the extension', async () => {
    const refused = await peerOf({ capabilities: {} }).send('subscriptions/listen', {
      notifications: { taskIds: [] },
    })
    expect(refused['error']).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { [tasksId]: {} } } },
    })
  })

  it.each([['not a list'], [[7]], [Array.from({ length: 2000 }, () => 'x')]])(
    'accepts only a bounded list of ids',
    async (taskIds) => {
      const { error } = await peerOf().send('subscriptions/listen', { notifications: { taskIds } })
      expect(error).toMatchObject({ code: -32602 })
    },
  )
})
