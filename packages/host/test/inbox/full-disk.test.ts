import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { StoreError } from '../../src/log/store/store-error.ts'
import { returned, session, started, textOf, until, type Watched } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { form, oneOpen, seatAnswer, storeFile } from './programs.ts'
import { asksBack, roundsServer, text } from './rounds-server.ts'

const cli = { caller: 'cli' } as const
const rules = [{ id: 'all', verdict: 'allow' as const }]
/** Larger than any free space on a page, so that it needs another one. */
const long = 'x'.repeat(20_000)
const advice = 'Free some space, or name a file on another disk.'

/** Databases that are opened from here on, to be filled and emptied. While they are full, files take 4 kB of what is written. */
function disk(): { fill(): void; free(): void } {
  const write = fs.writeSync
  let isFull = false
  const part = (fd: number, bytes: Buffer): number => write(fd, isFull ? bytes.subarray(0, 4_096) : bytes)
  const files = vi.spyOn(fs, 'writeSync').mockImplementation(part as typeof write)
  syncBuiltinESMExports()
  onTestFinished(() => {
    files.mockRestore()
    syncBuiltinESMExports()
  })
  const opened = new Set<DatabaseSync>()
  const { exec } = DatabaseSync.prototype
  const spy = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, sql) {
    opened.add(this)
    return exec.call(this, sql)
  })
  onTestFinished(() => spy.mockRestore())
  const limit = (pages: number): void => {
    for (const database of opened)
      if (database.isOpen) exec.call(database, `PRAGMA max_page_count = ${pages}`)
  }
  // SQLite never goes below the pages that there are.
  return {
    fill() {
      isFull = true
      limit(1)
    },
    free() {
      isFull = false
      limit(1_000_000)
    },
  }
}

const warnings = (host: Watched): string[] =>
  host.events.flatMap((event) => (event.type === 'warning' ? [event.message] : []))

/** A call of a server that asks, and its question, which every surface leaves in the inbox. */
async function asked(era: 'session' | 'stateless') {
  const space = disk()
  const surface = person({ elicitation: () => undefined, approval: () => undefined })
  const store = storeFile()
  if (era === 'session') {
    const host = await started({ servers: { s: session().config }, rules, store, surface })
    const call = host.call('s__ask', { params: form() }, cli)
    return { space, store, host, call, calls: [], id: await oneOpen(host) }
  }
  const { url, calls } = await roundsServer(({ inputResponses }, nth) =>
    nth % 2 === 1
      ? asksBack({ q: { method: 'elicitation/create', params: form() } }, 'state')
      : text(inputResponses),
  )
  const host = await started({ servers: { s: { url } }, rules, store, surface })
  const call = host.call('s__book', {}, cli)
  return { space, store, host, call, calls, id: await oneOpen(host) }
}

describe('an open question when the disk becomes full', () => {
  it.each([
    ['session', 'decline'],
    ['session', 'cancel'],
    ['stateless', 'decline'],
    ['stateless', 'cancel'],
  ] as const)('can be refused: the server gets the answer (%s, %s)', async (era, action) => {
    const { space, store, host, call, id } = await asked(era)
    space.fill()
    host.inbox.answer(id, { action, reason: long }, 'me')
    const answer = returned(await call)
    expect(answer).toEqual(era === 'session' ? { answer: { action } } : { q: { action } })
    expect(host.inbox.list()).toEqual([])
    expect(host.inbox.get(id)).toMatchObject({ state: 'answered', answer: { by: 'me' } })
    expect(() => host.inbox.answer(id, seatAnswer('1A'), 'another')).toThrow('already answered by me')
    expect(warnings(host)).toEqual([
      `Your answer was sent, but it cannot be recorded yet: database or disk is full. ${advice}`,
    ])
    space.free()
    const other = (await started({ store })).inbox
    await until(() => other.get(id)?.state === 'answered', 'the answer is recorded once there is space')
  })

  it('of a call that is not suspended can be answered too', async () => {
    const { space, host, call, id } = await asked('session')
    space.fill()
    host.inbox.answer(id, seatAnswer(long), 'me')
    expect(returned(await call)).toEqual({ answer: seatAnswer(long) })
  })

  it('of a suspended call: the answer is kept, and sent once it is recorded, without a restart', async () => {
    const { space, host, call, calls, id } = await asked('stateless')
    space.fill()
    host.inbox.answer(id, seatAnswer(long), 'me')
    expect(host.inbox.get(id)?.state).toBe('open')
    expect(calls).toHaveLength(1)
    expect(warnings(host)).toEqual([
      expect.stringContaining(
        `Your answer is not sent yet, because it cannot be recorded: database or disk is full. ${advice}`,
      ),
    ])
    space.free()
    expect(returned(await call)).toEqual({ q: seatAnswer(long) })
    expect(warnings(host)).toHaveLength(1)
    expect(returned(await nextCall(host))).toEqual({ q: seatAnswer('2B') })
  })

  it('of a suspended call can be declined after an answer that could not be recorded', async () => {
    const { space, host, call, id } = await asked('stateless')
    space.fill()
    host.inbox.answer(id, seatAnswer(long), 'me')
    host.inbox.answer(id, { action: 'decline', reason: long }, 'me')
    expect(returned(await call)).toEqual({ q: { action: 'decline' } })
  })
})

/** One more call, whose question is answered. */
async function nextCall(host: Watched) {
  const call = host.call('s__book', {}, cli)
  host.inbox.answer(await oneOpen(host), seatAnswer('2B'), 'me')
  return await call
}

describe('on a full disk', () => {
  it('no call is made, not even an allowed one, and calls work again once there is space', async () => {
    const space = disk()
    const { config, ran } = session()
    const allow = { verdict: 'allow' as const, arguments: { text: long } }
    const surface = person({ approval: () => undefined })
    const host = await started({ servers: { s: config }, rules: [], store: storeFile(), surface })
    const call = host.call('s__echo', { text: 'one' }, cli)
    const id = await oneOpen(host)
    space.fill()
    const refused = `Stopped before "the answer", because it cannot be recorded: database or disk is full. ${advice}`
    expect(() => host.inbox.answer(id, allow, 'me')).toThrow(StoreError)
    expect(() => host.inbox.answer(id, allow, 'me')).toThrow(refused)
    host.attach(person({ approval: () => allow }))
    await until(() => warnings(host).includes(refused), 'the person is warned')
    await expect(host.call('s__echo', { text: long }, cli)).rejects.toThrow(advice)
    expect(ran()).toEqual([])
    space.free()
    host.inbox.answer(id, allow, 'me')
    expect((await call).denied).toBe(false)
    expect(ran()).toEqual([['echo', { text: long }]])
  })

  it('a call is rejected with the reason if the one surface allows it', async () => {
    const space = disk()
    const { config, ran } = session()
    const surface = person({
      approval: () => {
        space.fill()
        return { verdict: 'allow', arguments: { text: long } }
      },
    })
    const host = await started({ servers: { s: config }, rules: [], store: storeFile(), surface })
    const call = await host.call('s__echo', { text: 'one' }, cli)
    expect(call.denied).toBe(true)
    expect(textOf(call)).toContain(`it cannot be recorded: database or disk is full. ${advice}`)
    expect(ran()).toEqual([])
  })

  it('a question that cannot be recorded is rejected, and the user is warned', async () => {
    const space = disk()
    const { url } = await roundsServer(({ inputResponses }) =>
      inputResponses === undefined
        ? asksBack({ q: { method: 'elicitation/create', params: form(long) } })
        : text(inputResponses),
    )
    const surface = person({ elicitation: () => seatAnswer('1A') })
    const host = await started({ servers: { s: { url } }, rules, store: storeFile(), surface })
    space.fill()
    expect((await host.call('s__book', {}, cli)).result.isError).toBe(true)
    expect(warnings(host)).toEqual([
      `A question of s was refused. Stopped before "s asks for input", because it cannot be recorded: no space left on device. ${advice}`,
    ])
    space.free()
    expect(returned(await host.call('s__book', {}, cli))).toEqual({ q: seatAnswer('1A') })
  })

  it('a finished call that could not be removed from the store is removed with the next one', async () => {
    const { store, host, call, id } = await asked('stateless')
    const other = new DatabaseSync(store)
    onTestFinished(() => other.close())
    other.exec(
      "CREATE TRIGGER full BEFORE DELETE ON parked_call BEGIN SELECT RAISE(ABORT, 'disk is full'); END",
    )
    host.inbox.answer(id, seatAnswer('1A'), 'me')
    expect(returned(await call)).toEqual({ q: seatAnswer('1A') })
    const parked = () => other.prepare('SELECT call FROM parked_call').all().length
    expect(parked()).toBe(1)
    other.exec('DROP TRIGGER full')
    await nextCall(host)
    expect(parked()).toBe(0)
  })
})
