import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { JsonObject } from '@jackfield/sdk'
import { sqliteBackplane } from '@jackfield/sdk/backplane/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openTogether } from '../../../../test/setup/open-together.ts'
import { programFile } from '../../../../test/setup/program-file.ts'
import { modern, sendingTo } from './http-support.ts'

type Kind = 'memory' | 'accepting' | 'refusing' | 'keyless' | 'sqlite'

const program = programFile(new URL('payments-program.ts', import.meta.url))

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'payments-'))
  onTestFinished(() => rmSync(made, { recursive: true }))
  return made
}

class Payments {
  readonly #kind: Kind
  readonly #folder: string
  #child: ChildProcess | undefined
  #port = 0

  constructor(kind: Kind, folder: string) {
    this.#kind = kind
    this.#folder = folder
    onTestFinished(() => this.kill())
  }

  async start(): Promise<this> {
    await this.kill()
    const files = ['marks.db', 'paid.txt'].map((name) => join(this.#folder, name))
    const child = spawn(process.execPath, ['--no-warnings', program, this.#kind, ...files], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.#child = child
    const [{ port }] = await once(child, 'message')
    this.#port = port
    return this
  }

  /** What the running process has warned of. */
  async warnings(): Promise<string[]> {
    const child = this.#child
    if (child === undefined) throw new Error('It does not run')
    child.send('warnings')
    const [{ warnings }] = await once(child, 'message')
    return warnings
  }

  /** Ends it without any warning, as a crash does. */
  async kill(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }

  async ask(order: string): Promise<unknown> {
    const { result } = await this.#send(order, {})
    expect(result).toMatchObject({ resultType: 'input_required' })
    return result?.['requestState']
  }

  /** The answer to a state: the text of the tool, or the code of the error. */
  async answer(order: string, requestState: unknown): Promise<unknown> {
    const inputResponses = { elicitation_1: { action: 'accept', content: { ok: true } } }
    const { result, error } = await this.#send(order, { requestState, inputResponses })
    if (error !== undefined) return error['code']
    return result?.['content']
  }

  get paid(): string[] {
    const file = join(this.#folder, 'paid.txt')
    return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : []
  }

  async #send(order: string, more: JsonObject): Promise<{ result?: JsonObject; error?: JsonObject }> {
    const params = { name: 'pay', arguments: { order }, ...more }
    return (await sendingTo(this.#port)(modern('tools/call', params))).json()
  }
}

const paid = [{ type: 'text', text: 'Paid.' }]
const invalid = -32602

describe('a restarted server with the same keys', () => {
  it('rejects a used response, and asks again, without a backplane', async () => {
    const server = await new Payments('memory', folder()).start()
    const [used, unused] = [await server.ask('one'), await server.ask('two')]
    expect(await server.answer('one', used)).toEqual(paid)
    await server.start()
    expect(await server.answer('one', used)).toBe(invalid)
    expect(await server.answer('two', unused)).toBe(invalid)
    expect(await server.answer('two', await server.ask('two'))).toEqual(paid)
    expect(server.paid).toEqual(['one', 'two'])
    expect((await server.warnings()).filter((warning) => !warning.includes('requestState'))).toEqual([
      expect.stringMatching(/without a backplane, .* is refused/),
    ])
  })

  it('accepts a response once, before or after, with an SQLite backplane', async () => {
    const server = await new Payments('sqlite', folder()).start()
    const [used, unused] = [await server.ask('one'), await server.ask('two')]
    expect(await server.answer('one', used)).toEqual(paid)
    await server.start()
    expect(await server.answer('one', used)).toBe(invalid)
    expect(await server.answer('two', unused)).toEqual(paid)
    await server.start()
    expect(await server.answer('two', unused)).toBe(invalid)
    expect(server.paid).toEqual(['one', 'two'])
    expect((await server.warnings()).filter((warning) => !warning.includes('requestState'))).toEqual([])
  })

  it('accepts a response once in each process with acceptUnknownStates', async () => {
    const server = await new Payments('accepting', folder()).start()
    const state = await server.ask('one')
    expect(await server.answer('one', state)).toEqual(paid)
    expect(await server.answer('one', state)).toBe(invalid)
    await server.start()
    expect(await server.answer('one', state)).toEqual(paid)
    expect(await server.warnings()).toEqual([])
  })

  it.each<[Kind, string[]]>([
    ['memory', ['without a backplane, ']],
    ['keyless', ['without keys and a backplane, ']],
    ['refusing', []],
    ['accepting', []],
    ['sqlite', []],
  ])('warns once, at the first input request, of what is missing: %s', async (kind, missing) => {
    const server = await new Payments(kind, folder()).start()
    expect(await server.warnings()).toEqual([])
    await server.ask('one')
    await server.ask('two')
    expect(await server.warnings()).toEqual(missing.map((what) => expect.stringContaining(what)))
  })
})

describe('processes that share an SQLite backplane', () => {
  it('accept each response once, also when it reaches all of them at the same time', async () => {
    const place = folder()
    const nodes = await Promise.all([0, 1, 2].map(() => new Payments('sqlite', place).start()))
    const [first] = nodes
    const orders = Array.from({ length: 20 }, (_, n) => `order ${n}`)
    for (const order of orders) {
      const state = await first?.ask(order)
      const outcomes = await Promise.all(nodes.map((node) => node.answer(order, state)))
      expect(outcomes.filter((outcome) => outcome === invalid)).toHaveLength(2)
      expect(outcomes).toContainEqual(paid)
    }
    expect(first?.paid).toEqual(orders)
  })
})

describe('an SQLite backplane', () => {
  const bounds = { remembered: 10, rememberedChars: 1_000 }

  it('applies its limits across restarts and processes, and reuses expired or deleted space', async () => {
    const path = join(folder(), 'marks.db')
    const [one, other] = [sqliteBackplane(path, bounds), sqliteBackplane(path, bounds)]
    const full = { code: 'LIMIT', message: expect.stringContaining('limits.remembered') }
    for (const key of ['a', 'b']) expect(await one.add(key, 'v', 60_000, 'ann')).toBe(true)
    await expect(other.add('c', 'v', 60_000, 'ann')).rejects.toMatchObject(full)
    for (let n = 0; n < 8; n++) expect(await other.add(`k${n}`, 'v', 60_000)).toBe(true)
    await expect(one.add('more', 'v', 60_000, 'bob')).rejects.toMatchObject(full)
    one.close()
    other.close()
    const again = sqliteBackplane(path, bounds)
    onTestFinished(() => again.close())
    await expect(again.add('more', 'v', 60_000)).rejects.toMatchObject(full)
    expect(await again.add('a', 'v', 60_000)).toBe(false)
    await again.delete('a')
    expect(await again.add('c', 'v', 1, 'ann')).toBe(true)
    await expect.poll(() => again.add('d', 'v', 60_000, 'ann')).toBe(true)
    await expect(again.set('k0', 'x'.repeat(1_001), 60_000)).rejects.toMatchObject({ code: 'LIMIT' })
    expect(await again.get('k0')).toBe('v')
  })

  it('is readable by its owner only', () => {
    const path = join(folder(), 'marks.db')
    sqliteBackplane(path).close()
    if (process.platform !== 'win32') expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it('needs SQLite of its runtime, and names the Node version that has it', async () => {
    const { href } = new URL('../../src/backplane/sqlite.ts', import.meta.url)
    const store = new URL('../../src/extensions/tasks/sqlite.ts', import.meta.url).href
    const script =
      `const { sqliteBackplane } = await import('${href}'); const { sqliteTaskStore } = await import('${store}')\n` +
      `for (const make of [sqliteBackplane, sqliteTaskStore]) try { make(process.argv[1]) } catch (e) { console.log(e.code, e.message) }`
    const place = join(folder(), 'marks.db')
    const args = ['--no-warnings', '--no-experimental-sqlite', '--input-type=module', '-e', script, place]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const printed = await text(child.stdout)
    expect(printed.trim().split('\n')).toEqual([
      expect.stringMatching(/^CONNECT_FAILED sqliteBackplane needs node:sqlite, .* Node 22\.13 or later$/),
      expect.stringMatching(/^CONNECT_FAILED sqliteTaskStore needs node:sqlite, .* Node 22\.13 or later$/),
    ])
  })

  it('reports what is wrong with an unusable file', () => {
    const place = folder()
    writeFileSync(join(place, 'text'), 'This is no database. '.repeat(100))
    for (const path of [join(place, 'text'), join(place, 'none', 'marks.db'), place]) {
      expect(() => sqliteBackplane(path)).toThrow(
        expect.objectContaining({ code: 'CONNECT_FAILED', message: expect.stringContaining(path) }),
      )
    }
  })
})

it.each([
  ['backplane', 'backplane/sqlite.ts', 'sqliteBackplane'],
  ['task store', 'extensions/tasks/sqlite.ts', 'sqliteTaskStore'],
])(
  'processes that open the new file of a %s at the same moment can all use it',
  {
    timeout: 60_000,
  },
  async (_, path, name) => {
    const source = new URL(`../../src/${path}`, import.meta.url).href
    const reports = await openTogether(
      `import { ${name} } from ${JSON.stringify(source)}
     const use = (file) => ${name}(file).close()`,
    )
    expect(new Set(reports)).toEqual(new Set(['used']))
  },
)
