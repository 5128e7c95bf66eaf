import { defineServer, ToolError, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { createConversation } from '../../src/models/agent/index.ts'
import type { CodeRun, HostOptions } from '../../src/types/index.ts'
import { scriptedModel, textReply, uses } from '../agent/host.ts'
import { started, textOf, until, type Watched } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'

const allow = { id: 'all', verdict: 'allow' as const }
const dot = 'iVBORw0KGgo='

interface Shop {
  host: Watched
  /** Orders that went through, as the server saw them. */
  sold: number[]
  /** Lets calls of `wait` end. */
  go: () => void
  waiting: () => number
}

async function shop(options: Partial<HostOptions> = {}): Promise<Shop> {
  const sold: number[] = []
  const gate = Promise.withResolvers<void>()
  let waiting = 0
  const server = defineServer({
    name: 'shop',
    version: '1.0.0',
    tools: {
      sell: tool({
        description: 'Sells teapots. */ globalThis.broken = true /*',
        input: z.object({ count: z.number().describe('how many'), gift: z.boolean().optional() }),
        output: z.object({ sold: z.number() }),
        run({ count }) {
          sold.push(count)
          return { sold: count }
        },
      }),
      list: tool({ description: 'Lists', run: () => JSON.stringify([{ id: 1 }, { id: 2 }]) }),
      'draw-pot': tool({
        description: 'Draws',
        run: () => [
          { type: 'text', text: 'A pot' },
          { type: 'image', data: dot, mimeType: 'image/png' },
        ],
      }),
      fail: tool({
        description: 'Fails',
        run() {
          throw new ToolError('out of teapots')
        },
      }),
      ask: tool({
        description: 'Asks',
        async run(_, ctx) {
          const sure = await ctx.elicit({ message: 'Sure?', schema: z.object({ ok: z.boolean() }) })
          return sure.action
        },
      }),
      wait: tool({
        description: 'Waits',
        async run() {
          waiting += 1
          await gate.promise
          return 'waited'
        },
      }),
    },
  })
  const listener = await serveHttp(server, { keys: ['k'.repeat(32)] }).listen()
  onTestFinished(() => listener.close())
  const host = await started({ servers: { shop: { url: listener.url } }, rules: [allow], ...options })
  return { host, sold, go: gate.resolve, waiting: () => waiting }
}

/** From here on the timers of this thread are fake; the program's own thread has real time. */
function virtualTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
}

/** Waits in real time, also where timers are virtual. */
async function happens(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve))
}

const outputOf = (run: CodeRun): string => textOf({ ...never, result: run.result })
const never = { denied: false, decision: { verdict: 'allow', rule: '' }, activity: 0 } as const

describe('a program', () => {
  test('calls tools, processes their results, and returns a value', async () => {
    const { host, sold } = await shop()
    const run = await host.code.run(`
      const { data } = await servers.shop.list()
      let total: number = 0
      for (const { id } of data as { id: number }[]) {
        const result = await servers.shop.sell({ count: id * 10 })
        total += result.data.sold
      }
      console.log('sold', { total })
      return { total }`)
    expect(run).toMatchObject({ outcome: 'ok', value: { total: 30 }, logs: ['sold {"total":30}'] })
    expect(run.calls.map(({ tool, outcome }) => `${tool} ${outcome}`)).toEqual([
      'list ok',
      'sell ok',
      'sell ok',
    ])
    expect(sold).toEqual([10, 20])
    expect(outputOf(run)).toBe('Returned:\n{"total":30}\n\nLogged:\nsold {"total":30}')
  })

  test('has no access outside its engine', async () => {
    const { host } = await shop()
    const names =
      'fetch process require Buffer WebAssembly setTimeout Worker std os fs navigator XMLHttpRequest module'
    const { value } = await host.code.run(
      `return '${names}'.split(' ').filter((name) => typeof globalThis[name] !== 'undefined')`,
    )
    expect(value).toEqual([])
    for (const [program, error] of [
      ["return import('node:fs')", 'could not load module'],
      ["import fs from 'node:fs'", 'SyntaxError'],
      ["return this.constructor.constructor('return process')()", ''],
      ["return servers.constructor.constructor('return process')()", ''],
      ["return (await servers.shop.list()).constructor.constructor('return process')()", 'process'],
    ] as const) {
      const run = await host.code.run(program)
      expect(run.outcome).toBe('error')
      expect(run.error).toContain(error)
    }
  })

  test('is not affected by server texts in its declarations', async () => {
    const { host } = await shop()
    const types = host.code.types()
    expect(types).toContain('/** Sells teapots. *\\/ globalThis.broken = true /* */')
    expect((await host.code.run('return typeof broken')).value).toBe('undefined')
  })

  test('gets errors for a failed tool, a refused call and a wrong name, and continues', async () => {
    const deny = { id: 'no selling', verdict: 'deny' as const, tool: 'sell' }
    const { host, sold } = await shop({ rules: [allow, deny] })
    const run = await host.code.run(`
      const told = []
      for (const call of [
        () => servers.shop.fail(),
        () => servers.shop.sell({ count: 1 }),
        () => servers.shop.nothing(),
        () => servers.bank.pay(),
        () => servers.shop.list('all'),
      ]) {
        try { await call() } catch (error) { told.push([error.message, error.denied]) }
      }
      const { data } = await servers.shop.list()
      return { told, after: data.length }`)
    expect(run.outcome).toBe('ok')
    expect(run.value).toEqual({
      told: [
        ['out of teapots', false],
        [expect.stringContaining('rule "no selling" forbids it'), true],
        [expect.stringContaining('shop has no tool "nothing". It has: sell, list'), null],
        ['There is no server "bank". There are: shop', null],
        ['list of shop takes one object with named arguments', null],
      ],
      after: 2,
    })
    expect(run.calls.map(({ outcome }) => outcome)).toEqual(['failed', 'denied', 'ok'])
    expect(sold).toEqual([])
  })

  test('a refusal does not stop other calls', async () => {
    const deny = { id: 'no failing', verdict: 'deny' as const, tool: 'fail' }
    const { host, sold } = await shop({ rules: [allow, deny] })
    const run = await host.code.run(
      'await Promise.all([1, 2, 3].map((count) => count === 2 ? servers.shop.fail() : servers.shop.sell({ count })))',
    )
    expect(run.outcome).toBe('error')
    expect(sold.toSorted()).toEqual([1, 3])
    expect(run.calls.map(({ tool, outcome }) => `${tool} ${outcome}`)).toEqual([
      'sell ok',
      'fail denied',
      'sell ok',
    ])
    expect(outputOf(run)).toContain('It had made 3 calls; what is done stays done:\n1. sell of shop: done')
  })

  test('shows images and texts unchanged', async () => {
    const { host } = await shop()
    const run = await host.code.run(`
      const result = await servers.shop['draw-pot']()
      show('Look:', result)
      return result.content.map(({ type, mimeType, data }) => [type, mimeType, data])`)
    expect(run.result.content).toEqual([
      { type: 'text', text: 'Returned:\n[["text",null,null],["image","image/png",null]]' },
      { type: 'text', text: 'Look:' },
      { type: 'text', text: 'A pot' },
      { type: 'image', data: dot, mimeType: 'image/png' },
    ])
  })

  test('reports the position of an error', async () => {
    const { host } = await shop()
    expect((await host.code.run('\n\nnothing.at.all')).error).toMatch(
      /ReferenceError: .*nothing.*\n.*program\.js:3/,
    )
    expect((await host.code.run('let a = (')).error).toContain('SyntaxError')
    expect((await host.code.run('return 1 + nothing', { file: 'sum.ts' })).error).toContain('(sum.ts:1:12)')
    expect((await host.code.run('const x: number = ;', { file: 'sum.ts' })).error).toBe(
      'SyntaxError: Expression expected\n    at sum.ts:1:19',
    )
    expect((await host.code.run('const x = 1\nexport default x')).error).toBe(
      'SyntaxError: A program has no import and no export. It is the body of an async function: call tools with servers.<server>.<tool>({ … }), and return the result\n    at program.js:2',
    )
    expect((await host.code.run('throw "words"')).error).toBe('It threw words')
    expect((await host.code.run('await new Promise(() => {})')).error).toContain(
      'waits for something that never comes',
    )
    await expect(host.code.run('x'.repeat(200_001))).rejects.toThrow('200000 is the most')
  })

  test('has only the tools that are on, also in its declarations', async () => {
    const { host, sold } = await shop()
    const isOn = ({ tool }: { tool: { name: string } }): boolean => tool.name !== 'sell'
    const program = 'try { await servers.shop.sell({ count: 1 }) } catch { return await servers.shop.list() }'
    const run = await host.code.run(program, { isOn })
    expect(run.outcome).toBe('ok')
    expect(sold).toEqual([])
    expect(run.calls.map(({ tool }) => tool)).toContain('list')
    expect(host.code.types({ isOn })).not.toContain('sell')
    expect(host.code.types()).toContain('sell')
  })

  test('sees only the selected servers', async () => {
    const { host } = await shop()
    const run = await host.code.run('return servers.shop', { servers: ['bank'] })
    expect(run.error).toContain('There is no server "shop"')
  })
})

describe('limits', () => {
  test.each([
    ['an endless loop', 'for (;;) {}'],
    ['one that catches everything', 'for (;;) { try { for (;;) {} } catch {} finally { continue } }'],
    ['endless promises', 'for (;;) await null'],
    ['a slow regular expression', '/(a+)+$/.test("a".repeat(60) + "b")'],
    ['one outside of the function', '}); for (;;) {} (async () => {'],
    ['endless logging', 'for (;;) console.log("x".repeat(1_000))'],
  ])('end %s', async (_what, program) => {
    const { host } = await shop()
    const run = await host.code.run(program, { limits: { cpuMs: 200, outputCharacters: 1_000 } })
    expect(run).toMatchObject({ outcome: 'limit', error: 'It computed for more than 200 ms.' })
    expect(run.logs.join('').length).toBeLessThan(1_100)
    expect(run.result.isError).toBe(true)
  })

  test.each([
    ['arrays', 'const all = []; for (;;) all.push(new Uint8Array(1_000_000))'],
    ['objects', 'const all = []; for (;;) all.push({ a: [1, 2, 3] })'],
    ['texts', 'const all = []; for (;;) all.push("x".repeat(100_000) + all.length)'],
  ])('end one that fills its memory with %s', async (_what, program) => {
    const { host } = await shop()
    const run = await host.code.run(program, { limits: { memoryBytes: 32 * 1024 * 1024 } })
    expect(run).toMatchObject({ outcome: 'limit', error: expect.stringContaining('bytes of memory') })
  })

  test('allow no more calls than configured', async () => {
    const { host, sold } = await shop()
    const run = await host.code.run('for (let count = 1; ; count++) await servers.shop.sell({ count })', {
      limits: { calls: 3 },
    })
    expect(run).toMatchObject({ outcome: 'error', error: expect.stringContaining('may make 3 calls') })
    expect(sold).toEqual([1, 2, 3])
  })

  test('let a program catch the refusal of a call, without allowing any', async () => {
    const { host, sold } = await shop()
    const run = await host.code.run(
      'for (let count = 1; count <= 500; count++) await servers.shop.sell({ count }).catch(() => {})',
    )
    expect(run.outcome).toBe('ok')
    expect(sold).toHaveLength(200)
  })

  test('count the calls of programs among those of one turn of a conversation', async () => {
    const { host, sold } = await shop()
    const many = uses('', [
      'run_code',
      { program: 'for (let count = 1; ; count++) await servers.shop.sell({ count })' },
    ])
    const model = scriptedModel(many)
    const turn = await createConversation({ host, model, codeMode: true, maxCalls: 30 }).say('Go')
    expect(turn).toMatchObject({ stopReason: 'maxCalls', callsNotRun: 1 })
    // The calls of run_code itself count too.
    expect(sold).toHaveLength(29)
  })

  test('cut the returned value, with a note', async () => {
    const { host } = await shop()
    const run = await host.code.run('return "x".repeat(5_000)', { limits: { outputCharacters: 1_000 } })
    expect(run.outcome).toBe('ok')
    expect(run).not.toHaveProperty('value')
    expect(outputOf(run)).toContain('[cut: 4002 of 5002 characters left out]')
  })

  test('on time name completed calls and calls with unknown outcome', async () => {
    const { host, sold, waiting } = await shop()
    virtualTime()
    const running = host.code.run('await servers.shop.sell({ count: 1 }); await servers.shop.wait()', {
      limits: { totalMs: 5_000 },
    })
    await happens(() => waiting() === 1)
    vi.advanceTimersByTime(5_000)
    const run = await running
    expect(run).toMatchObject({ outcome: 'limit', error: expect.stringContaining('more than 5000 ms') })
    expect(sold).toEqual([1])
    expect(run.calls.map(({ outcome }) => outcome)).toEqual(['ok', 'unknown'])
    expect(outputOf(run)).toContain('2. wait of shop: no answer came; it may have had its effect')
  })

  test('do not count the time a user takes to answer', async () => {
    const thinking = Promise.withResolvers<void>()
    const surface = person({
      approval: async () => {
        await thinking.promise
        return { verdict: 'allow' }
      },
    })
    const ask = { id: 'ask', verdict: 'ask' as const, tool: 'list' }
    const { host, waiting } = await shop({ surface, rules: [ask, allow] })
    virtualTime()
    const program = 'await servers.shop.list(); await servers.shop.wait()'
    const running = host.code.run(program, { limits: { totalMs: 5_000 } })
    await happens(() => surface.asked.length === 1)
    vi.advanceTimersByTime(20_000)
    thinking.resolve()
    await happens(() => waiting() === 1)
    vi.advanceTimersByTime(4_900)
    expect(host.activity({ kind: 'code' })).toMatchObject([{ outcome: 'running' }])
    vi.advanceTimersByTime(200)
    expect(await running).toMatchObject({
      outcome: 'limit',
      calls: [
        { tool: 'list', outcome: 'ok' },
        { tool: 'wait', outcome: 'unknown' },
      ],
    })
    expect(surface.asked).toMatchObject([{ kind: 'approval', cause: { tool: 'list', caller: 'code' } }])
  })

  test('limit concurrent programs', async () => {
    const { host, go } = await shop()
    const runs = Array.from({ length: 8 }, () => host.code.run('return (await servers.shop.wait()).text'))
    await expect(host.code.run('return 1')).rejects.toThrow('8 programs are running')
    go()
    const done = await Promise.all(runs)
    expect(done.map(({ value }) => value)).toEqual(Array(8).fill('waited'))
    expect((await host.code.run('return 1')).value).toBe(1)
  })
})

describe('stopping', () => {
  test('a signal cancels the program and its running calls', async () => {
    const { host, waiting } = await shop()
    const stop = new AbortController()
    const running = host.code.run('await servers.shop.wait(); await servers.shop.list()', {
      signal: stop.signal,
    })
    await until(() => waiting() === 1, 'the call is under way')
    stop.abort()
    const run = await running
    expect(run).toMatchObject({ outcome: 'cancelled', calls: [{ tool: 'wait', outcome: 'unknown' }] })
    expect(host.activity({ kind: 'code' })).toMatchObject([{ outcome: 'cancelled' }])
  })

  test('closing the host ends it', async () => {
    const { host } = await shop()
    const running = host.code.run('for (;;) {}')
    await until(() => host.activity({ kind: 'code' }).length === 1, 'it runs')
    await host.close()
    expect(await running).toMatchObject({ outcome: 'cancelled' })
  })

  test('calls that were not awaited are completed', async () => {
    const { host, go, waiting } = await shop()
    const running = host.code.run('servers.shop.wait(); return 1')
    await until(() => waiting() === 1, 'the call is under way')
    go()
    expect(await running).toMatchObject({ value: 1, calls: [{ tool: 'wait', outcome: 'ok' }] })
  })
})

describe('the activity log', () => {
  test('has the program as a row, and its calls as usual', async () => {
    const deny = { id: 'no failing', verdict: 'deny' as const, tool: 'fail' }
    const { host } = await shop({ rules: [allow, deny] })
    for (const [name, args] of [
      ['sell', { count: 3 }],
      ['fail', {}],
    ] as const) {
      await host.call(`shop__${name}`, args, { caller: 'code', conversation: 'c1' })
    }
    const direct = host.activity({ kind: 'call' })
    const program =
      'await servers.shop.sell({ count: 3 }); await servers.shop.fail({}).catch(() => 0); return 1'
    const run = await host.code.run(program, { conversation: 'c1' })
    const [row] = host.activity({ kind: 'code' })
    expect(row).toMatchObject({
      id: run.activity,
      server: null,
      outcome: 'ok',
      detail: { program, value: 1, conversation: 'c1', calls: [{ tool: 'sell' }, { outcome: 'denied' }] },
    })
    const within = host.activity({ kind: 'call' }).filter(({ cause }) => cause === run.activity)
    expect(run.calls.map(({ activity }) => activity)).toEqual(within.map(({ id }) => id))
    const bare = (rows: typeof within): unknown[] =>
      rows.map(({ kind, server, summary, outcome, detail }) => ({ kind, server, summary, outcome, detail }))
    expect(bare(within)).toEqual(bare(direct))
  })

  test('shows which model reply caused it', async () => {
    const { host, sold } = await shop()
    const model = scriptedModel(
      uses('', ['describe_api', { server: 'shop', tools: ['sell'] }]),
      uses('', [
        'run_code',
        { program: "show(await servers.shop['draw-pot']()); await servers.shop.sell({ count: 2 })" },
      ]),
      textReply('ok'),
    )
    await createConversation({ host, model, codeMode: true, id: 'c1' }).say('Go')
    const lastMessage = JSON.stringify(model.requests[1]?.messages.at(-1))
    expect(lastMessage).toContain(
      'sell(args: {\\n      /** how many */\\n      count: number\\n      gift?: boolean\\n    })',
    )
    expect(lastMessage).not.toContain('draw-pot')
    expect(JSON.stringify(model.requests[2]?.messages.at(-1))).toContain(
      `"data":"${dot}","mimeType":"image/png"`,
    )
    expect(sold).toEqual([2])
    const [row] = host.activity({ kind: 'code' })
    expect(host.activity({ kind: 'model' })[1]?.id).toBe(row?.cause)
    expect(row?.detail).toMatchObject({ conversation: 'c1' })
  })
})
