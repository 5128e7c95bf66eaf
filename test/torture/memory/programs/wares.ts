import { defineServer, type Middleware, prompt, resource, type Server, template, tool } from '@jackfield/sdk'

/** A server with every kind of definition, and calls that wait until they are cancelled. */
export interface Wares {
  readonly server: Server
  /** Settles when the call that waits under this number began. */
  began(number: number): Promise<void>
  /** Settles when it was aborted. */
  stopped(number: number): Promise<void>
}

interface Waiting {
  readonly began: PromiseWithResolvers<void>
  readonly stopped: PromiseWithResolvers<void>
}

const number = { type: 'integer' }

/** Makes the server. `use` are its layers. */
export function wares(use: Middleware[] = []): Wares {
  const waits = new Map<number, Waiting>()
  const waiting = (of: unknown): Waiting => {
    const at = Number(of)
    const known = waits.get(at) ?? { began: Promise.withResolvers(), stopped: Promise.withResolvers() }
    waits.set(at, known)
    return known
  }
  const server = defineServer({
    name: 'wares',
    version: '1.0.0',
    use,
    tools: {
      add: tool({
        input: { type: 'object', properties: { a: number, b: number }, required: ['a', 'b'] },
        output: { type: 'object', properties: { sum: number }, required: ['sum'] },
        run: ({ a, b }) => ({ sum: Number(a) + Number(b) }),
      }),
      echo: tool({
        input: {
          type: 'object',
          properties: { text: { type: 'string', maxLength: 100 } },
          required: ['text'],
        },
        run: ({ text }) => String(text),
      }),
      count: tool({
        run: (_, ctx) => {
          ctx.progress(1, 3, 'one')
          ctx.progress(2, 3, 'two')
          ctx.progress(3, 3, 'three')
          return 'counted'
        },
      }),
      say: tool({
        run: (_, ctx) => {
          ctx.log('warning', { so: 'it is' }, 'wares')
          return 'said'
        },
      }),
      /** Takes longer than an answer may that is no stream. */
      later: tool({
        run: async () => {
          await new Promise((resolve) => setTimeout(resolve, 120))
          return 'later'
        },
      }),
      wait: tool({
        input: { type: 'object', properties: { number }, required: ['number'] },
        run: async ({ number: of }, ctx) => {
          const { began, stopped } = waiting(of)
          began.resolve()
          await new Promise<void>((resolve) => {
            if (ctx.signal.aborted) resolve()
            else ctx.signal.addEventListener('abort', () => resolve(), { once: true })
          })
          stopped.resolve()
          return 'stopped'
        },
      }),
    },
    resources: {
      note: resource({ uri: 'wares://note', read: () => 'a note' }),
      item: template({
        uriTemplate: 'wares://items/{id}',
        complete: { id: (value) => [`${value}1`, `${value}2`] },
        read: ({ id }) => (id.startsWith('no') ? undefined : `item ${id}`),
      }),
    },
    prompts: {
      greet: prompt({
        input: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
        complete: { name: (value) => [`${value}a`, `${value}b`] },
        run: ({ name }) => `Greet ${String(name)}.`,
      }),
    },
  })
  return {
    server,
    began: (of) => waiting(of).began.promise,
    stopped: async (of) => {
      await waiting(of).stopped.promise
      waits.delete(of)
    },
  }
}
