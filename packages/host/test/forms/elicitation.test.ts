import { describe, expect, it } from 'vitest'
import { site } from '../../../../test/setup/site.ts'
import type { HostAnswers, HostOptions, HostQuestion } from '../../src/types/index.ts'
import { returned, session, started, textOf, until, type Watched } from '../fixtures/hosts.ts'
import { type Manners, person } from '../fixtures/people.ts'
import { asksBack, roundsServer, type Script, text } from '../inbox/rounds-server.ts'

const cli = { caller: 'cli' } as const
const rules = [{ id: 'all', verdict: 'allow' as const }]

type Asked = Extract<HostQuestion, { kind: 'elicitation' }>

const form = (message: string, properties: object, required: string[] = []) => ({
  method: 'elicitation/create',
  params: { mode: 'form', message, requestedSchema: { type: 'object', properties, required } },
})
const seatField = { seat: { type: 'string' } }

async function rounds(
  script: Script,
  options: Partial<HostOptions> & { surface: ReturnType<typeof person> },
) {
  const server = await roundsServer(script)
  const host = await started({ servers: { s: { url: server.url } }, rules, ...options })
  return { host, server, book: () => host.call('s__book', {}, cli) }
}

const elicitations = (questions: readonly HostQuestion[]): Asked[] =>
  questions.flatMap((question) => (question.kind === 'elicitation' ? [question] : []))

describe('a server with several rounds', () => {
  it('gets its state back unchanged with each answer, in separate requests', async () => {
    const states = ['é\u0000"\\ \u2028 😀 …', `${'A/+='.repeat(200)} `]
    const ids: unknown[] = []
    const surface = person({
      elicitation: ({ params }) => ({ action: 'accept', content: { seat: `for ${params.message}` } }),
    })
    const { server, book } = await rounds(
      (_params, nth) =>
        nth <= 2
          ? asksBack({ q: form(`step ${nth}`, seatField, ['seat']) }, states[nth - 1])
          : text('booked'),
      {
        surface,
        connect: {
          onMessage: (_server, direction, message) => {
            if (
              direction === 'sent' &&
              'method' in message &&
              message.method === 'tools/call' &&
              'id' in message
            )
              ids.push(message.id)
          },
        },
      },
    )
    expect(returned(await book())).toBe('booked')
    expect(server.calls.map(({ requestState }) => requestState)).toEqual([undefined, ...states])
    expect(server.calls.map(({ inputResponses }) => inputResponses)).toEqual([
      undefined,
      { q: { action: 'accept', content: { seat: 'for step 1' } } },
      { q: { action: 'accept', content: { seat: 'for step 2' } } },
    ])
    expect(new Set(ids).size).toBe(3)
  })

  it('is stopped with an explanation if it never stops asking', async () => {
    const surface = person({ elicitation: () => ({ action: 'accept', content: { seat: 'x' } }) })
    const { server, book } = await rounds(() => asksBack({ q: form('again?', seatField) }, 'state'), {
      surface,
    })
    const call = await book()
    expect(textOf(call)).toContain('requested input more than 10 times')
    expect(call.error).toMatchObject({ code: 'TOO_MANY_ROUNDS' })
    expect(server.calls).toHaveLength(11)
    expect(surface.asked).toHaveLength(10)
  })

  it('has all questions of one response shown together, and answered in one request', async () => {
    const waiting: (() => void)[] = []
    const surface = person({
      elicitation: ({ params }) =>
        new Promise((resolve) =>
          waiting.push(() => resolve({ action: 'accept', content: { seat: params.message } })),
        ),
    })
    const { server, book } = await rounds(
      (_params, nth) =>
        nth === 1 ? asksBack({ a: form('first', seatField), b: form('second', seatField) }) : text('booked'),
      { surface },
    )
    const call = book()
    await until(() => waiting.length === 2, 'both are shown')
    for (const answer of waiting.toReversed()) answer()
    expect(returned(await call)).toBe('booked')
    expect(server.calls[1]?.inputResponses).toEqual({
      a: { action: 'accept', content: { seat: 'first' } },
      b: { action: 'accept', content: { seat: 'second' } },
    })
    expect(server.calls).toHaveLength(2)
  })
})

describe('a form', () => {
  it('that seems to ask for a secret has a warning, and the secret is not logged', async () => {
    const surface = person({
      elicitation: () => ({ action: 'accept', content: { password: 'hunter2', seat: '4A' } }),
    })
    const { host, server, book } = await rounds(
      (_params, nth) =>
        nth === 1
          ? asksBack({ q: form('Log in', { password: { type: 'string' }, ...seatField }) })
          : text('in'),
      { surface },
    )
    await book()
    expect(elicitations(surface.asked)[0]?.findings).toMatchObject([
      { severity: 'danger', code: 'asks-for-secret', at: 'fields.password' },
    ])
    expect(server.calls[1]?.inputResponses).toMatchObject({ q: { content: { password: 'hunter2' } } })
    expect(JSON.stringify(host.activity({ kind: 'elicitation' }))).not.toContain('hunter2')
    expect(JSON.stringify(host.activity({ kind: 'elicitation' }))).toContain('4A')
  })

  it("shows the server's identity, and keeps the reason of a refusal in this host", async () => {
    const surface = person({ elicitation: () => ({ action: 'decline', reason: 'I do not like it' }) })
    const { host, server, book } = await rounds(
      (_params, nth) => (nth === 1 ? asksBack({ q: form('m', seatField) }) : text('no')),
      { surface },
    )
    await book()
    expect(elicitations(surface.asked)[0]?.origin).toBe(server.url)
    expect(server.calls[1]?.inputResponses).toEqual({ q: { action: 'decline' } })
    expect(host.activity({ kind: 'elicitation' })).toMatchObject([
      { outcome: 'declined', detail: { reason: 'I do not like it' } },
    ])
  })

  it('is prefilled only with remembered answers, never secrets', async () => {
    const given: HostAnswers['elicitation'][] = [
      { action: 'accept', content: { seat: '1A', name: 'Ada', password: 'x' } },
      {
        action: 'accept',
        content: { seat: '2A', name: 'Ada', password: 'x' },
        remember: ['seat', 'name', 'password'],
      },
      { action: 'accept', content: { seat: '3A', name: 'Bob', password: 'x' } },
      { action: 'accept', content: { seat: '4A', name: 'Bob', password: 'x' }, remember: ['seat'] },
      { action: 'decline' },
    ]
    const surface = person({ elicitation: () => given.shift() })
    const fields = { ...seatField, name: { type: 'string' }, password: { type: 'string' } }
    const { host, server, book } = await rounds(
      ({ inputResponses }) =>
        inputResponses === undefined ? asksBack({ q: form('m', fields) }) : text('ok'),
      { surface },
    )
    for (let n = 0; n < 5; n++) await book()
    expect(elicitations(surface.asked).map(({ remembered }) => remembered)).toEqual([
      undefined,
      undefined,
      { seat: '2A', name: 'Ada' },
      { seat: '2A', name: 'Ada' },
      { seat: '4A' },
    ])
    expect(JSON.stringify(server.calls)).not.toContain('remember')
    for (const { detail } of host.activity({ kind: 'elicitation' })) {
      expect(JSON.stringify(detail['answer'])).not.toContain('remember')
    }
  })

  it('stores no known secret, whatever the field is called', async () => {
    const messages = ['Enter your password', 'Enter anything']
    const surface = person({
      elicitation: () => ({ action: 'accept', content: { seat: 'hunter2' }, remember: ['seat'] }),
    })
    const { book } = await rounds(
      ({ inputResponses }) =>
        inputResponses === undefined ? asksBack({ q: form(messages.shift() ?? '', seatField) }) : text('ok'),
      { surface },
    )
    await book()
    await book()
    expect(elicitations(surface.asked)[1]).not.toHaveProperty('remembered')
  })

  it('is not prefilled with values that no longer fit', async () => {
    const surface = person({
      elicitation: ({ params }) =>
        params.message === 'text'
          ? { action: 'accept', content: { seat: 'window' }, remember: ['seat'] }
          : { action: 'cancel' },
    })
    const asked = ['text', 'number']
    const { book } = await rounds(
      ({ inputResponses }) => {
        if (inputResponses !== undefined) return text('ok')
        const kind = asked.shift() ?? ''
        return asksBack({ q: form(kind, { seat: { type: kind === 'text' ? 'string' : 'number' } }) })
      },
      { surface },
    )
    await book()
    await book()
    expect(elicitations(surface.asked)[1]).not.toHaveProperty('remembered')
  })
})

describe('a URL elicitation', () => {
  type Consent = NonNullable<Manners['elicitation']>
  async function elicitUrl(url: string, elicitation: Consent, open?: HostOptions['openPage']) {
    const opened: string[] = []
    const surface = person({ elicitation, urlElicitation: true })
    const { host, server, book } = await rounds(
      (_params, nth) =>
        nth === 1
          ? asksBack({
              q: { method: 'elicitation/create', params: { mode: 'url', message: 'Sign in', url } },
            })
          : text('in'),
      {
        surface,
        openPage:
          open ??
          (async (page) => {
            opened.push(page.href)
          }),
      },
    )
    const call = await book()
    return { opened, host, call, surface, answers: server.calls[1]?.inputResponses }
  }

  it('is opened after consent, and its answer is sent once the user finished', async () => {
    const { url, visits, touch } = await site()
    const { opened, host, surface, answers } = await elicitUrl(url, ({ visit: underWay }) =>
      underWay === undefined ? { action: 'accept', visit: 'open' } : { action: 'accept' },
    )
    expect(opened).toEqual([url])
    expect(elicitations(surface.asked).map((question) => question.visit)).toEqual([
      undefined,
      { opened: true },
    ])
    expect(answers).toEqual({ q: { action: 'accept' } })
    expect(host.activity({ kind: 'elicitation' })).toMatchObject([
      { outcome: 'accepted', detail: { opened: 1 } },
    ])
    // Whoever visits the page, it is not this host.
    expect(visits()).toBe(0)
    await touch()
    expect(visits()).toBe(1)
  })

  it.each(['decline', 'cancel'] as const)('is not opened on %s', async (action) => {
    const { url, visits } = await site()
    const { opened, answers } = await elicitUrl(url, () => ({ action }))
    expect(opened).toEqual([])
    expect(answers).toEqual({ q: { action } })
    expect(visits()).toBe(0)
  })

  it('can be reopened, opened by hand, and given up', async () => {
    const words: HostAnswers['elicitation'][] = [
      { action: 'accept', visit: 'self' },
      { action: 'accept', visit: 'open' },
      { action: 'accept', visit: 'open' },
      { action: 'cancel' },
    ]
    const { opened, surface, answers } = await elicitUrl('https://a.example/x', () => words.shift())
    expect(opened).toEqual(['https://a.example/x', 'https://a.example/x'])
    expect(elicitations(surface.asked).map((question) => question.visit)).toEqual([
      undefined,
      { opened: false },
      { opened: true },
      { opened: true },
    ])
    expect(answers).toEqual({ q: { action: 'cancel' } })
  })

  it('reports why the page could not be opened, and continues', async () => {
    const { surface, answers } = await elicitUrl(
      'https://a.example/x',
      ({ visit: underWay }) =>
        underWay === undefined ? { action: 'accept', visit: 'open' } : { action: 'accept' },
      () => Promise.reject(new Error('no browser here')),
    )
    expect(elicitations(surface.asked)[1]?.visit).toEqual({ opened: false, problem: 'no browser here' })
    expect(answers).toEqual({ q: { action: 'accept' } })
  })

  it('over http to another machine is never opened by the host', async () => {
    const { opened, surface } = await elicitUrl('http://a.example/x', ({ visit: underWay }) =>
      underWay === undefined ? { action: 'accept', visit: 'open' } : { action: 'accept' },
    )
    expect(opened).toEqual([])
    expect(elicitations(surface.asked)[1]?.visit?.problem).toContain('Only pages over https')
  })

  it('has warnings about its URL', async () => {
    const { surface } = await elicitUrl('https://paypal.com@evil.example:8443/', () => ({
      action: 'decline',
    }))
    expect(elicitations(surface.asked)[0]?.findings?.map(({ code }) => code)).toEqual([
      'user-information',
      'port',
    ])
  })
})

describe('a URL elicitation that a server of 2025-11-25 completes', () => {
  const params = { mode: 'url', message: 'Sign in', url: 'https://a.example/', elicitationId: 'e1' }
  const forever = (signal: AbortSignal) =>
    new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  const hostWith = (elicitation: NonNullable<Manners['elicitation']>): Promise<Watched> =>
    started({
      servers: { s: session().config },
      rules,
      surface: person({ elicitation, urlElicitation: true }),
      openPage: async () => {},
    })

  it('ends for the user too, after consent', async () => {
    const waiting: string[] = []
    const host = await hostWith((question, signal) => {
      if (question.visit === undefined) return { action: 'accept', visit: 'open' }
      waiting.push(question.params.message)
      return forever(signal)
    })
    const other = { ...params, message: 'Pay', elicitationId: 'e2' }
    const calls = [params, other].map((asked) => host.call('s__ask', { params: asked }, cli))
    await until(() => waiting.length === 2, 'the person is asked whether they finished both')
    await host.call('s__finish', { id: 'e2' }, cli)
    await until(() => host.inbox.list().length === 1, 'one of them is over')
    expect(host.inbox.list()).toMatchObject([{ question: { params: { message: 'Sign in' } } }])
    await host.call('s__finish', { id: 'e1' }, cli)
    for (const call of calls) expect(returned(await call)).toMatchObject({ answer: { action: 'accept' } })
    expect(host.activity({ kind: 'elicitation' })).toMatchObject([
      { outcome: 'accepted', detail: { by: expect.stringContaining('the server') } },
      { outcome: 'accepted', detail: { by: expect.stringContaining('the server') } },
    ])
  })

  it('is not accepted by its completion', async () => {
    const answers: ((answer: HostAnswers['elicitation']) => void)[] = []
    const host = await hostWith(() => new Promise((resolve) => answers.push(resolve)))
    const call = host.call('s__ask', { params }, cli)
    await until(() => answers.length === 1, 'the person is asked')
    await host.call('s__finish', { id: 'e1' }, cli)
    expect(host.inbox.list()).toMatchObject([{ question: { kind: 'elicitation' }, state: 'open' }])
    for (const answer of answers) answer({ action: 'decline' })
    expect(returned(await call)).toMatchObject({ answer: { action: 'decline' } })
    expect(answers).toHaveLength(1)
  })

  it('needs no confirmation if it completed before consent', async () => {
    const answers: ((answer: HostAnswers['elicitation']) => void)[] = []
    const host = await hostWith(() => new Promise((resolve) => answers.push(resolve)))
    const call = host.call('s__ask', { params }, cli)
    await until(() => answers.length === 1, 'the person is asked')
    await host.call('s__finish', { id: 'e1' }, cli)
    for (const answer of answers) answer({ action: 'accept', visit: 'self' })
    expect(returned(await call)).toMatchObject({ answer: { action: 'accept' } })
    expect(answers).toHaveLength(1)
  })
})

describe('a call that fails because a server of 2025-11-25 requires URL elicitations first', () => {
  async function paying(visits: number, elicitation: NonNullable<Manners['elicitation']>) {
    const surface = person({ elicitation, urlElicitation: true })
    const host = await started({ servers: { s: session().config }, rules, surface, openPage: async () => {} })
    const call = await host.call('s__pay', { visits }, cli)
    return { host, call, asked: elicitations(surface.asked) }
  }

  it('is retried after each of them', async () => {
    const { call, asked, host } = await paying(2, ({ visit }) =>
      visit === undefined ? { action: 'accept', visit: 'open' } : { action: 'accept' },
    )
    expect(returned(call)).toBe('paid')
    expect(asked.map(({ params, visit }) => [params.mode === 'url' && params.url, visit?.opened])).toEqual([
      ['https://pay.example/1', undefined],
      ['https://pay.example/1', true],
      ['https://pay.example/2', undefined],
      ['https://pay.example/2', true],
    ])
    expect(asked[0]?.cause).toMatchObject({
      server: 's',
      tool: 'pay',
      arguments: { visits: 2 },
      caller: 'cli',
    })
    expect(host.activity({ kind: 'call' })).toMatchObject([{ outcome: 'ok' }])
    expect(host.activity({ kind: 'elicitation' })).toHaveLength(2)
  })

  it.each(['decline', 'cancel'] as const)("fails with the server's error on %s", async (action) => {
    const { call, asked } = await paying(1, () => ({ action }))
    expect(call.error).toMatchObject({ code: -32042 })
    expect(asked).toHaveLength(1)
  })

  it('is not retried for any other reason', async () => {
    const surface = person({ elicitation: () => ({ action: 'accept' }), urlElicitation: true })
    const { server, book } = await rounds(() => ({ code: -32602, message: 'no such trip' }), { surface })
    expect((await book()).error).toMatchObject({ code: -32602 })
    expect(server.calls).toHaveLength(1)
    expect(surface.asked).toEqual([])
  })

  it('is retried only a limited number of times', async () => {
    const { call, asked } = await paying(100, () => ({ action: 'accept' }))
    expect(call.error).toMatchObject({ code: -32042 })
    expect(asked).toHaveLength(5)
  })
})
