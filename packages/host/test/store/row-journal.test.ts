import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../src/log/store/store.ts'

let folder: string
const stores: Store[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jackfield-journal-'))
})
afterEach(async () => {
  for (const store of stores.splice(0)) store.close()
  await rm(folder, { recursive: true })
})

/** A pid that no process has. */
const noPid = 2 ** 30

function open(name = 'store.db'): Store {
  const store = openStore(join(folder, name))
  stores.push(store)
  return store
}

const call = (tool: string) => ({
  kind: 'call' as const,
  server: 's',
  summary: `s: ${tool}`,
  cause: null,
  detail: { tool, text: 'tab\t, line\nand ü' },
})
const ok = { outcome: 'ok', durationMs: 3, detail: { result: 1 } }

/** What is in the journals of a store, as lines. */
function linesOf(name: string): string[] {
  const running = join(folder, `${name}.running`)
  const files = existsSync(running) ? readdirSync(running).filter((file) => file.endsWith('.rows')) : []
  return files.flatMap((file) => readFileSync(join(running, file), 'utf8').split('\n').slice(0, -1))
}

/** The lines of the calls a, which ended, and b and c, which did not. */
function someLines(): string[] {
  const { activity } = open('first.db')
  const a = activity.begin(call('a'))
  for (const tool of ['b', 'c']) activity.begin(call(tool))
  activity.end(a, ok)
  return linesOf('first.db')
}

/** The path of a journal that a process of a new store left. */
function writeJournal(text: string, pid = noPid): string {
  const running = join(folder, 'store.db.running')
  mkdirSync(running, { recursive: true })
  const file = join(running, `${pid}-x.rows`)
  writeFileSync(file, text)
  return file
}

function rows({ activity }: Store): string[] {
  return activity.list().map(({ detail, outcome }) => `${String(detail['tool'])} ${outcome}`)
}

describe('the journal of a store', () => {
  it('has a row before it counts as recorded, and rows of one turn in their order', async () => {
    const { activity } = open()
    const ids = await Promise.all(['a', 'b', 'c'].map((tool) => activity.beginSoon(call(tool))))
    const [a = 0, b = 0] = ids
    expect(linesOf('store.db').map((line) => line.slice(0, 7))).toEqual(ids.map((id) => `{"id":${id}`))
    await Promise.all([activity.endSoon(a, ok), activity.endSoon(b, ok)])
    expect(linesOf('store.db')).toHaveLength(5)
    const other = open()
    expect(rows(other)).toEqual(['a ok', 'b ok', 'c running'])
    expect(other.activity.verify()).toMatchObject({ sound: true, checked: 5 })
  })

  it('that cannot be written records none of the rows of the turn', async () => {
    const store = open()
    const running = join(folder, 'store.db.running')
    const [first] = await Promise.all([store.activity.beginSoon(call('first'))])
    store.activity.list()
    rmSync(running, { recursive: true, force: true })
    writeFileSync(running, '')
    const begun = await Promise.allSettled(['a', 'b'].map((tool) => store.activity.beginSoon(call(tool))))
    expect(begun.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(() => store.activity.begin(call('c'))).toThrow()
    await expect(store.activity.endSoon(first ?? 0, ok)).rejects.toThrow()
    rmSync(running)
    await store.activity.beginSoon(call('d'))
    expect(rows(store)).toEqual(['first running', 'd running'])
    expect(store.activity.verify().sound).toBe(true)
  })

  it('is moved to the log once, in order, and then empty', () => {
    const [one, two] = [open(), open()]
    one.activity.end(one.activity.begin(call('a')), ok)
    two.activity.begin(call('b'))
    for (let time = 0; time < 2; time++)
      for (const store of [two, one]) expect(rows(store)).toEqual(['a ok', 'b running'])
    expect(linesOf('store.db')).toEqual([])
    expect(one.activity.verify()).toMatchObject({ sound: true, checked: 3 })
  })

  it('of another store is left alone', () => {
    someLines()
    expect(rows(open())).toEqual([])
    expect(linesOf('first.db')).toHaveLength(4)
  })
})

describe('the journal of a process that was killed', () => {
  it('is moved whole, with the text of each row', () => {
    const lines = someLines()
    writeJournal(`${lines.join('\n')}\n`)
    const store = open()
    expect(rows(store)).toEqual(['a ok', 'b running', 'c running'])
    const [a] = store.activity.list()
    expect(a).toMatchObject({ durationMs: 3, detail: { ...call('a').detail, result: 1 } })
    expect(store.activity.verify()).toMatchObject({ sound: true, checked: 4 })
  })

  it.each([
    ['a last line that was not written to its end', (lines: string[]) => lines.join('\n')],
    ['a last line of one character', (lines: string[]) => `${lines.slice(0, -1).join('\n')}\n{`],
    ['a damaged line', ([a, b, c]: string[]) => `${[a, b, c, '\0\0\0'].join('\n')}\n`],
    ['a line that is no row', ([a, b, c]: string[]) => `${[a, '12\t{}', b, 'null', c].join('\n')}\n`],
  ])('keeps the other rows with %s', (_, textOf) => {
    writeJournal(textOf(someLines()))
    const store = open()
    expect(rows(store)).toEqual(['a running', 'b running', 'c running'])
    expect(store.activity.verify().sound).toBe(true)
  })

  it('is deleted after a minute, once its rows are in the log', () => {
    const text = `${someLines().join('\n')}\n`
    const old = new Date(Date.now() - 3_600_000)
    const [dead, alive] = [writeJournal(text), writeJournal(text, process.pid)]
    const store = open()
    expect(existsSync(dead)).toBe(true)
    for (const file of [dead, alive]) utimesSync(file, old, old)
    expect(rows(store)).toEqual(['a ok', 'b running', 'c running'])
    expect([existsSync(dead), existsSync(alive)]).toEqual([false, true])
    expect(rows(store)).toEqual(['a ok', 'b running', 'c running'])
  })
})
