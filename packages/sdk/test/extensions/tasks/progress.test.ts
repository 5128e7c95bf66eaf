import { defineServer, type Server, tool } from '@jackfield/sdk'
import { connect, type ProgressReport } from '@jackfield/sdk/client'
import { tasksClient } from '@jackfield/sdk/client/tasks'
import { tasks } from '@jackfield/sdk/extensions/tasks'
import { serveHttp } from '@jackfield/sdk/http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { child } from '../../client/support/child.ts'
import { gate } from './support.ts'

const whole: ProgressReport[] = [
  { progress: 1, total: 3, message: 'Reading' },
  { progress: 2, total: 3 },
  { progress: 3, total: 3, message: 'Written' },
]

/** A server whose tool reports progress step by step, each step once its client knows of the one before. */
function working() {
  const seen = [gate(), gate()]
  const engine = tasks({ pollIntervalMs: 50 })
  const server = defineServer({
    name: 'worker',
    version: '1.0.0',
    tools: {
      work: tool({
        task: 'required',
        async run(_, ctx) {
          ctx.progress(1, 3, 'Reading')
          await seen[0]?.opened
          ctx.progress(2, 3)
          await seen[1]?.opened
          ctx.progress(3, 3, 'Written')
          return 'done'
        },
      }),
      asks: tool({
        task: 'required',
        async run(_, ctx) {
          ctx.progress(1, 3, 'Reading')
          await seen[0]?.opened
          await ctx.elicit({ message: 'Write?', schema: z.object({ ok: z.boolean() }) })
          ctx.progress(2, 3)
          await seen[1]?.opened
          ctx.progress(3, 3, 'Written')
          return 'done'
        },
      }),
    },
    extensions: [engine],
  })
  onTestFinished(() => engine.close())
  const reports: ProgressReport[] = []
  const onProgress = (report: ProgressReport): void => {
    reports.push(report)
    seen[report.progress - 1]?.open()
  }
  return { server, reports, onProgress }
}

const targets = {
  'in one process': async (server: Server) => server,
  'over HTTP': async (server: Server) => {
    const handler = serveHttp(server, { onWarning: () => {} })
    onTestFinished(() => handler.close())
    return (await handler.listen()).url
  },
}

describe.each(['2025-11-25', '2026-07-28'] as const)('progress of a task (%s)', (revision) => {
  describe.each(Object.entries(targets))('%s', (_, target) => {
    const open = async (server: Server) => {
      const speaker = tasksClient()
      const client = await connect<unknown>(await target(server), {
        revisions: [revision],
        extensions: [speaker],
        onElicit: () => ({ action: 'accept', content: { ok: true } }),
      })
      onTestFinished(() => client.close())
      return { client, speaker }
    }

    it('is reported to the call that became the task, also after a question', async () => {
      for (const name of ['work', 'asks']) {
        const { server, reports, onProgress } = working()
        const { client } = await open(server)
        const result = await client.call(name, {}, { onProgress })
        expect(result).toMatchObject({ content: [{ text: 'done' }] })
        expect(reports).toEqual(whole)
      }
    })

    it('is reported to the client that waits for its result', async () => {
      const { server, reports, onProgress } = working()
      const { client, speaker } = await open(server)
      const started = await speaker.start(client, 'work')
      if (!('task' in started)) throw new Error('no task was made')
      expect(await started.task.result({ onProgress })).toMatchObject({ content: [{ text: 'done' }] })
      expect(reports).toEqual(whole)
    })
  })
})

it('progress with the token of the call is reported after it became a task of 2025-11-25', async () => {
  const link = child(`each((message) => {
    const { id, method, params } = message
    const at = new Date().toISOString()
    const task = { taskId: 't', createdAt: at, lastUpdatedAt: at, ttl: null, pollInterval: 50 }
    const progress = (progress) => send({ method: 'notifications/progress',
      params: { progressToken: globalThis.token, progress, total: 2 } })
    if (method === 'server/discover') send({ id, error: { code: -32601, message: 'no' } })
    if (method === 'initialize') send({ id, result: { protocolVersion: '2025-11-25', serverInfo: info,
      capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } } } })
    if (method === 'tools/list') send({ id, result: { tools: [{ name: 'work', inputSchema: { type: 'object' },
      execution: { taskSupport: 'required' } }] } })
    if (method === 'tools/call') {
      globalThis.token = params._meta.progressToken
      send({ id, result: { task: { ...task, status: 'working' } } })
    }
    if (method === 'tasks/get') {
      send({ id, result: { ...task, status: globalThis.looked ? 'completed' : 'working' } })
      // The call itself was answered long ago.
      if (!globalThis.looked) for (const step of [1, 1, 2]) progress(step)
      globalThis.looked = true
    }
    if (method === 'tasks/result') send({ id, result: text('done') })
  })`)
  const client = await connect(link, { extensions: [tasksClient()] })
  onTestFinished(() => client.close())
  const reports: ProgressReport[] = []
  await client.call('work', {}, { onProgress: (report) => reports.push(report) })
  expect(reports).toEqual([
    { progress: 1, total: 2 },
    { progress: 2, total: 2 },
  ])
})
