import type { TaskRunner, Tasks } from '@jackfield/sdk/extensions/tasks'
import { type ConnectionOptions, DelayedError, type Queue, Worker } from 'bullmq'

// Tasks that BullMQ runs: its queue decides when and in which process. Questions, answers and results stay in the task store.

/** The job of one round of a task. */
export interface Round {
  readonly id: string
}

/** For `tasks({ runner })`, in processes that create tasks or receive answers. */
export function bullmqRunner(queue: Queue<Round>): TaskRunner {
  const again = { attempts: 10, backoff: { type: 'exponential', delay: 1000 } }
  return {
    start: async (id, delayMs) => {
      await queue.add('run', { id }, { delay: delayMs, removeOnComplete: true, removeOnFail: true, ...again })
    },
  }
}

/** Runs tasks in this process. A job that another process runs, or that has to wait, is delayed without holding a worker. */
export function bullmqWorker(
  name: string,
  tasks: Tasks,
  options: { readonly connection: ConnectionOptions; readonly concurrency?: number },
): Worker<Round> {
  return new Worker<Round>(
    name,
    async (job, token) => {
      const round = await tasks.run(job.data.id)
      if (round.type !== 'later') return
      await job.moveToDelayed(Date.now() + round.afterMs, token)
      throw new DelayedError()
    },
    options,
  )
}
