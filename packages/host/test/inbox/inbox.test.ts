import { once } from 'node:events'
import { statSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openStore } from '../../src/log/store/store.ts'
import type { BrokeredCall, HostOptions } from '../../src/types/index.ts'
import { hostOf, returned, session, started, textOf, until, type Watched } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { statelessServer } from '../fixtures/stateless-server.ts'
import { form, oneOpen, program, seatAnswer, storeFile } from './programs.ts'
import { asksBack, roundsServer } from './rounds-server.ts'

const cli = { caller: 'cli' } as const
const rules = [{ id: 'all', verdict: 'allow' as const }]
const eras = ['session', 'stateless'] as const

/** A face that shows every question and leaves it in the inbox. */
const shelf = () =>
  person({ elicitation: () => undefined, approval: () => undefined, roots: () => undefined })

async function hostIn(era: (typeof eras)[number], options: Partial<HostOptions>): Promise<Watched> {
  if (era === 'session') return started({ servers: { s: session().config }, rules, ...options })
  const server = await statelessServer()
  onTestFinished(() => server.stop())
  return started({ servers: { s: { url: server.url } }, rules, ...options })
}

const ask = (host: Watched, message?: string) => host.call('s__ask', { params: form(message) }, cli)

describe.each(eras)('a question (%s)', (era) => {
  it('that no surface answers stays in the inbox, where it is answered exactly once', async () => {
    const host = await hostIn(era, { surface: shelf() })
    const call = ask(host)
    const id = await oneOpen(host)
    expect(host.inbox.get(id)).toMatchObject({
      id,
      state: 'open',
      waits: true,
      question: { kind: 'elicitation', params: form(), cause: { server: 's', tool: 'ask', caller: 'cli' } },
    })
    host.inbox.answer(id, seatAnswer('12A'), 'the inbox')
    expect(() => host.inbox.answer(id, { action: 'decline' }, 'a late face')).toThrow(
      /already answered by the inbox at \d{4}-/,
    )
    expect(returned(await call)).toMatchObject({ answer: seatAnswer('12A') })
    expect(host.inbox.list()).toEqual([])
    expect(host.inbox.list({ state: 'all', server: 's' })).toMatchObject([
      { id, state: 'answered', waits: false, answer: { value: seatAnswer('12A'), by: 'the inbox' } },
    ])
  })

  it('is answered by another program on the same store, and the waiting call gets the answer', async () => {
    const store = storeFile()
    const host = await hostIn(era, { surface: shelf(), store })
    const call = ask(host)
    const id = await oneOpen(host)
    const other = await program('answerer.ts', { STORE: store })
    expect(await other.sendLine({ id, answer: { action: 'accept', content: { seat: 5 } } })).toContain(
      'does not fit the question',
    )
    expect(await other.sendLine({ id, answer: seatAnswer('12A') })).toBe('answered')
    expect(returned(await call)).toMatchObject({ answer: seatAnswer('12A') })
    expect(() => host.inbox.answer(id, seatAnswer('1B'), 'here')).toThrow(
      'already answered by another program',
    )
    expect(await other.sendLine({ id, answer: seatAnswer('1B') })).toContain(
      'already answered by another program',
    )
    expect(host.events).toContainEqual({
      type: 'question',
      item: expect.objectContaining({ id, state: 'answered' }),
      rows: expect.any(Array),
    })
  })

  it('stays open while surfaces come and go, and is shown on each new one', async () => {
    const first = shelf()
    const host = await hostIn(era, { surface: person({ approval: () => undefined }) })
    const gone = host.attach(first)
    if (era === 'session') await host.reconnect('s')
    const call = ask(host)
    const id = await oneOpen(host)
    gone()
    expect(host.inbox.get(id)?.state).toBe('open')
    const second = shelf()
    host.attach(second)()
    const third = person({ elicitation: () => seatAnswer('9C') })
    host.attach(third)
    expect(returned(await call)).toMatchObject({ answer: seatAnswer('9C') })
    for (const surface of [first, second, third]) expect(surface.asked.map((asked) => asked.id)).toEqual([id])
  })

  it('is never refused by a surface that is detached or that fails', async () => {
    const host = await hostIn(era, { surface: shelf() })
    const away = host.attach(
      person({
        elicitation: (_, signal) =>
          new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      }),
    )
    host.attach(person({ elicitation: () => Promise.reject(new Error('the window broke')) }))
    const call = ask(host)
    const id = await oneOpen(host)
    away()
    await new Promise(setImmediate)
    expect(host.inbox.get(id)?.state).toBe('open')
    host.inbox.answer(id, seatAnswer('2D'), 'the inbox')
    expect(returned(await call)).toMatchObject({ answer: seatAnswer('2D') })
  })
})

describe('a question that no surface can show any more', () => {
  const reason = expect.stringMatching(/^no-surface/)

  const sentThen = async (host: Watched, call: Promise<BrokeredCall>): Promise<void> => {
    expect(JSON.stringify((await call).result)).not.toMatch(/decline|cancel/)
    expect(host.activity({ kind: 'elicitation' })).toMatchObject([{ outcome: 'error', detail: { reason } }])
    expect(host.inbox.list({ state: 'all' })).toMatchObject([{ state: 'withdrawn', reason }])
  }

  it('is an error with the reason no-surface, never a refusal (session)', async () => {
    const host = hostOf({ servers: { s: session().config }, rules })
    const detach = host.attach(shelf())
    await host.start()
    detach()
    await sentThen(host, ask(host))
  })

  it('is an error with the reason no-surface, never a refusal (stateless)', async () => {
    // The request was sent while a surface was attached.
    const server = await roundsServer(() => {
      detach()
      return asksBack({ q: { method: 'elicitation/create', params: form() } })
    })
    const host = hostOf({ servers: { s: { url: server.url } }, rules })
    const detach = host.attach(shelf())
    await host.start()
    await sentThen(host, host.call('s__book', {}, cli))
    expect(server.calls).toHaveLength(1)
  })
})

describe('a question whose call ended', () => {
  it('is withdrawn with its call', async () => {
    const host = await hostIn('stateless', { surface: shelf() })
    const stop = new AbortController()
    const call = host.call('s__ask', { params: form() }, { ...cli, signal: stop.signal })
    const id = await oneOpen(host)
    stop.abort()
    expect((await call).error?.code).toBe('CANCELLED')
    await until(() => host.inbox.get(id)?.state === 'withdrawn', 'withdrawn')
    expect(() => host.inbox.answer(id, seatAnswer('1A'), 'x')).toThrow(
      /is withdrawn: the answer is no longer wanted/,
    )
  })
})

describe('an approval', () => {
  it('waits in the inbox like any other question, and is lost with its program', async () => {
    const store = storeFile()
    const host = await started({ servers: { s: session().config }, surface: shelf(), store })
    const call = host.call('s__echo', { text: 'x' }, { caller: 'chat' })
    const id = await oneOpen(host)
    await host.close()
    expect((await call).result.isError).toBe(true)
    const later = hostOf({ store })
    expect(later.inbox.get(id)).toMatchObject({
      state: 'lost',
      resumable: false,
      reason: 'the program that asked ended',
    })
    expect(() => later.inbox.answer(id, { verdict: 'allow' }, 'x')).toThrow(
      /is lost: the program that asked ended/,
    )
  })

  it('can be answered from another program', async () => {
    const store = storeFile()
    const host = await started({ servers: { s: session().config }, surface: shelf(), store })
    const call = host.call('s__echo', { text: 'x' }, { caller: 'chat' })
    const id = await oneOpen(host)
    hostOf({ store }).inbox.answer(id, { verdict: 'deny', reason: 'not today' }, 'the other window')
    expect(textOf(await call)).toContain('not today')
  })
})

describe('the store of questions', () => {
  it('detects killed programs, and which are still running', async () => {
    const store = storeFile()
    const servers = JSON.stringify({ s: session().config })
    const other = await program('asking-host.ts', { STORE: store, SERVERS: servers })
    await other.sendLine({ tool: 's__ask', args: { params: form() } })
    const host = hostOf({ store })
    const id = await oneOpen(host)
    expect(host.inbox.get(id)).toMatchObject({ state: 'open', waits: true })
    other.child.kill('SIGKILL')
    await once(other.child, 'exit')
    expect(host.inbox.list()).toEqual([])
    expect(host.inbox.get(id)).toMatchObject({ state: 'lost', reason: 'the program that asked ended' })
  })

  it('accepts one of several concurrent answers, from any program', async () => {
    const store = storeFile()
    const host = await hostIn('stateless', { surface: shelf(), store })
    const call = ask(host)
    const id = await oneOpen(host)
    // Both have seen the question open before either of them writes.
    const [one, other] = [openStore(store), openStore(store)]
    expect([one.inbox.get(id)?.state, other.inbox.get(id)?.state]).toEqual(['open', 'open'])
    expect(one.inbox.answer(id, { value: seatAnswer('1A'), by: 'one' })).toBe(true)
    expect(other.inbox.answer(id, { value: seatAnswer('2B'), by: 'other' })).toBe(false)
    expect(other.inbox.withdraw(id, 'too late')).toBe(false)
    expect(returned(await call)).toMatchObject({ answer: seatAnswer('1A') })
    for (const opened of [one, other]) opened.close()
  })

  it('is readable by its owner only', async () => {
    const store = storeFile()
    const host = await hostIn('stateless', { surface: shelf(), store })
    const call = ask(host)
    host.inbox.answer(await oneOpen(host), seatAnswer('1A'), 'x')
    await call
    for (const more of ['', '-wal', '-shm', '.running']) {
      const { mode } = statSync(`${store}${more}`)
      expect([more, mode & 0o077]).toEqual([more, 0])
    }
  })

  it('rejects a question that is too large to store', async () => {
    const host = await started({ servers: { s: session().config }, surface: shelf() })
    const huge = await host.call('s__echo', { text: 'x'.repeat(5_000_000) }, { caller: 'chat' })
    expect(textOf(huge)).toContain('The question has more than 8388608 characters')
    expect(host.inbox.list({ state: 'all' })).toEqual([])
  })
})
