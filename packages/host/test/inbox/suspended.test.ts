import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import type { HostOptions } from '../../src/types/index.ts'
import { hostOf, returned, scripted, started, textOf, until, type Watched } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { form, program, seatAnswer, storeFile } from './programs.ts'
import { asksBack, roundsServer, type Script, type ServerTexts, text } from './rounds-server.ts'

const cli = { caller: 'cli' } as const
const rules = [{ id: 'all', verdict: 'allow' as const }]
const question = (message?: string) => ({ method: 'elicitation/create', params: form(message) })
const shelf = () =>
  person({ elicitation: () => undefined, approval: () => ({ verdict: 'allow' }), roots: () => undefined })

/** A server, and hosts of it on one store. */
async function setup(script: Script, definitions: ServerTexts = {}) {
  const store = storeFile()
  const server = await roundsServer(script, definitions)
  const host = (options: Partial<HostOptions> = {}): Promise<Watched> =>
    started({ servers: { s: { url: server.url } }, rules, store, surface: shelf(), ...options })
  return { store, server, host }
}

async function open(host: Watched, count = 1): Promise<string[]> {
  await until(() => host.inbox.list().length === count, `${count} open questions`)
  return host.inbox.list().map(({ id }) => id)
}

async function resumed(host: Watched, id: string | undefined) {
  const call = await host.inbox.resumed(id ?? '')
  if (call === undefined) throw new Error('nothing was taken up')
  return call
}

const asksOnce: Script = ({ inputResponses }, nth) =>
  nth === 1 ? asksBack({ q: question() }, 'the state') : text(inputResponses)

describe('a suspended call whose program ended while the question was open', () => {
  it('is resumed where the question is answered, unchanged and with its approval as the cause', async () => {
    const state = ' {"a": 1}\u0000é🎉\ud800 '
    const { server, host } = await setup(({ inputResponses }, nth) =>
      nth === 1 ? asksBack({ 7: question('second'), b: question('first') }, state) : text(inputResponses),
    )
    const first = await host({ rules: [] })
    const call = first.call('s__book', { from: 'Oslo' }, { caller: 'chat' })
    const ids = await open(first, 2)
    await first.close()
    expect(await call).toMatchObject({ error: { code: 'CANCELLED' } })
    expect(textOf(await call)).toContain('waits in the inbox')

    const second = await host()
    expect(second.inbox.list()).toMatchObject([
      { id: ids[0], waits: false, resumable: true },
      { id: ids[1], waits: false, resumable: true },
    ])
    second.inbox.answer(ids[0] ?? '', seatAnswer('1A'), 'me')
    expect(second.inbox.resumed(ids[0] ?? '')).toBeUndefined()
    expect(server.calls).toHaveLength(1)
    second.inbox.answer(ids[1] ?? '', { action: 'decline' }, 'me')
    const done = await resumed(second, ids[0])
    expect(returned(done)).toEqual({ 7: seatAnswer('1A'), b: { action: 'decline' } })
    const [before, after] = server.calls
    expect(after).toMatchObject({ name: 'book', arguments: { from: 'Oslo' } })
    expect(after?.requestState).toBe(JSON.parse(JSON.stringify(state)))
    expect(Object.keys(after?.inputResponses ?? {})).toEqual(['7', 'b'])
    expect(before?.requestState).toBeUndefined()
    const rows = second.activity()
    const agreed = rows.find((row) => row.kind === 'approval')
    expect(agreed?.outcome).toBe('allowed')
    expect(rows.find((row) => row.id === done.activity)).toMatchObject({ outcome: 'ok', cause: agreed?.id })
    expect(rows.find((row) => row.kind === 'call')).toMatchObject({ outcome: 'suspended' })
    expect(() => second.inbox.answer(ids[0] ?? '', seatAnswer('2B'), 'x')).toThrow('already answered by me')
  })

  it('is resumed after its program was killed', async () => {
    const { store, server, host } = await setup(asksOnce)
    const servers = JSON.stringify({ s: { url: server.url } })
    const other = await program('asking-host.ts', { STORE: store, SERVERS: servers })
    const id = await other.sendLine({ tool: 's__book', args: {} })
    other.child.kill('SIGKILL')
    await once(other.child, 'exit')
    const here = await host()
    expect(here.inbox.get(id)).toMatchObject({ state: 'open', waits: false, resumable: true })
    here.inbox.answer(id, seatAnswer('3C'), 'me')
    expect(returned(await resumed(here, id))).toEqual({ q: seatAnswer('3C') })
    expect(server.calls[1]?.requestState).toBe('the state')
  })

  it('is resumed if it was answered but its program ended before using the answer', async () => {
    const { store, server, host } = await setup(asksOnce)
    const servers = JSON.stringify({ s: { url: server.url } })
    const other = await program('asking-host.ts', { STORE: store, SERVERS: servers })
    const id = await other.sendLine({ tool: 's__book', args: {} })
    other.child.kill('SIGSTOP')
    const here = await host()
    here.inbox.answer(id, seatAnswer('3C'), 'me')
    expect(here.inbox.resumed(id)).toBeUndefined()
    other.child.kill('SIGKILL')
    await once(other.child, 'exit')
    expect(server.calls).toHaveLength(1)
    expect(returned(await resumed(here, id))).toEqual({ q: seatAnswer('3C') })
    expect(server.calls).toHaveLength(2)
  })

  it('may ask again, handled by this host or the next one', async () => {
    const { server, host } = await setup(({ inputResponses }, nth) =>
      nth < 4 ? asksBack({ q: question() }, `state ${nth}`) : text(inputResponses),
    )
    const first = await host()
    first.call('s__book', {}, cli)
    const [one = ''] = await open(first)
    first.inbox.answer(one, seatAnswer('1'), 'a')
    await until(() => server.calls.length === 2, 'the second round')
    const [two = ''] = await open(first)
    await first.close()
    const second = await host()
    second.inbox.answer(two, seatAnswer('2'), 'b')
    await until(() => server.calls.length === 3, 'the third round')
    const [three = ''] = await open(second)
    await second.close()
    const third = await host()
    third.inbox.answer(three, seatAnswer('3'), 'c')
    expect(returned(await resumed(third, three))).toEqual({ q: seatAnswer('3') })
    expect(server.calls.map(({ requestState, inputResponses }) => [requestState, inputResponses])).toEqual([
      [undefined, undefined],
      ['state 1', { q: seatAnswer('1') }],
      ['state 2', { q: seatAnswer('2') }],
      ['state 3', { q: seatAnswer('3') }],
    ])
  })

  it('is lost with a clear error if the server rejects the answer', async () => {
    const { server, host } = await setup((_, nth) =>
      nth === 1
        ? asksBack({ q: question() }, 'old')
        : { code: -32602, message: 'The requestState is expired' },
    )
    const first = await host()
    first.call('s__book', {}, cli)
    const [id = ''] = await open(first)
    await first.close()
    const approval = () => ({ verdict: 'deny' as const, reason: 'once is enough' })
    const second = await host({ surface: person({ elicitation: () => undefined, approval }) })
    second.inbox.answer(id, seatAnswer('1A'), 'me')
    const call = await resumed(second, id)
    expect(call.error).toMatchObject({
      code: -32602,
      message: expect.stringMatching(/no longer accepts the answer: .*the person refused: once is enough/),
    })
    expect(second.inbox.get(id)).toMatchObject({
      state: 'lost',
      reason: expect.stringContaining('The requestState is expired'),
    })
    expect(second.activity({ kind: 'call' }).at(-1)).toMatchObject({ outcome: 'expired' })
    expect(server.calls).toHaveLength(2)
    expect(second.inbox.resumed(id)).toBeDefined()
    expect((await host()).inbox.resumed(id)).toBeUndefined()
  })

  it('is repeated with consent and the answers to equal questions; others are asked, prefilled', async () => {
    const fields = { seat: { type: 'string' as const }, meal: { type: 'string' as const } }
    const longer = {
      message: 'Which meal?',
      requestedSchema: { type: 'object' as const, properties: fields },
    }
    const { server, host } = await setup(({ inputResponses }, nth) => {
      if (nth === 1) return asksBack({ q: question() }, 'old')
      if (nth === 2) return { code: -32602, message: 'The requestState is from before a restart' }
      if (nth === 3) return asksBack({ q: question() }, 'new')
      if (nth === 4) return asksBack({ r: { method: 'elicitation/create', params: longer } }, 'newer')
      return text(inputResponses)
    })
    const first = await host()
    first.call('s__book', { from: 'Oslo' }, cli)
    const [id = ''] = await open(first)
    await first.close()
    const surface = person({
      approval: () => ({ verdict: 'allow' }),
      elicitation: ({ remembered = {} }) => ({ action: 'accept', content: { ...remembered, meal: 'soup' } }),
    })
    const second = await host({ surface })
    second.inbox.answer(id, seatAnswer('1A'), 'me')
    expect(returned(await resumed(second, id))).toEqual({
      r: { action: 'accept', content: { seat: '1A', meal: 'soup' } },
    })
    expect(surface.asked.map(({ kind }) => kind)).toEqual(['approval', 'elicitation'])
    expect(surface.asked[0]).toMatchObject({
      decision: { verdict: 'ask', rule: 'repeat' },
      arguments: { from: 'Oslo' },
    })
    expect(server.calls.map(({ requestState, inputResponses }) => [requestState, inputResponses])).toEqual([
      [undefined, undefined],
      ['old', { q: seatAnswer('1A') }],
      [undefined, undefined],
      ['new', { q: seatAnswer('1A') }],
      ['newer', { r: { action: 'accept', content: { seat: '1A', meal: 'soup' } } }],
    ])
    expect(second.inbox.list()).toEqual([])
  })

  it('is not repeated if a rule now forbids it', async () => {
    const { server, host } = await setup((_, nth) =>
      nth === 1 ? asksBack({ q: question() }, 'old') : { code: -32602, message: 'unknown state' },
    )
    const first = await host()
    first.call('s__book', {}, cli)
    const [id = ''] = await open(first)
    await first.close()
    const second = await host({ rules: [{ id: 'none', verdict: 'deny' }] })
    second.inbox.answer(id, seatAnswer('1A'), 'me')
    expect((await resumed(second, id)).error?.message).toContain('rule "none" forbids it')
    expect(server.calls).toHaveLength(2)
  })

  it("ends with the tool's own error", async () => {
    const { host } = await setup((_, nth) =>
      nth === 1 ? asksBack({ q: question() }, 'x') : { code: -32050, message: 'the shop is closed' },
    )
    const first = await host()
    first.call('s__book', {}, cli)
    const [id = ''] = await open(first)
    await first.close()
    const second = await host()
    second.inbox.answer(id, seatAnswer('1A'), 'me')
    expect((await resumed(second, id)).error).toMatchObject({ code: -32050, message: 'the shop is closed' })
    expect(second.inbox.get(id)?.state).toBe('answered')
  })

  it('is not sent twice: an answer in transit when its program was killed is reported as lost', async () => {
    const { store, server, host } = await setup((_, nth) =>
      nth === 1 ? asksBack({ q: question() }, 'x') : undefined,
    )
    const servers = JSON.stringify({ s: { url: server.url } })
    const other = await program('asking-host.ts', { STORE: store, SERVERS: servers })
    const id = await other.sendLine({ tool: 's__book', args: {} })
    const here = await host()
    here.inbox.answer(id, seatAnswer('3C'), 'me')
    await until(() => server.calls.length === 2, 'the answer is sent')
    other.child.kill('SIGKILL')
    await once(other.child, 'exit')
    expect(here.inbox.resumed(id)).toBeUndefined()
    expect(here.inbox.get(id)).toMatchObject({
      state: 'lost',
      reason: expect.stringContaining('while the answer was on its way, so it is unknown whether it arrived'),
    })
    expect(server.calls).toHaveLength(2)
  })

  it('is retried if a further question of it found no surface', async () => {
    const { server, host } = await setup(({ inputResponses }, nth) =>
      nth === 1 ? asksBack({ r: { method: 'roots/list' }, q: question() }, 'x') : text(inputResponses),
    )
    const roots = [{ uri: 'file:///tmp' }]
    const first = await host({ roots })
    first.call('s__book', {}, cli)
    await open(first, 2)
    const of = (kind: string): string =>
      first.inbox.list().find((item) => item.question.kind === kind)?.id ?? ''
    const [folders, id] = [of('roots'), of('elicitation')]
    first.inbox.answer(folders, { verdict: 'allow' }, 'me')
    await first.close()
    // The folders changed, so that consent was given for other ones than would now be sent.
    const moved = [...roots, { uri: 'file:///usr' }]
    const withoutAnswer = await host({ roots: moved, surface: person({}) })
    withoutAnswer.inbox.answer(id, seatAnswer('1A'), 'me')
    expect(textOf(await resumed(withoutAnswer, id))).toContain('could not be resumed')
    expect(server.calls).toHaveLength(1)
    const withAnswer = await host({ roots: moved, surface: person({ roots: () => ({ verdict: 'allow' }) }) })
    expect(returned(await resumed(withAnswer, id))).toEqual({
      r: { roots: moved },
      q: { action: 'accept', content: { seat: '1A' } },
    })
    expect(server.calls).toHaveLength(2)
  })

  it('is resumed by a host without any surface', async () => {
    const { host } = await setup(asksOnce)
    const first = await host()
    first.call('s__book', {}, cli)
    const [id = ''] = await open(first)
    await first.close()
    const second = await host({ surface: person({}) })
    second.inbox.answer(id, { action: 'decline' }, 'a page far away')
    expect(returned(await resumed(second, id))).toEqual({ q: { action: 'decline' } })
  })

  it('keeps its answer while the server is unreachable, and is resumed later', async () => {
    const { store, server, host } = await setup(asksOnce)
    const first = await host()
    first.call('s__book', {}, cli)
    const [id = ''] = await open(first)
    await first.close()
    // Not started: it has the server, but no connection to it.
    const cut = hostOf({ servers: { s: { url: server.url } }, store, connectTimeoutMs: 200 })
    cut.inbox.answer(id, seatAnswer('1A'), 'me')
    expect((await resumed(cut, id)).error?.code).toBe('CONNECTION_CLOSED')
    expect(server.calls).toHaveLength(1)
    await cut.close()
    const second = await host()
    expect(returned(await resumed(second, id))).toEqual({ q: seatAnswer('1A') })
  })

  it('is not resumed by a host without that exact server, and its question stays open', async () => {
    const { store, host } = await setup(asksOnce)
    const first = await host()
    first.call('s__book', {}, cli)
    const [id = ''] = await open(first)
    await first.close()
    const without = hostOf({ store })
    expect(() => without.inbox.answer(id, seatAnswer('1A'), 'x')).toThrow(/s, which is not configured here/)
    const other = hostOf({ store, servers: { s: { command: 'something-else', disabled: true } } })
    expect(() => other.inbox.answer(id, seatAnswer('1A'), 'x')).toThrow(/s is not the server that asked/)
    expect(without.inbox.get(id)?.state).toBe('open')
  })

  it('is not resumed for a changed tool, and its answer is not sent', async () => {
    const definition = { description: 'Books a seat' }
    const { host, server } = await setup(asksOnce, definition)
    const lazy = { servers: { s: { url: server.url, lazy: true } } }
    const first = await host(lazy)
    first.call('s__book', {}, cli)
    const [id = ''] = await open(first)
    await first.close()
    definition.description = 'Books every seat'
    const second = await host(lazy)
    second.inbox.answer(id, seatAnswer('1A'), 'me')
    expect(textOf(await resumed(second, id))).toContain('its description changed since the person accepted')
    expect(server.calls).toHaveLength(1)
  })

  it('is resumed by one host only, however many get the answer', async () => {
    const { server, host } = await setup(asksOnce)
    const first = await host()
    first.call('s__book', {}, cli)
    const [id = ''] = await open(first)
    await first.close()
    const others = await Promise.all([host(), host(), host()])
    const outcomes = others.map((other) => {
      try {
        other.inbox.answer(id, seatAnswer('1A'), 'x')
        return 'answered'
      } catch {
        return 'refused'
      }
    })
    expect(outcomes.toSorted()).toEqual(['answered', 'refused', 'refused'])
    await Promise.all(others.map((other) => other.inbox.resumed(id)))
    expect(server.calls).toHaveLength(2)
  })
})

describe('suspended calls', () => {
  it('are not stored if they are too large, and the oldest are replaced by the newest', async () => {
    const { server, host } = await setup(({ arguments: args }) =>
      asksBack({ q: question(String(args['n'])) }, args['n'] === 'large' ? 'x'.repeat(1_100_000) : 'x'),
    )
    const first = await host()
    first.call('s__book', { n: 'large' }, cli)
    const [large = ''] = await open(first)
    expect(first.inbox.get(large)).toMatchObject({ state: 'open', resumable: false })
    for (let n = 0; n < 201; n++) first.call('s__book', { n }, cli)
    await until(() => server.calls.length === 202, 'every call', 60_000)
    await open(first, 202)
    const oldest = first.inbox.list()[1]?.id ?? ''
    await first.close()
    const second = await host()
    expect(second.inbox.get(large)?.state).toBe('lost')
    expect(second.inbox.get(oldest)?.state).toBe('open')
    second.call('s__book', { n: 'new' }, cli)
    await until(() => server.calls.length === 203, 'one more call')
    await open(second, 200)
    expect(second.inbox.get(oldest)).toMatchObject({
      state: 'lost',
      reason: 'more than 200 calls waited for an answer',
    })
  }, 120_000)
})

describe('a call that also samples', () => {
  it('is not stored: its questions are lost with its program', async () => {
    const sampling = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 5 } }
    const { host } = await setup(() => asksBack({ q: question(), m: sampling }, 'x'))
    const first = await host({
      models: [scripted('m')],
      surface: person({
        elicitation: () => undefined,
        'sampling-request': () => undefined,
        'sampling-result': () => undefined,
      }),
    })
    first.call('s__book', {}, cli)
    const ids = await open(first, 2)
    await first.close()
    const second = await host()
    for (const id of ids) expect(second.inbox.get(id)).toMatchObject({ state: 'lost', resumable: false })
  })
})
