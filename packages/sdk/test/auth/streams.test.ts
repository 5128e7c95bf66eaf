import { defineServer, tool } from '@jackfield/sdk'
import { afterEach, expect, test, vi } from 'vitest'
import { modern, session, webAdapter } from '../serve/http-support.ts'
import { initialize, initialized } from '../serve/support.ts'
import { as, authenticated, inSeconds, mcp, mounted } from './support.ts'

const minute = 60_000

afterEach(() => {
  vi.useRealTimers()
})

/** A server whose calls are answered when `finish` is called, for tokens without clock skew. */
async function served() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] })
  const { promise: finished, resolve: finish } = Promise.withResolvers<string>()
  const stopped: unknown[] = []
  const long = tool({
    run: (_args, { signal }) => {
      signal.addEventListener('abort', () => stopped.push(signal.reason))
      return finished
    },
  })
  const server = defineServer({ name: 'long', version: '1.0.0', tools: { long } })
  const authenticate = authenticated({ clockToleranceMs: 0, verify })
  const all = await mounted(webAdapter, server, { authenticate, sse: '/sse' })
  return { all, finish, stopped }
}

/** A token with a lifetime in seconds from now. */
const good = (seconds: number) => as(String(inSeconds(seconds)))
const verify = async (token: string) => ({ sub: 'alice', aud: mcp, exp: Number(token) })

/** Lets time go by, and what is due at each moment happen. */
async function pass(ms: number): Promise<void> {
  const step = Math.max(1, Math.ceil(ms / 20))
  for (let passed = 0; passed < ms; passed += step) {
    await vi.advanceTimersByTimeAsync(step)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

test('a response that outlasts its token by a minute is cut off, and resumed with a new token', async () => {
  const { all, finish } = await served()
  const mine = await session(all, '2025-11-25', good(60))
  const calling = mine.call(1, 'long')
  await pass(200)
  const call = await calling
  await pass(1.5 * minute)
  expect(call.over()).toBe(false)
  await pass(minute)
  expect([call.over(), call.messages()]).toEqual([true, []])
  const last = { 'last-event-id': call.events.at(-1)?.id }
  expect((await mine.get(last)).status).toBe(401)
  finish('done')
  const resumed = await mine.get({ ...last, ...good(3600) })
  await pass(1000)
  expect(resumed.messages()).toMatchObject([{ id: 1, result: { content: [{ text: 'done' }] } }])
})

test('a call without a session is stopped a minute after its token', async () => {
  const { all, stopped } = await served()
  const calling = all.send(modern('tools/call', { name: 'long' }, good(60)))
  await pass(minute)
  const call = await calling
  await pass(0.5 * minute)
  expect([call.over(), stopped]).toEqual([false, []])
  await pass(minute)
  expect(call.over()).toBe(true)
  expect(stopped).toMatchObject([
    { code: 'CANCELLED', message: 'The credentials of the request expired or were revoked' },
  ])
})

test('a response that is ready in that minute is sent', async () => {
  const { all, finish } = await served()
  const calling = all.send(modern('tools/call', { name: 'long' }, good(60)))
  await pass(1.5 * minute)
  finish('done')
  await pass(100)
  expect((await calling).messages()).toMatchObject([{ result: { content: [{ text: 'done' }] } }])
})

test('a session of HTTP+SSE continues while its client sends newer tokens', async () => {
  const { all } = await served()
  const stream = await all.send({ method: 'GET', path: '/sse', headers: good(60) })
  await pass(10)
  const path = stream.events[0]?.data ?? ''
  const post = async (body: object, headers: object): Promise<number> =>
    (await all.send({ path, body, headers: { ...headers } })).status
  expect(await post(initialize('2024-11-05'), good(60))).toBe(202)
  await pass(0.5 * minute)
  expect(await post(initialized, good(240))).toBe(202)
  await pass(3 * minute)
  expect(stream.over()).toBe(false)
  await pass(2 * minute)
  expect(stream.over()).toBe(true)
})
