import { defineServer, tool } from '@jackfield/sdk'
import type { ServeHttpOptions } from '@jackfield/sdk/http'
import { memoryBackplane } from '@jackfield/sdk/testing'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { modern, nodeAdapter, session } from '../../../packages/sdk/test/serve/http-support.ts'
import { testServer, until } from '../../../packages/sdk/test/serve/support.ts'
import type { Row } from './row.ts'

/** A server that asks before it pays, whose callers may be identified outside. */
async function shop(options: ServeHttpOptions) {
  const warnings: string[] = []
  const server = defineServer({
    name: 'shop',
    version: '1.0.0',
    tools: {
      pay: tool({
        input: z.object({ chars: z.number() }),
        async run({ chars }, ctx) {
          const receipt = await ctx.step('prepare', () => 'x'.repeat(chars))
          const { action } = await ctx.elicit({
            message: `Sure of ${receipt.length}?`,
            schema: z.object({ ok: z.boolean() }),
          })
          return action
        },
      }),
    },
  })
  const one = await nodeAdapter(server, { ...options, onWarning: (text) => warnings.push(text) })
  onTestFinished(() => one.close())
  const send = async (
    user: string,
    params: object,
  ): Promise<{ result: unknown; message: string | undefined }> => {
    const sent = await one.send(modern('tools/call', { name: 'pay', ...params }, { authorization: user }))
    const { result, error } = await sent.json()
    const message = error === undefined ? undefined : `${Object(error).message} ${warnings.at(-1)}`
    return { result, message }
  }
  return {
    /** What a question was refused with. */
    asked: async (chars: number) => (await send('somebody', { arguments: { chars } })).message,
    /** What an answer was refused with. */
    async answered(user: string) {
      const call = { arguments: { chars: 1 } }
      const { result } = await send(user, call)
      const { requestState, inputRequests = {} } = Object(result)
      const [key = ''] = Object.keys(inputRequests)
      const inputResponses = { [key]: { action: 'accept', content: { ok: true } } }
      return (await send(user, { ...call, requestState, inputResponses })).message
    },
  }
}

/** A backplane that reports the length of its last value, and all entries of its logs. */
function measuring() {
  const stored = { value: 0, entries: 0 }
  const plane = memoryBackplane()
  const backplane: typeof plane = {
    ...plane,
    set: (key, value, ttlMs, owner) => {
      stored.value = value.length
      return plane.set(key, value, ttlMs, owner)
    },
    append: (log, entry, keep, ttlMs) => {
      stored.entries += entry.length
      return plane.append(log, entry, keep, ttlMs)
    },
  }
  return { backplane, stored }
}

/** How many characters a receipt has whose state is stored as so many. */
async function receiptStoredAs(size: number): Promise<number> {
  const { backplane, stored } = measuring()
  const { asked } = await shop({ backplane })
  let chars = 60_000
  for (let tries = 0; tries < 5; tries++) {
    await asked(chars)
    if (stored.value === size) return chars
    chars += Math.round(((size - stored.value) * 3) / 4)
  }
  throw new Error(`No state is stored as ${size} characters, but as ${stored.value}`)
}

/** Sends few events to one session and many to another, and resumes the stream of the first. */
async function resumed(chars: number, options: ServeHttpOptions): Promise<string | undefined> {
  const one = await nodeAdapter(
    testServer({
      speak: async ({ chars }, { notify }) => {
        const params = { progressToken: 'p', progress: 1, message: 'x'.repeat(Number(chars)) }
        notify({ method: 'notifications/progress', params })
        return 'answer'
      },
    }),
    options,
  )
  onTestFinished(() => one.close())
  const received = async (much: number) => {
    const own = await session(one)
    const params = { name: 'speak', arguments: { chars: much }, _meta: { progressToken: 'p' } }
    const answer = await own.post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    await until(() => answer.over())
    return { own, first: answer.events[0]?.id }
  }
  const { own, first } = await received(0)
  await received(chars)
  const again = await own.get({ 'last-event-id': first })
  return again.status === 200 ? undefined : `${again.status} ${await again.text()}`
}

/** What a backplane in memory keeps. */
export const rememberedRows: Readonly<Record<string, Row>> = {
  'answers that were used': {
    limit: 10,
    attempt: async (size) => {
      const authenticate: ServeHttpOptions['authenticate'] = async (request) => ({
        principal: request.header('authorization') ?? '',
      })
      const { answered } = await shop({ limits: { remembered: 10 }, authenticate })
      let message: string | undefined
      for (let nth = 0; nth < size; nth++) message = await answered(`user ${nth}`)
      return message
    },
    refusal: /is full\. Try again later.*\(limits\.remembered\)/,
  },
  'characters of large states': {
    // Sealed text has a length that is never one more than a multiple of four.
    limit: 100_003,
    attempt: async (size) => {
      const chars = await receiptStoredAs(size)
      const { asked } = await shop({
        limits: { rememberedChars: 100_003 },
        // Clients that cannot be distinguished share one limit.
        clientAddress: () => undefined,
      })
      return asked(chars)
    },
    refusal: /is full\. Try again later.*\(limits\.rememberedChars\)/,
  },
  'characters of stored events': {
    limit: 10_000,
    attempt: async (size) => {
      const { backplane, stored } = measuring()
      await resumed(0, { backplane })
      return resumed(size - stored.entries, { limits: { storedEventChars: 10_000 } })
    },
    refusal: /^400 .*not stored, or not any more/,
  },
}
