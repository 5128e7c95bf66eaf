import { setTimeout as sleep } from 'node:timers/promises'
import { postgresTaskStore } from '@jackfield/postgres'
import { redisTaskStore } from '@jackfield/redis'
import { defineServer, type Server, tool } from '@jackfield/sdk'
import { type TaskStore, type Tasks, tasks } from '@jackfield/sdk/extensions/tasks'
import { z } from 'zod'

/** Where the tasks of a campaign are. */
export type StoreOf = { readonly redis: string } | { readonly postgres: string }

export async function storeOf(where: StoreOf): Promise<TaskStore> {
  const onWarning = (): void => {}
  return 'redis' in where
    ? redisTaskStore({ url: where.redis, onWarning })
    : postgresTaskStore({ url: where.postgres, maxConnections: 4, onWarning })
}

export const steps = ['dig', 'lay', 'roof'] as const

/** Tasks that may run in one worker at once. */
export const maxRunning = 4

/**
 * A server whose tasks build houses in three steps. Its short lease and its many takeovers are for processes that are killed all
 * the time.
 */
export function building(
  store: TaskStore,
  { write, work = true }: { write: (line: string) => void; work?: boolean },
): { server: Server; extension: Tasks } {
  const extension = tasks({
    store,
    work,
    maxRunning,
    leaseMs: 600,
    pollIntervalMs: 100,
    maxTakeovers: 100,
    maxTasks: 100_000,
    maxTasksPerPrincipal: 100_000,
    retry: { firstMs: 10, longestMs: 100 },
  })
  const server = defineServer({
    name: 'building',
    version: '1.0.0',
    extensions: [extension],
    tools: {
      build: tool({
        task: 'required',
        input: z.object({ house: z.string() }),
        async run({ house }, ctx) {
          const keys: string[] = []
          for (const name of steps) {
            const done = await ctx.step(name, async (key) => {
              write(`${house} ${name} ${key}`)
              await sleep(Math.random() * 80)
              return key
            })
            // From here on the step is remembered, also by those that take the task over.
            write(`${house} ${name} finished`)
            keys.push(done)
          }
          return keys.join(' ')
        },
      }),
    },
    onError: () => {},
  })
  return { server, extension }
}
