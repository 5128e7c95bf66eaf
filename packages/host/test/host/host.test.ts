// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders are what is tested.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, vi } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { createHost } from '../../src/host.ts'
import { StoreError } from '../../src/log/store/store-error.ts'
import { filesystem, folder, hostOf, returned, session, started, textOf, until } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'

const cli = { caller: 'cli' } as const
const rules = [{ id: 'all', verdict: 'allow' as const }]

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('reading', () => {
  it('resources, prompts and completions reach their server, each with a row', async () => {
    const host = await started({ servers: { s: session().config } })
    expect(await host.read('s', 'note://one')).toMatchObject({
      contents: [{ uri: 'note://one', text: 'one note' }],
    })
    expect(await host.read('s', 'note://any/alpha')).toMatchObject({ contents: [{ text: 'note alpha' }] })
    expect(await host.prompt('s__greet', { name: 'Ada' })).toMatchObject({
      messages: [{ role: 'user', content: { type: 'text', text: 'Greet Ada' } }],
    })
    const ref = { type: 'ref/resource', uri: 'note://any/{name}' } as const
    expect(await host.complete('s', { ref, argument: { name: 'name', value: 'a' } })).toMatchObject({
      values: ['alpha'],
    })
    await expect(host.read('s', 'note://none')).rejects.toThrow()
    await expect(host.read('nobody', 'note://one')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(host.prompt('greet', {})).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(host.activity().map(({ kind, outcome, summary }) => [kind, outcome, summary])).toEqual([
      ['connection', 'ready', 's is ready'],
      ['read', 'ok', 'note://one'],
      ['read', 'ok', 'note://any/alpha'],
      ['prompt', 'ok', 'Prompt greet'],
      ['read', 'error', 'note://none'],
    ])
  })
})

describe('events', () => {
  it('report logs, stderr and every finished row', async () => {
    const host = await started({ servers: { s: session().config }, rules })
    await host.call('s__say', {}, cli)
    await until(() => host.events.some((event) => event.type === 'stderr'), 'stderr')
    expect(host.events).toContainEqual({
      type: 'log',
      server: 's',
      level: 'warning',
      logger: 'fixture',
      data: 'careful',
    })
    expect(host.events).toContainEqual({
      type: 'stderr',
      server: 's',
      text: 'a line on stderr\n',
    })
    expect(host.events.flatMap((event) => (event.type === 'activity' ? [event.row] : []))).toEqual(
      host.activity(),
    )
  })

  it('reach the other listeners when one throws, until it is removed', async () => {
    const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const host = hostOf({})
    host.on(() => {
      throw new Error('broken face')
    })
    const events: string[] = []
    const off = host.on((event) => events.push(event.type))
    const row = {
      kind: 'model',
      server: null,
      summary: 'x',
      outcome: 'ok',
      durationMs: 1,
      cause: null,
      detail: {},
    } as const
    host.record(row)
    off()
    host.record(row)
    expect(events).toEqual(['activity'])
    expect(warning).toHaveBeenCalledWith(expect.stringContaining('broken face'))
    warning.mockRestore()
  })
})

describe('the activity', () => {
  it('shows who did what because of what, also after a restart', async () => {
    const store = join(folder(), 'store.db')
    const { config } = session()
    const surface = person({ approval: () => ({ verdict: 'allow' }) })
    const host = await started({ servers: { s: config }, surface, store })
    const turn = host.record({
      kind: 'model',
      server: null,
      summary: 'A turn',
      outcome: 'ok',
      durationMs: 12,
      cause: null,
      detail: { tokens: 3 },
    })
    const call = await host.call('s__echo', { text: 'x' }, { caller: 'chat', cause: turn })
    const rows = host.activity()
    expect(rows.map(({ kind, outcome, cause }) => [kind, outcome, cause])).toEqual([
      ['connection', 'ready', null],
      ['model', 'ok', null],
      ['call', 'ok', turn],
      ['approval', 'allowed', call.activity],
    ])
    expect(rows[2]).toMatchObject({
      id: call.activity,
      server: 's',
      summary: 'echo of s',
      detail: {
        caller: 'chat',
        decision: { verdict: 'ask', rule: 'default' },
        arguments: { text: 'x' },
        result: { content: [{ type: 'text' }] },
      },
    })
    await host.close()
    const again = hostOf({ store })
    expect(again.activity()).toEqual(rows)
    expect(again.activity({ kind: 'call' })).toHaveLength(1)
  })
})

describe('grants', () => {
  it('can be listed and revoked, those of the session and lasting ones', async () => {
    const store = join(folder(), 'store.db')
    const { config } = session()
    const surface = person({
      approval: ({ cause }) => ({
        verdict: cause.tool === 'look' ? 'deny' : 'allow',
        remember: { scope: cause.tool === 'pid' ? 'conversation' : 'always' },
      }),
    })
    const host = await started({ servers: { s: config }, surface, store })
    for (const name of ['s__echo', 's__look', 's__pid']) await host.call(name, { text: 'x' }, cli)
    const grants = host.policy.grants()
    expect(grants).toMatchObject([
      { server: 's', tool: 'echo', verdict: 'allow', scope: 'always' },
      { server: 's', tool: 'look', verdict: 'deny', scope: 'always' },
      { server: 's', tool: 'pid', verdict: 'allow', scope: 'conversation' },
    ])
    const decision = async (name: string) => (await host.call(name, { text: 'x' }, cli)).decision.rule
    expect(await decision('s__echo')).toBe('remembered:always')
    for (const { id } of grants) expect(host.policy.revoke(id)).toBe(true)
    expect(host.policy.revoke(grants[0]?.id ?? '')).toBe(false)
    expect(host.policy.grants()).toEqual([])
    expect(await decision('s__echo')).toBe('default')
    expect(await decision('s__pid')).toBe('default')
    expect(host.activity({ kind: 'approval' }).filter((row) => row.outcome === 'revoked')).toMatchObject([
      { server: 's', detail: { tool: 'echo', verdict: 'allow' } },
      { detail: { tool: 'look', verdict: 'deny' } },
      { detail: { tool: 'pid', scope: 'conversation' } },
    ])
    await host.close()
    expect(hostOf({ store }).policy.grants()).toMatchObject([{ tool: 'echo' }])
  })
})

describe('a configuration file', () => {
  it('results in running servers under its own policy', async () => {
    const data = folder()
    writeFileSync(join(data, 'hello.txt'), 'hello there')
    mkdirSync(join(data, 'sub'))
    const file = join(folder(), 'mcp.json')
    const fs = filesystem('${DATA}')
    writeFileSync(
      file,
      JSON.stringify({
        mcpServers: { fs, broken: { command: '${NOT_SET}' } },
        jackfield: {
          rules: [{ id: 'look', verdict: 'allow', server: 'fs', tool: 'read_*' }],
          defaultVerdict: 'deny',
        },
      }),
    )
    const config = await loadConfig(file, { env: { DATA: data } })
    expect(config.problems).toMatchObject([{ path: 'mcpServers.broken.command' }])
    const { servers, rules: own, defaultVerdict = 'ask' } = config
    const host = await started({ servers, rules: own, defaultVerdict, env: { DATA: data } })
    const read = await host.call('fs__read_text_file', { path: join(data, 'hello.txt') }, cli)
    expect(textOf(read)).toContain('hello there')
    const write = await host.call('fs__write_file', { path: join(data, 'new.txt'), content: 'x' }, cli)
    expect(write).toMatchObject({ denied: true, decision: { verdict: 'deny', rule: 'default' } })
    expect(textOf(write)).toContain('the policy allows nothing it does not name')
  })
})

describe('a host', () => {
  it('rejects roots that are no plain local folders', () => {
    expect(() =>
      createHost({
        servers: {},
        surface: { name: 'x', show: {} },
        models: [],
        roots: [{ uri: 'https://x/' }],
      }),
    ).toThrow(/root must be a folder/)
  })

  it('reports an unusable store with its own error', () => {
    expect(() => hostOf({ store: folder() })).toThrow(StoreError)
  })

  it('stops its servers and closes even if its store becomes read-only', async () => {
    const store = join(folder(), 'store.db')
    const host = await started({ servers: { s: session().config }, rules, store })
    const pid = Number(returned(await host.call('s__pid', {}, cli)))
    const other = new DatabaseSync(store)
    other.exec('DROP TABLE inbox')
    other.close()
    await host.close()
    await until(() => !isRunning(pid), 'the end of the server')
  })

  it('closes once, and then does nothing more', async () => {
    const host = await started({ servers: { s: session().config }, rules })
    expect(returned(await host.call('s__echo', { text: 'x' }, cli))).toEqual({ text: 'x' })
    await Promise.all([host.close(), host.close(), host[Symbol.asyncDispose]()])
    await expect(host.start()).rejects.toThrow('closed')
    await expect(host.read('s', 'note://one')).rejects.toThrow('closed')
    expect(() =>
      host.record({
        kind: 'model',
        server: null,
        summary: '',
        outcome: 'ok',
        durationMs: 0,
        cause: null,
        detail: {},
      }),
    ).toThrow('closed')
  })
})
