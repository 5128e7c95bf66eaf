import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { SamplingSettings } from '../../src/types/index.ts'
import { folder, returned, scripted, session, started, textOf } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { agreeing, eras, hostIn, replying, request, sample } from './support.ts'

const often = { requestsPerMinute: 1_000 }
const remembering = (remember: 'conversation' | 'always') =>
  agreeing({ request: { remember }, result: { remember } })

describe.each(eras)('a sampling grant (%s)', (era) => {
  it('skips the review, is listed, and can be revoked', async () => {
    const surface = remembering('always')
    const host = await hostIn(era, { surface, models: [scripted('m')], sampling: { limits: often } })
    await sample(host)
    expect(surface.asked).toHaveLength(2)
    expect(textOf(await sample(host))).toContain('I am m')
    expect(surface.asked).toHaveLength(2)
    const grants = host.sampling.grants()
    expect(grants).toMatchObject([
      { server: 's', stage: 'request', scope: 'always' },
      { server: 's', stage: 'result', scope: 'always' },
    ])
    expect(host.activity({ kind: 'sampling' }).filter(({ detail }) => 'passing' in detail)).toMatchObject([
      { outcome: 'allowed', detail: { stage: 'request', passing: { by: 'always', id: grants[0]?.id } } },
      { outcome: 'allowed', detail: { stage: 'result', passing: { by: 'always', id: grants[1]?.id } } },
    ])
    for (const { id = '' } of grants) expect(host.sampling.revoke(id)).toBe(true)
    expect(host.sampling.revoke(grants[0]?.id ?? '')).toBe(false)
    expect(host.sampling.grants()).toEqual([])
    expect(host.activity({ kind: 'sampling' }).at(-1)).toMatchObject({ outcome: 'revoked', server: 's' })
    await sample(host)
    expect(surface.asked).toHaveLength(4)
  })

  it('applies in its conversation only, if so chosen', async () => {
    const surface = remembering('conversation')
    const host = await hostIn(era, { surface, models: [scripted('m')], sampling: { limits: often } })
    await sample(host, request, { conversation: 'one' })
    await sample(host, request, { conversation: 'one' })
    expect(surface.asked).toHaveLength(2)
    expect(host.sampling.grants()[0]).toMatchObject({ scope: 'conversation', within: 'one' })
    await sample(host, request, { conversation: 'two' })
    expect(surface.asked).toHaveLength(4)
  })

  it('ends with its conversation, also when that is deleted', async () => {
    const surface = remembering('conversation')
    const host = await hostIn(era, { surface, models: [scripted('m')], sampling: { limits: often } })
    const withinAll = () => host.sampling.grants().map(({ within }) => within)
    host.conversations.append('two', 0, [])
    for (const conversation of ['one', 'two', 'three']) await sample(host, request, { conversation })
    expect(withinAll()).toEqual(['one', 'one', 'two', 'two', 'three', 'three'])
    host.endConversation('one')
    host.conversations.remove('two')
    expect(withinAll()).toEqual(['three', 'three'])
    await sample(host, request, { conversation: 'one' })
    expect(surface.asked).toHaveLength(8)
  })

  it('of a conversation is replaced by a lasting one', async () => {
    let remember: 'conversation' | 'always' = 'conversation'
    const surface = person({
      'sampling-request': () => ({ verdict: 'allow', remember }),
      'sampling-result': () => ({ verdict: 'allow' }),
    })
    const limits = { ...often, autoTokensPerDay: 0 }
    const host = await hostIn(era, { surface, models: [scripted('m')], sampling: { limits } })
    await sample(host, request, { conversation: 'one' })
    remember = 'always'
    await sample(host, request, { conversation: 'one' })
    expect(host.sampling.grants().map(({ scope }) => scope)).toContain('always')
  })

  it('asks again once its budget is used up', async () => {
    const surface = remembering('always')
    const model = replying('m', { usage: { inputTokens: 60, outputTokens: 40 } })
    const limits = { ...often, autoTokensPerDay: 250 }
    const host = await hostIn(era, { surface, models: [model], sampling: { limits } })
    for (let n = 0; n < 3; n++) await sample(host)
    expect(surface.asked).toHaveLength(2)
    expect(host.sampling.usage()).toMatchObject([{ tokens: 300, autoTokens: 200 }])
    await sample(host)
    expect(surface.asked.slice(2).map(({ kind }) => kind)).toEqual(['sampling-request', 'sampling-result'])
    const step = host.activity({ kind: 'sampling' }).find(({ detail }) => 'notPassed' in detail)
    expect(step?.detail).toMatchObject({ notPassed: '250 tokens in 24 hours pass without asking' })
  })
})

describe('a lasting sampling grant', () => {
  it("outlives the program, and ends when the server's identity or name changes", async () => {
    const store = join(folder(), 'store.db')
    const { config } = session()
    const rules = [{ id: 'all', verdict: 'allow' as const }]
    const sampling: SamplingSettings = { limits: often }
    const options = { store, rules, sampling, models: [scripted('m')] }
    const first = await started({ ...options, servers: { s: config }, surface: remembering('always') })
    await sample(first)
    await first.close()
    const surface = agreeing()
    const again = await started({ ...options, servers: { s: config }, surface })
    expect(textOf(await sample(again))).toContain('I am m')
    expect(surface.asked).toEqual([])
    await again.close()
    const renamed = await started({ ...options, servers: { t: config }, surface })
    await renamed.call('t__sample', { params: request }, { caller: 'cli' })
    expect(surface.asked).toHaveLength(2)
    await renamed.close()
    const changed = 'args' in config ? { ...config, args: [...(config.args ?? []), '--other'] } : config
    const third = await started({ ...options, servers: { s: changed }, surface })
    await sample(third)
    expect(surface.asked).toHaveLength(4)
  })

  it('needs no user if the configuration has it for this server, within its budget', async () => {
    const model = replying('m', { usage: { inputTokens: 60, outputTokens: 40 } })
    const sampling: SamplingSettings = {
      limits: { ...often, autoTokensPerDay: 250 },
      servers: { s: { approve: ['request', 'result'] } },
    }
    const host = await started({
      servers: { s: session().config, t: session().config },
      rules: [{ id: 'all', verdict: 'allow' }],
      models: [model],
      sampling,
    })
    const capabilities = async (server: string) =>
      JSON.stringify(returned(await host.call(`${server}__client`, {}, { caller: 'cli' })))
    expect(await capabilities('s')).toContain('"sampling"')
    expect(await capabilities('t')).not.toContain('"sampling"')
    await sample(host)
    await sample(host)
    expect(model.requests).toHaveLength(2)
    const third = await sample(host)
    expect(returned(third)).toMatchObject({
      error: { code: -32603, message: expect.stringContaining('No person is available') },
    })
    expect(model.requests).toHaveLength(2)
    expect(host.sampling.grants()).toEqual([
      { server: 's', stage: 'request', scope: 'config' },
      { server: 's', stage: 'result', scope: 'config' },
    ])
  })

  it('for requests does not skip the review of results', async () => {
    const surface = agreeing({ request: { remember: 'always' } })
    const host = await hostIn('session', { surface, models: [scripted('m')] })
    await sample(host)
    await sample(host)
    expect(surface.asked.map(({ kind }) => kind)).toEqual([
      'sampling-request',
      'sampling-result',
      'sampling-result',
    ])
  })
})

describe('without a user', () => {
  it.each(eras)('a request is a protocol error and reaches no model (%s)', async (era) => {
    const model = scripted('m')
    const host = await hostIn(era, { models: [model] })
    const detach = host.attach(
      person({ 'sampling-request': () => undefined, 'sampling-result': () => undefined }),
    )
    detach()
    const call = await sample(host)
    expect(textOf(call)).not.toContain('"role"')
    expect(model.requests).toEqual([])
  })
})
