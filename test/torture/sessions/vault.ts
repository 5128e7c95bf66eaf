import { defineServer, resource, type Server, tool } from '@jackfield/sdk'
import { type TaskStore, tasks } from '@jackfield/sdk/extensions/tasks'
import { z } from 'zod'

/** A server whose every response contains a word of its caller, and a record of its handlers. */
export interface Vault {
  readonly server: Server
  /** Questions that were accepted, by whom. */
  readonly accepted: string[]
  /** Lets go of every call that waits. */
  open(): void
}

/** Makes a vault in which callers keep the word that `wordOf` gives for their principal. */
export function vault(store: TaskStore, wordOf: (principal: string | null) => string): Vault {
  const accepted: string[] = []
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  const server = defineServer({
    name: 'vault',
    version: '1.0.0',
    tools: {
      peek: tool({ run: (_args, { peer }) => wordOf(peer.principal) }),
      slow: tool({
        task: 'optional',
        async run(_args, ctx) {
          ctx.progress(1, 2, wordOf(ctx.peer.principal))
          await opened
          return wordOf(ctx.peer.principal)
        },
      }),
      sure: tool({
        input: z.object({ thing: z.string().optional() }),
        async run(_args, ctx) {
          const message = `Sure, ${wordOf(ctx.peer.principal)}?`
          const { action } = await ctx.elicit({ message, schema: z.object({ ok: z.boolean() }) })
          if (action === 'accept') accepted.push(ctx.peer.principal ?? '')
          return `${action} ${wordOf(ctx.peer.principal)}`
        },
      }),
    },
    resources: {
      safe: resource({ uri: 'vault://safe', read: ({ peer }) => wordOf(peer.principal) }),
    },
    extensions: [tasks({ store, pollIntervalMs: 50 })],
    onError: () => {},
  })
  return { server, accepted, open }
}
