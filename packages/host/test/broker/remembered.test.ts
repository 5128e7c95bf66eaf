// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are written so in configurations.

import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../src/config/config.ts'
import { memorySecrets } from '../../src/config/secrets/store.ts'
import type { ServerConfig } from '../../src/types/index.ts'
import { folder, hostOf, session, started, textOf } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { chat, rule } from './rules.ts'

describe('not now', () => {
  it('denies every later call, until the answer is revoked', async () => {
    const { config, ran } = session()
    const surface = person({ approval: () => ({ verdict: 'deny', remember: { scope: 'conversation' } }) })
    const host = await started({ servers: { s: config }, surface })
    const options = { ...chat, conversation: 'talk' }
    for (const text of ['a', 'b', 'c']) {
      const call = await host.call('s__echo', { text }, options)
      expect(call).toMatchObject({ denied: true, result: { isError: true } })
    }
    expect(surface.asked).toHaveLength(1)
    const [grant] = host.policy.grants()
    expect(grant).toMatchObject({ verdict: 'deny', scope: 'conversation', within: 'talk' })
    expect(host.policy.explain('s__echo', { text: 'd' }, options).decision).toEqual({
      verdict: 'deny',
      rule: 'remembered:conversation',
      author: 'the person',
      at: grant?.at,
    })
    await host.call('s__echo', { text: 'e' }, { ...chat, conversation: 'another' })
    expect(surface.asked).toHaveLength(2)
    expect(host.policy.revoke(grant?.id ?? '')).toBe(true)
    await host.call('s__echo', { text: 'f' }, options)
    expect(surface.asked).toHaveLength(3)
    expect(ran()).toEqual([])
  })
})

describe('a grant', () => {
  it('applies to matching calls', async () => {
    const { config, ran } = session()
    const surface = person({
      approval: ({ likeness }) => ({
        verdict: 'allow',
        remember: { scope: 'always', ...(likeness[0]?.arguments && { arguments: likeness[0].arguments }) },
      }),
    })
    const host = await started({ servers: { s: config }, surface })
    for (const text of ['a', 'a', 'b', 'a', 'b']) await host.call('s__echo', { text }, chat)
    expect(surface.asked.map(({ cause }) => cause.arguments)).toEqual([{ text: 'a' }, { text: 'b' }])
    expect(ran()).toHaveLength(5)
    expect(host.policy.grants()).toMatchObject([
      { arguments: [{ at: '', equals: { text: 'a' } }] },
      { arguments: [{ at: '', equals: { text: 'b' } }] },
    ])
  })

  it('is not offered for arguments with a secret', async () => {
    const { config } = session()
    const secrets = memorySecrets()
    await secrets.set('mine', 'the-secret-value')
    const surface = person({ approval: () => ({ verdict: 'deny' }) })
    const entry = 'command' in config ? { ...config, env: { ...config.env, API: '${secret:mine}' } } : config
    const written = JSON.stringify({ mcpServers: { s: entry } })
    const { servers } = parseConfig(written, { file: join(folder(), 'c.json'), layer: 'user', env: {} })
    const host = await started({ servers, surface, secrets })
    await host.call('s__echo', { text: 'with the-secret-value' }, chat)
    await host.call('s__echo', { text: 'without' }, chat)
    const offered = surface.asked.map(
      (question) => 'likeness' in question && question.likeness.map(({ label }) => label),
    )
    expect(offered).toEqual([['any arguments'], ['exactly these arguments', 'any arguments']])
  })

  it('with invalid conditions is rejected', async () => {
    const { config, ran } = session()
    const surface = person({
      approval: () => ({ verdict: 'allow', remember: { scope: 'always', arguments: [{ at: 'text' }] } }),
    })
    const host = await started({ servers: { s: config }, surface })
    expect((await host.call('s__echo', { text: 'a' }, chat)).denied).toBe(true)
    expect(host.policy.grants()).toEqual([])
    expect(ran()).toEqual([])
  })

  it('for a workspace applies in that folder only, and is not offered without one', async () => {
    const { config } = session()
    const [here, there] = [folder(), folder()]
    const link = join(folder(), 'link')
    symlinkSync(here, link)
    const store = join(folder(), 'store.db')
    const asked = async (workspace: string | undefined) => {
      const surface = person({ approval: () => ({ verdict: 'allow', remember: { scope: 'workspace' } }) })
      const host = await started({
        servers: { s: config },
        surface,
        store,
        ...(workspace !== undefined && { workspace }),
      })
      await host.call('s__echo', { text: '' }, chat)
      await host.close()
      return surface.asked.map((question) => 'remember' in question && question.remember)
    }
    expect(await asked(undefined)).toEqual([['conversation', 'always']])
    expect(await asked(here)).toEqual([['conversation', 'workspace', 'always']])
    expect(await asked(here)).toEqual([])
    expect(await asked(link)).toEqual([])
    expect(await asked(there)).toHaveLength(1)
    expect(await asked(undefined)).toHaveLength(1)
    const host = hostOf({ store })
    expect(host.policy.grants().map(({ scope, within }) => [scope, within])).toEqual([
      ['workspace', here],
      ['workspace', there],
    ])
  })

  it('never applies to another command or URL', async () => {
    const { config } = session()
    const store = join(folder(), 'store.db')
    const first = await started({
      servers: { s: config },
      surface: person({ approval: () => ({ verdict: 'allow', remember: { scope: 'always' } }) }),
      store,
    })
    await first.call('s__echo', { text: '' }, chat)
    await first.close()
    const changed: ServerConfig[] =
      'command' in config
        ? [
            { ...config, args: [...(config.args ?? []), '--more'] },
            { ...config, env: { ...config.env, EXTRA: '1' } },
            { ...config, cwd: folder() },
          ]
        : []
    expect(changed).toHaveLength(3)
    for (const other of changed) {
      const host = await started({ servers: { s: other }, store })
      expect((await host.call('s__echo', { text: '' }, chat)).decision.rule).toBe('default')
      await host.close()
    }
    const same = await started({ servers: { s: config }, store })
    expect((await same.call('s__echo', { text: '' }, chat)).decision.rule).toBe('remembered:always')
  })
})

describe('labelled data', () => {
  it('does not flow to another server without a question, in the conversation that saw it', async () => {
    const [diary, web] = [session(), session()]
    const surface = person({ approval: () => ({ verdict: 'deny' }) })
    const host = await started({
      servers: { diary: { ...diary.config, labels: ['private'] }, web: web.config },
      surface,
      rules: [rule('allow')],
    })
    const [conversation, other] = [
      { ...chat, conversation: 'talk' },
      { ...chat, conversation: 'other' },
    ]
    expect((await host.call('web__echo', { text: 'before' }, conversation)).denied).toBe(false)
    await host.call('diary__echo', { text: 'dear diary' }, conversation)
    const out = await host.call('web__echo', { text: 'dear diary' }, conversation)
    expect(out).toMatchObject({ denied: true, decision: { verdict: 'ask', rule: 'label' } })
    expect(surface.asked).toMatchObject([{ labels: ['private'], remember: [], likeness: [] }])
    expect((await host.call('diary__echo', { text: 'more' }, conversation)).denied).toBe(false)
    expect((await host.call('web__echo', { text: 'x' }, other)).denied).toBe(false)
    await host.read('diary', 'note://one', { conversation: 'other' })
    expect((await host.call('web__echo', { text: 'x' }, other)).denied).toBe(true)
    expect(web.ran()).toEqual([
      ['echo', { text: 'before' }],
      ['echo', { text: 'x' }],
    ])
  })

  it('does not count if its result was withheld', async () => {
    const [diary, web] = [session(), session()]
    const host = await started({
      servers: { diary: { ...diary.config, labels: ['private'] }, web: web.config },
      rules: [rule('allow'), rule('deny', { id: 'keep', gate: 'result', label: 'private' })],
    })
    const inConversation = { ...chat, conversation: 'talk' }
    expect((await host.call('diary__echo', { text: 'x' }, inConversation)).release?.outcome).toBe('withheld')
    expect((await host.call('web__echo', { text: 'x' }, inConversation)).denied).toBe(false)
  })

  it('that cannot be recorded withholds the result, and the row names the call', async () => {
    const diary = session()
    const store = join(folder(), 'store.db')
    const host = await started({
      servers: { diary: { ...diary.config, labels: ['private'] } },
      rules: [rule('allow')],
      store,
    })
    const other = new DatabaseSync(store)
    other.exec(
      "CREATE TRIGGER full BEFORE INSERT ON labels_seen BEGIN SELECT RAISE(ABORT, 'disk is full'); END",
    )
    other.close()
    const inConversation = { ...chat, conversation: 'talk' }
    const done = await host.call('diary__echo', { text: 'dear diary' }, inConversation)
    expect(diary.ran()).toEqual([['echo', { text: 'dear diary' }]])
    expect(done.release).toMatchObject({ outcome: 'withheld', decision: { rule: 'unrecorded' } })
    expect(textOf(done)).toContain('echo of diary was called, and its result is held back: disk is full')
    const [row] = host.activity({ kind: 'call' })
    expect(row).toMatchObject({
      outcome: 'ok',
      detail: { result: { content: [{ text: '{"text":"dear diary"}' }] } },
    })
  })

  it('is restored when a conversation is resumed', async () => {
    const [diary, web] = [session(), session()]
    const store = join(folder(), 'store.db')
    const options = {
      servers: { diary: { ...diary.config, labels: ['private'] }, web: web.config },
      rules: [rule('allow')],
      store,
    }
    const inConversation = { ...chat, conversation: 'talk' }
    const first = await started(options)
    await first.call('diary__echo', { text: 'x' }, inConversation)
    await first.close()
    const second = await started(options)
    expect((await second.call('web__echo', { text: 'x' }, inConversation)).decision.rule).toBe('label')
  })
})
