import { redisTaskStore } from '@jackfield/redis'
import { defineServer, tool } from '@jackfield/sdk'
import {
  memoryTaskStore,
  retryLater,
  type TaskRunner,
  type TaskStore,
  type Tasks,
  tasks,
} from '@jackfield/sdk/extensions/tasks'
import { Queue } from 'bullmq'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { bullmqRunner, bullmqWorker, type Round } from '../../../../../examples/tasks/bullmq.ts'
import { WorkflowEngine } from '../../../../../examples/tasks/workflow.ts'
import { isThere, left, RedisServer } from '../../../../redis/test/support/redis-server.ts'
import { idIn, keysIn, modern, type Raw, reached, textIn } from './support.ts'

/** A process whose tasks have a step, ask, fail at first after the answer, and have another step. */
function oven(store: TaskStore, runner: TaskRunner): { extension: Tasks; peer: Raw; steps: string[] } {
  const steps: string[] = []
  const failed = new Set<string>()
  const extension = tasks({ store, runner, pollIntervalMs: 10, retry: { firstMs: 10 } })
  const server = defineServer({
    name: 'oven',
    version: '1',
    extensions: [extension],
    tools: {
      bake: tool({
        task: 'required',
        input: z.object({ cake: z.string() }),
        async run({ cake }, ctx) {
          await ctx.step('mix', () => steps.push(`mix ${cake}`))
          const sure = await ctx.elicit({ message: 'Bake?', schema: z.object({ ok: z.boolean() }) })
          if (!failed.has(cake)) {
            failed.add(cake)
            throw retryLater(50)
          }
          await ctx.step('bake', () => steps.push(`bake ${cake}`))
          return `${cake} ${sure.action}`
        },
      }),
    },
  })
  const peer = modern(server)
  onTestFinished(async () => {
    await peer.close()
    await extension.close()
  })
  return { extension, peer, steps }
}

/** Bakes some cakes at once, and checks that each step ran once. */
async function bakeAll({ peer, steps }: { peer: Raw; steps: string[] }): Promise<void> {
  const cakes = ['plum', 'cherry', 'apple']
  const bake = async (cake: string): Promise<string> => {
    const taskId = idIn(await peer.ask('tools/call', { name: 'bake', arguments: { cake } }))
    const [key = ''] = keysIn(await reached(peer, taskId, 'input_required', 20_000))
    const answer = { action: 'accept', content: { ok: true } }
    await peer.ask('tasks/update', { taskId, inputResponses: { [key]: answer } })
    return textIn((await reached(peer, taskId, 'completed', 20_000))['result'])
  }
  expect(await Promise.all(cakes.map(bake))).toEqual(cakes.map((cake) => `${cake} accept`))
  expect(steps.toSorted()).toEqual(cakes.flatMap((cake) => [`bake ${cake}`, `mix ${cake}`]).toSorted())
}

describe('the example of a runner', () => {
  it.runIf(isThere)(`on BullMQ runs tasks with questions and repeats${left}`, async () => {
    const redis = await RedisServer.start('--maxmemory-policy', 'noeviction')
    const store = await redisTaskStore({ url: redis.url })
    const connection = { host: '127.0.0.1', port: redis.port }
    const queue = new Queue<Round>('tasks', { connection })
    const made = oven(store, bullmqRunner(queue))
    const workers = [1, 2].map(() => bullmqWorker('tasks', made.extension, { connection, concurrency: 10 }))
    onTestFinished(async () => {
      for (const worker of workers) await worker.close()
      await queue.close()
    })
    await bakeAll(made)
    await expect.poll(() => queue.count(), { timeout: 20_000 }).toBe(0)
  })

  it('as workflows runs tasks with questions and repeats', async () => {
    const store: TaskStore = { ...memoryTaskStore(), durable: true }
    let failures = 2
    const engine: WorkflowEngine = new WorkflowEngine(async (id) => {
      if (failures-- > 0) throw new Error('no worker')
      return made.extension.run(id)
    })
    const made = oven(store, engine.runner)
    await bakeAll(made)
    await expect.poll(() => engine.running).toBe(0)
  })
})
