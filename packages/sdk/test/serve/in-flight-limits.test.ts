import { defineServer, tool } from '@jackfield/sdk'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { adapters, modern } from './http-support.ts'
import { meta, until } from './support.ts'

const places = 2
const watchdogMs = 10_000

describe.each(adapters)('a handler whose client disconnected, over HTTP (%s),', (_, adapter) => {
  /** A server whose calls run until they are released, or, with `polite`, until they are aborted. */
  async function start() {
    const running = new Set<string>()
    const unwanted = new Set<string>()
    let letGo = (): void => {}
    const free = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const call = (name: string, ends: (signal: AbortSignal) => Promise<unknown>) =>
      tool({
        run: async (_args, ctx) => {
          const id = `${name} ${running.size + unwanted.size}`
          running.add(id)
          ctx.signal.addEventListener('abort', () => unwanted.add(id))
          // Opens the stream, so that its client has something to leave.
          ctx.progress(1)
          await ends(ctx.signal)
          running.delete(id)
          return 'done'
        },
      })
    const aborted = (signal: AbortSignal): Promise<unknown> =>
      new Promise((resolve) => signal.addEventListener('abort', resolve))
    const server = defineServer({
      name: 'desk',
      version: '1.0.0',
      tools: {
        stubborn: call('stubborn', () => free),
        polite: call('polite', (signal) => Promise.race([free, aborted(signal)])),
        quick: tool({ run: () => 'done' }),
      },
    })
    const mounted = await adapter(server, {
      limits: { inFlightPerPrincipal: places },
      authenticate: async (request) => ({ principal: request.header('authorization') ?? '' }),
    })
    onTestFinished(async () => {
      letGo()
      await mounted.close()
    })
    const send = (user: string, name: string) =>
      mounted.send(
        modern('tools/call', { name, _meta: meta({ progressToken: 'p' }) }, { authorization: user }),
      )
    /** Begins calls for all places of a user and leaves as soon as all of them run. */
    const disconnect = async (user: string, name: string): Promise<void> => {
      const calls = Array.from({ length: places }, () => send(user, name))
      await until(() => running.size === places)
      expect((await send(user, 'quick')).status).toBe(429)
      for (const one of calls) (await one).drop()
    }
    return { send, disconnect, letGo, running, unwanted }
  }

  it('counts as running until it ends, without affecting others', async () => {
    const { send, disconnect, letGo, running, unwanted } = await start()
    await disconnect('ada', 'stubborn')
    await until(() => unwanted.size === places)
    expect(running.size).toBe(places)
    const refused = await send('ada', 'quick')
    expect(refused.status).toBe(429)
    expect(await refused.text()).toContain(`wait for some of your ${places} to finish`)
    expect((await send('bob', 'quick')).status).toBe(200)
    letGo()
    await vi.waitFor(async () => expect((await send('ada', 'quick')).status).toBe(200), watchdogMs)
  })

  it('is released at once if it stops on its signal', async () => {
    const { send, disconnect, running } = await start()
    await disconnect('ada', 'polite')
    await until(() => running.size === 0)
    await vi.waitFor(async () => expect((await send('ada', 'quick')).status).toBe(200), watchdogMs)
  })
})
