import { ask, defineServer, inputRequired, type ProtocolVersion, tool } from '@jackfield/sdk'
import { type ConnectOptions, connect } from '@jackfield/sdk/client'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

const eras: ProtocolVersion[] = ['2025-11-25', '2026-07-28']
const yes: ConnectOptions['onElicit'] = () => ({ action: 'accept', content: { ok: true } })
const sure = z.object({ ok: z.boolean() })

function shop() {
  const effects: string[] = []
  const entries = { refund: 0 }
  const server = defineServer({
    name: 'shop',
    version: '1.0.0',
    onError: () => {},
    tools: {
      refund: tool({
        input: z.object({ order: z.string() }),
        async run({ order }, ctx) {
          entries.refund++
          ctx.progress(1, 3, 'looked the order up')
          ctx.log('info', `refund of ${order} wanted`)
          const first = await ctx.elicit({ message: `Refund ${order}?`, schema: sure })
          if (first.action !== 'accept' || !first.content.ok) return 'Kept.'
          await ctx.step('refund', (key) => effects.push(key))
          ctx.progress(2, 3, 'refunded')
          const second = await ctx.elicit({ message: 'Mail a receipt?', schema: sure })
          ctx.progress(3, 3, 'done')
          return `Refunded ${order}, receipt: ${second.action}.`
        },
      }),
      wipe: tool({
        async run(_args, ctx) {
          try {
            await ctx.elicit({ message: 'Wipe everything?', schema: sure })
          } catch {
            effects.push('wiped')
          }
          effects.push('wiped')
          return 'wiped'
        },
      }),
      optional: tool({
        run: async (_args, ctx) =>
          ctx.can('elicitation')
            ? (await ctx.elicit({ message: 'Really?', schema: sure })).action
            : 'not asked',
      }),
      explicit: tool({
        run: (_args, ctx) => {
          if (ctx.state === undefined) {
            return inputRequired({
              requests: { who: ask.elicit({ message: 'Who?', schema: z.object({ ok: z.boolean() }) }) },
              state: { asked: 1 },
            })
          }
          return JSON.stringify({ state: ctx.state, answers: ctx.answers })
        },
      }),
      visit: tool({
        run: async (_args, ctx) =>
          (await ctx.elicitUrl({ message: 'Sign in', url: 'https://shop.example/sign-in', id: 'visit-1' }))
            .action,
      }),
      both: tool({
        run: async (_args, ctx) => {
          const [form, roots] = await Promise.all([ctx.elicit({ message: 'A?', schema: sure }), ctx.roots()])
          return `${form.action} ${roots.length}`
        },
      }),
    },
  })
  return { server, effects, entries }
}

const textOf = (result: { content: { type: string; text?: string }[] }): string | undefined =>
  result.content[0]?.text

describe.each(eras)('a handler with questions, on %s', (revision) => {
  const options = { revisions: [revision], info: { name: 'test', version: '1.0.0' } }

  it('asks its questions, runs its steps once and reports its progress once', async () => {
    const { server, effects, entries } = shop()
    const asked: string[] = []
    const client = await connect(server, {
      ...options,
      onElicit: ({ message }) => {
        asked.push(message)
        return { action: 'accept', content: { ok: true } }
      },
    })
    const progress: number[] = []
    const logs: unknown[] = []
    const result = await client.call(
      'refund',
      { order: '7' },
      {
        onProgress: (report) => progress.push(report.progress),
        logLevel: 'debug',
        onLog: ({ data }) => logs.push(data),
      },
    )
    expect(textOf(result)).toBe('Refunded 7, receipt: accept.')
    expect(asked).toEqual(['Refund 7?', 'Mail a receipt?'])
    expect(effects).toHaveLength(1)
    expect(progress).toEqual([1, 2, 3])
    expect(logs).toEqual(['refund of 7 wanted'])
    expect(entries.refund).toBe(revision === '2026-07-28' ? 3 : 1)
    await client.close()
  })

  it.each([
    ['declines', () => ({ action: 'decline' as const })],
    ['cancels', () => ({ action: 'cancel' as const })],
    ['says no', () => ({ action: 'accept' as const, content: { ok: false } })],
  ])('changes nothing when the user %s', async (_how, onElicit) => {
    const { server, effects } = shop()
    const client = await connect(server, { ...options, onElicit })
    expect(textOf(await client.call('refund', { order: '7' }))).toBe('Kept.')
    expect(effects).toEqual([])
    await client.close()
  })

  it('does not continue, not even in its catch, when the client cannot answer', async () => {
    const { server, effects } = shop()
    const client = await connect(server, options)
    const ended = await client.call('wipe').then(
      (result) => result.isError,
      (error: unknown) => (error as { code?: number }).code,
    )
    expect(ended).toBe(revision === '2026-07-28' ? -32021 : true)
    expect(effects).toEqual([])
    await client.close()
  })

  it('does not continue, not even in its catch, when the client fails to answer', async () => {
    const { server, effects } = shop()
    const client = await connect(server, {
      ...options,
      onElicit: () => {
        throw new Error('the dialog crashed')
      },
    })
    await client.call('wipe').catch(() => {})
    expect(effects).toEqual([])
    await client.close()
  })

  it('can first check whether the client can answer', async () => {
    const { server } = shop()
    const mute = await connect(server, options)
    expect(textOf(await mute.call('optional'))).toBe('not asked')
    const able = await connect(server, { ...options, onElicit: yes })
    expect(textOf(await able.call('optional'))).toBe('accept')
    await mute.close()
    await able.close()
  })

  it('may use the explicit form', async () => {
    const { server } = shop()
    const client = await connect(server, { ...options, onElicit: yes })
    expect(JSON.parse(textOf(await client.call('explicit')) ?? '')).toEqual({
      state: { asked: 1 },
      answers: { who: { action: 'accept', content: { ok: true } } },
    })
    await client.close()
  })

  it('may request a URL elicitation, and a session is notified once when the user finished', async () => {
    const { server } = shop()
    const seen: unknown[] = []
    const finished: string[] = []
    const client = await connect(server, {
      ...options,
      elicitation: { url: true },
      onElicit: (question) => {
        seen.push(question)
        return { action: 'accept' }
      },
      onElicitationComplete: (id) => finished.push(id),
    })
    expect(textOf(await client.call('visit'))).toBe('accept')
    const session = revision === '2025-11-25'
    expect(seen).toEqual([
      {
        mode: 'url',
        message: 'Sign in',
        url: 'https://shop.example/sign-in',
        ...(session ? { elicitationId: 'visit-1' } : {}),
      },
    ])
    server.elicitationComplete('visit-1')
    server.elicitationComplete('visit-1')
    server.elicitationComplete('never asked')
    await client.ping()
    expect(finished).toEqual(session ? ['visit-1'] : [])
    await client.close()
  })

  it('sends all questions of one turn at once', async () => {
    const { server } = shop()
    const client = await connect(server, { ...options, onElicit: yes, onRoots: [{ uri: 'file:///a' }] })
    let requests = 0
    expect(textOf(await client.call('both'))).toBe('accept 1')
    const counted = await connect(server, {
      ...options,
      onElicit: yes,
      onRoots: [],
      onMessage: (direction, message) => {
        if (direction === 'sent' && 'method' in message && message.method === 'tools/call') requests++
      },
    })
    await counted.call('both')
    expect(requests).toBe(revision === '2026-07-28' ? 2 : 1)
    await client.close()
    await counted.close()
  })
})
