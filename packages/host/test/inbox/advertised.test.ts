import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { hostOf, returned, scripted, session } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { statelessServer } from '../fixtures/stateless-server.ts'
import { form, seatAnswer } from './programs.ts'
import { roundsServer, text } from './rounds-server.ts'

const rules = [{ id: 'all', verdict: 'allow' as const }]
const cli = { caller: 'cli' } as const
const everything = () =>
  person({
    elicitation: () => seatAnswer('1A'),
    'sampling-request': () => ({ verdict: 'deny' }),
    'sampling-result': () => ({ verdict: 'deny' }),
    roots: () => ({ verdict: 'deny' }),
    urlElicitation: true,
  })
const options = { rules, models: [scripted('m')], roots: [{ uri: 'file:///tmp' }] }

/** The capabilities that are about questions: extensions are supported whoever is there. */
const answerable = (capabilities: object): string[] =>
  Object.keys(capabilities)
    .filter((name) => name !== 'extensions')
    .toSorted()

describe('the declared capabilities', () => {
  it('follow the surfaces from one request to the next (2026-07-28)', async () => {
    const server = await roundsServer(() => text('done'))
    const host = hostOf({ ...options, servers: { s: { url: server.url } } })
    await host.start()
    const advertised = async (): Promise<string[]> => {
      await host.call('s__book', {}, cli)
      const capabilities = server.calls.at(-1)?._meta['io.modelcontextprotocol/clientCapabilities']
      return answerable(capabilities ?? {})
    }
    expect(await advertised()).toEqual([])
    const first = host.attach(person({ elicitation: () => undefined }))
    expect(await advertised()).toEqual(['elicitation'])
    const second = host.attach(everything())
    expect(await advertised()).toEqual(['elicitation', 'roots', 'sampling'])
    first()
    second()
    expect(await advertised()).toEqual([])
    expect(host.events.filter((event) => event.type === 'warning')).toEqual([])
  })

  it('are sent to a session once; for a surface attached later the user is advised to reconnect', async () => {
    const host = hostOf({ ...options, servers: { s: session().config } })
    await host.start()
    const advertised = async (): Promise<string[]> => {
      const client = JSON.stringify(returned(await host.call('s__client', {}, cli)))
      return answerable(JSON.parse(client).capabilities)
    }
    expect(await advertised()).toEqual([])
    const detach = host.attach(everything())
    expect(host.events).toContainEqual({
      type: 'warning',
      server: 's',
      message: expect.stringMatching(
        /started without support for .*elicitation.*sampling.*roots.*reconnect it/,
      ),
    })
    const asking = await host.call('s__ask', { params: form() }, cli)
    expect(returned(asking)).toMatchObject({ error: { code: expect.any(Number) } })
    expect(await advertised()).toEqual([])
    await host.reconnect('s')
    expect(await advertised()).toEqual(['elicitation', 'roots', 'sampling'])
    detach()
    await host.reconnect('s')
    expect(await advertised()).toEqual([])
  })
})

describe('a call that waits for a user', () => {
  it.each(['session', 'stateless'] as const)('does not time out (%s)', async (era) => {
    const server = era === 'session' ? undefined : await statelessServer()
    onTestFinished(() => server?.stop())
    const config = server === undefined ? session().config : { url: server.url }
    const host = hostOf({ servers: { s: config }, rules, surface: person({ elicitation: () => undefined }) })
    await host.start()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const call = host.call('s__ask', { params: form() }, cli)
    while (host.inbox.list().length === 0) await new Promise(setImmediate)
    vi.advanceTimersByTime(48 * 3_600_000)
    host.inbox.answer(host.inbox.list()[0]?.id ?? '', seatAnswer('5E'), 'another face')
    expect(returned(await call)).toMatchObject({ answer: seatAnswer('5E') })
  })
})
