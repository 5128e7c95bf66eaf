import { type Backplane, defineServer, type JsonObject, resource, type Server, tool } from '@jackfield/sdk'
import type { ServeHttpOptions } from '@jackfield/sdk/http'
import { memoryBackplane } from '@jackfield/sdk/testing'
import { expect, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { type Answer, type Ask, type Mounted, nodeAdapter, session } from './http-support.ts'

export const watchdog = { timeout: 20_000, interval: 5 }
export const revision = '2025-11-25'

/** A handler that waits until the test lets it go on. */
export class Gate {
  readonly signals: AbortSignal[] = []
  #open: (() => void)[] = []

  pass(signal: AbortSignal): Promise<void> {
    this.signals.push(signal)
    return new Promise((resolve, reject) => {
      this.#open.push(resolve)
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  }

  async next(): Promise<void> {
    await vi.waitFor(() => expect(this.#open.length).toBeGreaterThan(0), watchdog)
    this.#open.shift()?.()
  }
}

export interface TestNode extends Mounted {
  readonly server: Server
  readonly gate: Gate
}

export function shop(gate: Gate): Server {
  return defineServer({
    name: 'shop',
    version: '1.0.0',
    tools: {
      look: tool({ run: () => 'seen' }),
      buy: tool({
        async run(_args, ctx) {
          const answer = await ctx.elicit({ message: 'Buy?', schema: z.object({ ok: z.boolean() }) })
          return answer.action
        },
      }),
      visit: tool({
        run: async (_args, ctx) =>
          (await ctx.elicitUrl({ message: 'Pay there', url: 'https://pay.example/7', id: 'payment-7' }))
            .action,
      }),
      pack: tool({
        async run(_args, ctx) {
          for (let step = 1; step <= 3; step++) {
            await gate.pass(ctx.signal)
            ctx.progress(step)
          }
          await gate.pass(ctx.signal)
          return 'packed'
        },
      }),
      speak: tool({
        run: (_args, ctx) => {
          ctx.log('info', 'spoken')
          return 'said'
        },
      }),
    },
    resources: { stock: resource({ uri: 'shop://stock', read: () => 'full' }) },
    onError: () => {},
  })
}

/** Nodes over one backplane, and a client whose requests they get in turn. */
export async function cluster(options: ServeHttpOptions = {}, count = 3) {
  const backplane: Backplane = { ...memoryBackplane(), spansProcesses: true }
  const start = async (): Promise<TestNode> => {
    const gate = new Gate()
    const server = shop(gate)
    const mounted = await nodeAdapter(server, { backplane, ...options })
    onTestFinished(() => mounted.close())
    return { ...mounted, server, gate }
  }
  const nodes = await Promise.all(Array.from({ length: count }, start))
  let turn = 0
  const balanced = {
    send: (ask?: Ask) => {
      const node = nodes[turn++ % nodes.length]
      if (node === undefined) throw new Error('no node')
      return node.send(ask)
    },
  }
  const [a, b, c] = nodes
  if (a === undefined || b === undefined || c === undefined) throw new Error('three nodes')
  return { a, b, c, balanced, backplane, start }
}

/** A session, whose requests go to the node that is named. */
export async function client(
  { a, balanced }: Awaited<ReturnType<typeof cluster>>,
  headers: Ask['headers'] = {},
  capabilities: JsonObject = { elicitation: { form: {}, url: {} } },
  version: string = revision,
) {
  const begun = await session(balanced, version, headers, capabilities)
  const own = { 'mcp-session-id': begun.id, 'mcp-protocol-version': version, ...headers }
  const on = (node: Pick<Mounted, 'send'> = a) => ({
    post: (body: unknown) => node.send({ body, headers: own }),
    call: (id: number, name: string, params: JsonObject = {}) =>
      node.send({
        body: { jsonrpc: '2.0', id, method: 'tools/call', params: { name, ...params } },
        headers: own,
      }),
    request: async (id: number, method: string, params: JsonObject = {}) =>
      (await node.send({ body: { jsonrpc: '2.0', id, method, params }, headers: own })).json(),
    get: (last?: string) => node.send({ method: 'GET', headers: { ...own, 'last-event-id': last } }),
    end: () => node.send({ method: 'DELETE', headers: own }),
  })
  return { id: begun.id, on }
}

export const messages = (answer: Answer, count: number): Promise<JsonObject[]> =>
  vi.waitFor(() => {
    expect(answer.messages().length).toBeGreaterThanOrEqual(count)
    return answer.messages()
  }, watchdog)
export const progressed = { _meta: { progressToken: 'p' } }
export const accept = (id: unknown, action = 'accept'): JsonObject => ({
  jsonrpc: '2.0',
  id,
  result: { action, content: { ok: true } },
})
export const text = (text: string): JsonObject => ({ result: { content: [{ text }] } })
