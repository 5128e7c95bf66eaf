import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Caller } from '../../src/types/index.ts'
import { folder, returned, rough, session, started, textOf, until } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { rule } from './rules.ts'

const yes = person({ approval: () => ({ verdict: 'allow' }) })
const cli = { caller: 'cli' } as const

describe('a call', () => {
  it('runs at once if a rule allows it', async () => {
    const { config, ran } = session()
    const surface = person({ approval: () => ({ verdict: 'deny' }) })
    const host = await started({
      servers: { s: config },
      surface,
      rules: [rule('allow', { server: 's', tool: 'echo' })],
    })
    const call = await host.call('s__echo', { text: 'hi', more: [1, null] }, cli)
    expect(returned(call)).toEqual({ text: 'hi', more: [1, null] })
    expect(call).toMatchObject({ denied: false, decision: { verdict: 'allow', rule: 'allow rule' } })
    expect(call).not.toHaveProperty('edited')
    expect(surface.asked).toEqual([])
    expect(ran()).toEqual([['echo', { text: 'hi', more: [1, null] }]])
  })

  it('asks the user with all details, and runs after approval', async () => {
    const { config } = session()
    const surface = person({ approval: () => ({ verdict: 'allow' }) })
    const host = await started({ servers: { s: config }, surface })
    const call = await host.call('s__echo', { text: 'hi' }, { caller: 'chat' })
    expect(returned(call)).toEqual({ text: 'hi' })
    expect(call.decision).toEqual({ verdict: 'ask', rule: 'default', author: 'Jackfield' })
    expect(surface.asked).toMatchObject([
      {
        kind: 'approval',
        arguments: { text: 'hi' },
        cause: { server: 's', tool: 'echo', caller: 'chat' },
        tool: {
          name: 's__echo',
          server: 's',
          tool: { name: 'echo', description: 'Gives back its arguments' },
        },
        decision: { verdict: 'ask', rule: 'default' },
        remember: ['conversation', 'always'],
        likeness: [{ label: 'exactly these arguments' }, { label: 'any arguments' }],
        labels: [],
        findings: [],
      },
    ])
  })

  it('does not reach the server after a refusal, and the model gets the reason', async () => {
    const { config, ran } = session()
    const surface = person({ approval: () => ({ verdict: 'deny', reason: 'not on a Friday' }) })
    const host = await started({ servers: { s: config }, surface })
    const call = await host.call('s__echo', { text: 'hi' }, cli)
    expect(call).toMatchObject({ denied: true, result: { isError: true } })
    expect(textOf(call)).toContain('the person refused: not on a Friday')
    expect(ran()).toEqual([])
  })

  it('with arguments that do not match the input schema is rejected before the user is asked', async () => {
    const { config, ran } = session()
    const surface = person({ approval: () => ({ verdict: 'allow' }) })
    const host = await started({ servers: { s: config }, surface })
    const call = await host.call('s__echo', { text: 5 }, { caller: 'chat' })
    expect(call).toMatchObject({ denied: false, result: { isError: true } })
    expect(textOf(call)).toMatch(/do not match its input schema: .*text must be.* Call it again/)
    expect(surface.asked).toEqual([])
    expect(ran()).toEqual([])
    expect(host.activity({ kind: 'call' })).toMatchObject([{ outcome: 'error' }])
    expect(host.activity({ kind: 'approval' })).toEqual([])
  })

  it('does not reach the server if a rule denies it, without a question', async () => {
    const { config, ran } = session()
    const surface = person({ approval: () => ({ verdict: 'allow' }) })
    const host = await started({
      servers: { s: config },
      surface,
      rules: [rule('allow'), rule('deny', { tool: 'e*' })],
    })
    const call = await host.call('s__echo', { text: 'hi' }, cli)
    expect(call).toMatchObject({ denied: true, decision: { verdict: 'deny', rule: 'deny rule' } })
    expect(textOf(call)).toContain('rule "deny rule" forbids it')
    expect(surface.asked).toEqual([])
    expect(ran()).toEqual([])
  })

  it('typed by the user is not asked about, and still denied by a rule', async () => {
    const { config, ran } = session()
    const surface = person({ approval: () => ({ verdict: 'deny' }) })
    const host = await started({
      servers: { s: config },
      surface,
      rules: [rule('ask', { tool: 'look' }), rule('deny', { tool: 'pid' })],
    })
    const typed = { ...cli, typed: true }
    expect(await host.call('s__echo', { text: 'hi' }, typed)).toMatchObject({
      denied: false,
      decision: { verdict: 'allow', rule: 'typed' },
    })
    expect((await host.call('s__look', {}, typed)).decision).toMatchObject({
      verdict: 'allow',
      rule: 'typed',
    })
    expect(await host.call('s__pid', {}, typed)).toMatchObject({
      denied: true,
      decision: { verdict: 'deny', rule: 'deny rule' },
    })
    expect(surface.asked).toEqual([])
    expect(ran().map(([tool]) => tool)).toEqual(['echo', 'look'])
    expect(host.activity({ kind: 'call' }).map((row) => row.outcome)).toEqual(['ok', 'ok', 'denied'])
  })

  it('that ends with a protocol error is distinct from one whose tool failed', async () => {
    const host = await started({
      servers: { s: session().config, r: rough('call-fails') },
      rules: [rule('allow')],
    })
    const failed = await host.call('s__fail', {}, cli)
    expect(failed.result.isError).toBe(true)
    expect(failed).not.toHaveProperty('error')
    const refused = await host.call('r__once', {}, cli)
    expect(refused).toMatchObject({
      denied: false,
      error: { code: -32050, message: 'the shop is closed', data: { opens: '9:00' } },
      result: { isError: true },
    })
    expect(textOf(refused)).toContain('the shop is closed (error -32050)')
    const crashed = await host.call('s__crash', {}, cli)
    expect(crashed.error).toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    const rows = host.activity({ kind: 'call' })
    expect(rows.map(({ detail }) => detail['error'])).toEqual([undefined, refused.error, crashed.error])
  })

  it('is denied, never allowed, if no user can be asked', async () => {
    const { config, ran } = session()
    const host = await started({ servers: { s: config }, surface: { name: 'script', show: {} } })
    const call = await host.call('s__echo', { text: 'hi' }, cli)
    expect(call).toMatchObject({ denied: true, result: { isError: true } })
    expect(textOf(call)).toContain('no person can be asked here (script)')
    expect(ran()).toEqual([])
  })

  it.each<[string, () => never]>([
    [
      'throws',
      () => {
        throw new Error('the window is gone')
      },
    ],
    ['gives nonsense', () => ({ verdict: 'yes', remember: { scope: 'always' } }) as never],
    [
      'gives arguments that are no object',
      () => ({ verdict: 'allow', arguments: [1], remember: { scope: 'always' } }) as never,
    ],
  ])('is not made when the surface %s', async (_how, approval) => {
    const { config, ran } = session()
    const host = await started({ servers: { s: config }, surface: person({ approval }) })
    const call = await host.call('s__echo', { text: 'hi' }, cli)
    expect(call).toMatchObject({ denied: true, result: { isError: true } })
    expect(textOf(call)).toContain('the question could not be asked')
    // Nor is it remembered as a grant.
    await host.call('s__echo', { text: 'hi' }, cli)
    expect(host.activity({ kind: 'approval' }).map((row) => row.outcome)).toEqual(['error', 'error'])
    expect(ran()).toEqual([])
  })

  it('sends exactly the arguments that the user edited, and reports the edit', async () => {
    const { config, ran } = session()
    const surface = person({
      approval: ({ arguments: args }) => ({
        verdict: 'allow',
        arguments: { ...args, text: 'edited', extra: { é: '\u2028' } },
      }),
    })
    const host = await started({ servers: { s: config }, surface })
    const call = await host.call('s__echo', { text: 'original' }, cli)
    const sent = { text: 'edited', extra: { é: '\u2028' } }
    expect(ran()).toEqual([['echo', sent]])
    expect(call.edited).toEqual(sent)
    const rows = host.activity()
    expect(rows.find((row) => row.kind === 'approval')).toMatchObject({
      outcome: 'allowed',
      detail: { arguments: { text: 'original' }, edited: true, sent },
    })
    expect(rows.find((row) => row.kind === 'call')).toMatchObject({
      detail: { arguments: { text: 'original' }, sent },
    })
  })

  it('sends what was shown, even if the objects are changed meanwhile', async () => {
    const { config, ran } = session()
    const given = { text: 'shown', list: ['a'] }
    const surface = person({
      approval: ({ arguments: args }) => {
        expect(() => Object.assign(args, { text: 'changed by the surface' })).toThrow(TypeError)
        expect(() => (args['list'] as string[]).push('b')).toThrow(TypeError)
        given.text = 'changed by the caller'
        const answer = { text: 'agreed' }
        setTimeout(() => {
          answer.text = 'changed after the answer'
        })
        return given.list.length === 1 ? { verdict: 'allow' } : { verdict: 'allow', arguments: answer }
      },
    })
    const host = await started({ servers: { s: config }, surface })
    await host.call('s__echo', given, cli)
    given.list.push('two')
    await host.call('s__echo', given, cli)
    expect(ran()).toEqual([
      ['echo', { text: 'shown', list: ['a'] }],
      ['echo', { text: 'agreed' }],
    ])
  })

  it('is not made if the tool changed while the question was open', async () => {
    const { config, ran } = session()
    let answer: () => void = () => {}
    const surface = person({
      approval: ({ cause }) =>
        cause.tool === 'mutate'
          ? { verdict: 'allow' }
          : new Promise((resolve) => {
              answer = () => resolve({ verdict: 'allow', remember: { scope: 'always' } })
            }),
    })
    const host = await started({ servers: { s: config }, surface })
    const call = host.call('s__echo', { text: 'x' }, cli)
    await until(() => surface.asked.length === 1, 'asked')
    await host.call('s__mutate', {}, cli)
    await until(() => !host.tools().some(({ tool }) => tool.name === 'echo'), 'changed')
    host.trust.accept('s')
    answer()
    expect(textOf(await call)).toContain('changed meanwhile')
    expect(ran()).toEqual([])
  })

  it('has the same verdict for every caller', async () => {
    const { config } = session()
    const surface = person({ approval: () => ({ verdict: 'deny' }) })
    const host = await started({
      servers: { s: config },
      surface,
      rules: [rule('allow', { tool: 'look' }), rule('deny', { tool: 'pid' })],
    })
    for (const caller of ['chat', 'person', 'cli'] satisfies Caller[]) {
      expect((await host.call('s__look', {}, { caller })).denied).toBe(false)
      expect((await host.call('s__pid', {}, { caller })).denied).toBe(true)
      expect((await host.call('s__echo', { text: '' }, { caller })).denied).toBe(true)
    }
    expect(surface.asked).toHaveLength(3)
  })

  it('throws for an unknown name and for arguments that are no JSON object', async () => {
    const { config } = session()
    const host = await started({ servers: { s: config }, rules: [rule('allow')] })
    for (const name of ['echo', 's__nope', '__proto__', 'constructor', '']) {
      await expect(host.call(name, {}, cli)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
    const circular: Record<string, unknown> = {}
    circular['self'] = circular
    await expect(host.call('s__echo', circular, cli)).rejects.toMatchObject({ code: 'INVALID' })
    await expect(host.call('s__echo', [] as never, cli)).rejects.toMatchObject({ code: 'INVALID' })
    expect(host.activity({ kind: 'call' })).toEqual([])
  })

  it("passes on a failed tool's result unchanged", async () => {
    const { config } = session()
    const host = await started({ servers: { s: config }, rules: [rule('allow')] })
    const call = await host.call('s__fail', {}, cli)
    expect(call.denied).toBe(false)
    expect(call.result).toEqual({ content: [{ type: 'text', text: 'as it should' }], isError: true })
    expect(host.activity({ kind: 'call' })).toMatchObject([{ outcome: 'error' }])
  })

  it('reports progress, and is cancelled at the server', async () => {
    const { config, ran } = session()
    const host = await started({ servers: { s: config }, rules: [rule('allow')] })
    const stop = new AbortController()
    const call = host.call('s__slow', {}, { ...cli, signal: stop.signal })
    await until(() => host.events.filter((event) => event.type === 'progress').length >= 3, 'progress')
    stop.abort()
    expect(textOf(await call)).toContain('cancelled')
    expect(host.events).toContainEqual({
      type: 'progress',
      activity: expect.any(Number),
      server: 's',
      tool: 'slow',
      progress: 1,
      total: 200,
    })
    expect(host.activity({ kind: 'call' })).toMatchObject([{ outcome: 'cancelled' }])
    await until(() => ran().some(([what]) => what === 'slow cancelled'), 'cancelled at the server')
  })

  it('that waits for the user ends with its caller, and was never made', async () => {
    const { config, ran } = session()
    const surface = person({ approval: () => new Promise(() => {}) })
    const host = await started({ servers: { s: config }, surface })
    const stop = new AbortController()
    const call = host.call('s__echo', { text: '' }, { ...cli, signal: stop.signal })
    await until(() => surface.asked.length === 1, 'asked')
    stop.abort()
    expect(await call).toMatchObject({ denied: false, result: { isError: true } })
    expect(host.activity({ kind: 'approval' })).toMatchObject([{ outcome: 'withdrawn' }])
    expect(ran()).toEqual([])
  })

  it('that waits for the user ends with the host', async () => {
    const { config } = session()
    const surface = person({ approval: () => new Promise(() => {}) })
    const host = await started({ servers: { s: config }, surface })
    const call = host.call('s__echo', { text: '' }, cli)
    await until(() => surface.asked.length === 1, 'asked')
    await host.close()
    expect((await call).result.isError).toBe(true)
  })
})

describe('grants', () => {
  it('last for the session, or permanently in the store', async () => {
    const { config, ran } = session()
    const store = join(folder(), 'store.db')
    const once = async (scope: 'conversation' | 'always' | undefined): Promise<number> => {
      const surface = person({
        approval: () => ({ verdict: 'allow', ...(scope && { remember: { scope } }) }),
      })
      const host = await started({ servers: { s: config }, surface, store })
      await host.call('s__echo', { text: '1' }, cli)
      await host.call('s__echo', { text: '2' }, cli)
      await host.close()
      return surface.asked.length
    }
    expect(await once(undefined)).toBe(2)
    expect(await once('conversation')).toBe(1)
    expect(await once('always')).toBe(1)
    expect(await once(undefined)).toBe(0)
    expect(ran()).toHaveLength(8)
  })

  it('apply to one tool only, and to refusals too', async () => {
    const { config, ran } = session()
    const surface = person({
      approval: ({ cause }) => ({
        verdict: cause.tool === 'echo' ? 'deny' : 'allow',
        remember: { scope: 'conversation' },
      }),
    })
    const host = await started({ servers: { s: config }, surface })
    for (let i = 0; i < 3; i++) {
      expect((await host.call('s__echo', { text: '' }, cli)).denied).toBe(true)
      expect((await host.call('s__look', {}, cli)).denied).toBe(false)
    }
    expect(surface.asked).toHaveLength(2)
    expect(ran().map(([what]) => what)).toEqual(['look', 'look', 'look'])
    expect(textOf(await host.call('s__echo', { text: '' }, cli))).toContain('said no before')
  })

  it('end when the definition of the tool changes', async () => {
    const { config } = session()
    const surface = person({ approval: () => ({ verdict: 'allow', remember: { scope: 'always' } }) })
    const host = await started({ servers: { s: config }, surface })
    await host.call('s__echo', { text: '' }, cli)
    await host.call('s__echo', { text: '' }, cli)
    expect(surface.asked).toHaveLength(1)
    await host.call('s__mutate', {}, cli)
    await until(() => !host.tools().some(({ tool }) => tool.name === 'echo'), 'changed')
    host.trust.accept('s')
    await host.call('s__echo', { text: '' }, cli)
    expect(surface.asked.map(({ cause }) => cause.tool)).toEqual(['echo', 'mutate', 'echo'])
  })

  it('do not apply to another program with the same name, but follow the program to another name', async () => {
    const { config } = session()
    const store = join(folder(), 'store.db')
    const first = await started({
      servers: { s: config },
      surface: person({ approval: () => ({ verdict: 'allow', remember: { scope: 'always' } }) }),
      store,
    })
    await first.call('s__echo', { text: '' }, cli)
    await first.close()
    const other = 'args' in config ? { ...config, args: [...(config.args ?? []), '--evil'] } : config
    const second = await started({ servers: { s: other, renamed: config }, store })
    expect((await second.call('s__echo', { text: '' }, cli)).denied).toBe(true)
    expect((await second.call('renamed__echo', { text: '' }, cli)).denied).toBe(false)
  })
})

it('servers with similar names stay separate', async () => {
  const [one, two] = [session(), session()]
  const host = await started({ servers: { a__b: one.config, a: two.config }, surface: yes })
  const nameOf = (server: string) =>
    host.tools().find((entry) => entry.server === server && entry.tool.name === 'echo')?.name ?? ''
  await host.call(nameOf('a__b'), { text: 'for a__b' }, cli)
  await host.call(nameOf('a'), { text: 'for a' }, cli)
  expect(one.ran()).toEqual([['echo', { text: 'for a__b' }]])
  expect(two.ran()).toEqual([['echo', { text: 'for a' }]])
})
