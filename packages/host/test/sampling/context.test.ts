import { describe, expect, it } from 'vitest'
import type { HostAnswers } from '../../src/types/index.ts'
import { scripted, session, started, textOf } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { agreeing, request, sample } from './support.ts'

const conversation = 'talk-1'

async function talked(
  includeContext: string,
  answer: Partial<Extract<HostAnswers['sampling-request'], { verdict: 'allow' }>>,
  within: string | undefined = conversation,
  surface = agreeing({ request: answer }),
) {
  const model = scripted('m')
  const host = await started({
    servers: { s: session().config, other: session().config },
    rules: [{ id: 'all', verdict: 'allow' }],
    surface,
    models: [model],
  })
  const chat = { caller: 'chat', conversation } as const
  await host.call('s__echo', { text: 'about tea' }, chat)
  await host.call('other__echo', { text: 'about rum' }, chat)
  await host.call('s__echo', { text: 'of another talk' }, { caller: 'chat', conversation: 'talk-2' })
  const call = await sample(
    host,
    { ...request, includeContext },
    within === undefined ? {} : { conversation: within },
  )
  return { host, call, surface, model }
}

const sent = ({ requests }: ReturnType<typeof scripted>): string => JSON.stringify(requests[0]?.messages)
const mine = 'echo {"text":"about tea"} of s gave:\n{"text":"about tea"}'
const others = 'echo {"text":"about rum"} of other gave:\n{"text":"about rum"}'

describe('the context requested by a server', () => {
  it('is shown to the user and not sent, unless they add it', async () => {
    const { host, surface, model } = await talked('thisServer', {})
    expect(surface.asked[0]).toMatchObject({
      params: { includeContext: 'thisServer' },
      context: { wanted: 'thisServer', texts: [{ server: 's', text: mine }] },
    })
    expect(sent(model)).toBe(JSON.stringify(request.messages))
    expect(host.activity({ kind: 'sampling' })[1]?.detail).toMatchObject({ contextIgnored: 'thisServer' })
  })

  it('is added exactly as shown: of this server only', async () => {
    const { host, surface, model } = await talked('thisServer', { context: true })
    const added = { role: 'user', content: [{ type: 'text', text: mine }] }
    expect(sent(model)).toBe(JSON.stringify([added, ...request.messages]))
    expect(surface.asked[1]).toMatchObject({
      kind: 'sampling-result',
      params: { messages: request.messages },
    })
    expect(host.activity({ kind: 'sampling' })[1]?.detail).toMatchObject({
      context: { wanted: 'thisServer' },
    })
  })

  it('is added text by text', async () => {
    const surface = person({
      'sampling-request': ({ context, problem }) => ({
        verdict: 'allow',
        context: problem === undefined ? ['none'] : (context?.texts.slice(1).map(({ id }) => id) ?? []),
      }),
      'sampling-result': () => ({ verdict: 'allow' }),
    })
    const { host, model } = await talked('allServers', {}, conversation, surface)
    const [first, second] = surface.asked
    expect(first).toMatchObject({
      context: {
        texts: [{ label: 'echo {"text":"about tea"}', tokens: expect.any(Number) }, { text: others }],
      },
    })
    expect(second).toMatchObject({
      problem: expect.stringMatching(/^the context has no text "none"; it has \d+, \d+$/),
    })
    const added = { role: 'user', content: [{ type: 'text', text: others }] }
    expect(sent(model)).toBe(JSON.stringify([added, ...request.messages]))
    expect(host.activity({ kind: 'sampling' })[2]?.detail).toMatchObject({
      context: { texts: [{ text: others }] },
    })
  })

  it('is of every server of the conversation if the server asks for all', async () => {
    const { surface, model } = await talked('allServers', { context: true })
    expect(surface.asked[0]).toMatchObject({ context: { texts: [{ text: mine }, { text: others }] } })
    expect(sent(model)).toContain('about rum')
    expect(sent(model)).not.toContain('another talk')
  })

  it("is empty if the request's conversation is unknown", async () => {
    const { call, surface, model } = await talked('allServers', { context: true }, 'talk-3')
    expect(textOf(call)).toContain('I am m')
    expect(surface.asked[0]).toMatchObject({ context: { wanted: 'allServers', texts: [] } })
    expect(sent(model)).toBe(JSON.stringify(request.messages))
  })

  it('is not shown if the server asks for none', async () => {
    const { surface } = await talked('none', { context: true })
    expect(surface.asked[0]).not.toHaveProperty('context')
  })
})
