import { join } from 'node:path'
import type { CallToolResult, Server } from '@jackfield/sdk'
import { type ConnectOptions, connect, http, type ProgressReport } from '@jackfield/sdk/client'
import { serveHttp } from '@jackfield/sdk/http'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { reasonOf } from '../../src/shared/text.ts'
import type { GatewayOptions, HostOptions } from '../../src/types/index.ts'
import { folder, hostOf, refusingRows, scripted, session, until, type Watched } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { filling, kinds, ours, text } from './clients.ts'
import { upstream } from './upstream.ts'

async function gateway(
  options: Partial<HostOptions>,
  shown: GatewayOptions = {},
): Promise<{ server: Server; host: Watched }> {
  const host = hostOf({ defaultVerdict: 'allow', ...options })
  const open = host.gateway.open(shown)
  onTestFinished(() => open.close())
  await host.start()
  return { server: open.server, host }
}

const asked = (message: string) => ({
  params: {
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties: { who: { type: 'string' } }, required: ['who'] },
  },
})

describe.each(Object.entries(kinds))('%s behind the gateway', (_kind, clientOf) => {
  it('answers both questions of a server of 2026-07-28, whose state is returned unchanged', async () => {
    const remote = await upstream()
    const { server, host } = await gateway({ servers: { far: { url: remote.url } } })
    const client = await clientOf(server)
    const result = await client.call('far__two_step')
    expect(JSON.parse(text(result))).toEqual([
      { action: 'accept', content: { who: 'client who' } },
      { action: 'accept', content: { where: 'client where' } },
    ])
    expect(remote.issued).toHaveLength(2)
    expect(remote.returned).toEqual(remote.issued)
    const rows = host.activity({ kind: 'elicitation' })
    expect(rows.map(({ outcome }) => outcome)).toEqual(['relayed', 'relayed'])
    expect(host.activity({ kind: 'call' })).toMatchObject([{ detail: { caller: 'gateway' }, outcome: 'ok' }])
  })

  it('answers a server with sessions, which sends requests during a call', async () => {
    const { server } = await gateway({ servers: { near: session().config } })
    const client = await clientOf(server)
    expect(JSON.parse(text(await client.call('near__ask', asked('Who?'))))).toMatchObject({
      answer: { action: 'accept', content: { who: 'client who' } },
    })
  })

  it('answers with its own model and its own folders', async () => {
    const remote = await upstream()
    const { server } = await gateway({ servers: { far: { url: remote.url } } })
    const client = await clientOf(server)
    expect(JSON.parse(text(await client.call('far__think')))).toEqual({ type: 'text', text: 'thought' })
    expect(JSON.parse(text(await client.call('far__folders')))).toEqual([{ uri: 'file:///client' }])
  })
})

describe('a question that its client does not support', () => {
  it("is answered by the host's user", async () => {
    const remote = await upstream()
    const surface = person({ elicitation: ({ params }) => filling(params) })
    const { server } = await gateway({ servers: { far: { url: remote.url } }, surface })
    const client = await ours(server, {})
    expect(text(await client.call('far__two_step'))).toContain('client where')
    expect(surface.asked.map(({ kind }) => kind)).toEqual(['elicitation', 'elicitation'])
  })

  it('is not forwarded to another client', async () => {
    const { server } = await gateway({ servers: { near: session().config } })
    const questions: string[] = []
    const other = await ours(server, {
      revisions: ['2025-11-25'],
      onElicit: (params) => {
        questions.push(params.message)
        return filling(params)
      },
    })
    const client = await ours(server, { revisions: ['2025-11-25'] })
    expect(text(await client.call('near__ask', asked('Mine?')))).toContain('error')
    expect(text(await other.call('near__ask', asked('Yours?')))).toContain('client who')
    expect(questions).toEqual(['Yours?'])
  })
})

describe.each(['2026-07-28', '2025-11-25'] as const)('clients of %s at the same time', (revision) => {
  it('are each asked only about their own requests', async () => {
    const remote = await upstream()
    const { server } = await gateway({ servers: { far: { url: remote.url } } })
    const answering = (name: string) =>
      ours(server, {
        revisions: [revision],
        onElicit: (params) => ({
          action: 'accept',
          content: { [Object.keys(filling(params).content)[0] ?? '']: name },
        }),
      })
    const names = ['Ann', 'Bob', 'Cid']
    const clients = await Promise.all(names.map(answering))
    const results = await Promise.all(clients.map((client) => client.call('far__two_step')))
    const parsed = results.map((result) => JSON.parse(text(result)))
    expect(parsed).toEqual(
      names.map((name) => [
        { action: 'accept', content: { who: name } },
        { action: 'accept', content: { where: name } },
      ]),
    )
  })
})

describe('clients of one user', () => {
  /** A client that keeps the messages it was asked with. */
  const named = async (server: Server, name: string, options: ConnectOptions = {}) => {
    const questions: string[] = []
    const client = await ours(server, {
      info: { name, version: '1' },
      onElicit: (params) => {
        questions.push(params.message)
        return { action: 'accept', content: { who: name } }
      },
      ...options,
    })
    return { client, questions }
  }
  const answering = () =>
    person({ elicitation: () => ({ action: 'accept', content: { who: 'the person' } }) })
  const whoOf = (result: CallToolResult): string => JSON.parse(text(result)).answer.content.who

  it.each(['2026-07-28', '2025-11-25'] as const)(
    "are never asked about each other's requests, whatever the server claims (%s)",
    async (revision) => {
      const { server } = await gateway({ servers: { near: session().config }, surface: answering() })
      const revisions = [revision]
      const [ann, bob] = [
        await named(server, 'Ann', { revisions }),
        await named(server, 'Bob', { revisions }),
      ]
      for (let round = 0; round < 15; round++) {
        const results = await Promise.all([
          ann.client.call('near__ask', asked('of Ann')),
          bob.client.call('near__ask', asked('of Bob')),
        ])
        const [first, second] = results.map(whoOf)
        expect(['Ann', 'the person']).toContain(first)
        expect(['Bob', 'the person']).toContain(second)
      }
      expect(ann.questions.filter((message) => message !== 'of Ann')).toEqual([])
      expect(bob.questions.filter((message) => message !== 'of Bob')).toEqual([])
    },
  )

  it('are asked about their own request if no other can have caused the question', async () => {
    const surface = answering()
    const { server } = await gateway({ servers: { near: session().config }, surface })
    const ann = await named(server, 'Ann')
    expect(whoOf(await ann.client.call('near__ask', asked('of Ann')))).toBe('Ann')
    expect(surface.asked).toEqual([])
  })

  it.each(['2026-07-28', '2025-11-25'] as const)(
    'are not asked about a request that another cancelled (%s)',
    async (revision) => {
      const local = session()
      const surface = answering()
      const { server } = await gateway({ servers: { near: local.config }, surface })
      const revisions = [revision]
      const [ann, bob] = [
        await named(server, 'Ann', { revisions }),
        await named(server, 'Bob', { revisions }),
      ]
      const stop = new AbortController()
      const cancelled = ann.client.call('near__ask_late', asked('of Ann'), { signal: stop.signal })
      await until(() => local.ran().length === 1, 'the call of Ann')
      stop.abort()
      await expect(cancelled).rejects.toThrow()
      const answer = JSON.parse(text(await bob.client.call('near__go')))
      expect(answer.content).toEqual({ who: 'the person' })
      expect([...ann.questions, ...bob.questions]).toEqual([])
    },
  )

  it("do not see each other's roots through a server with sessions", async () => {
    const { server } = await gateway({ servers: { near: session().config } })
    const client = await ours(server, { onRoots: [{ uri: 'file:///client' }] })
    expect(text(await client.call('near__roots'))).not.toContain('file:///client')
  })

  it("have separate approvals: a grant for one client's conversation does not apply to another", async () => {
    const surface = person({
      approval: () => ({ verdict: 'allow', remember: { scope: 'conversation' } }),
    })
    const rules = [{ id: 'ask', verdict: 'ask' as const, scope: 'conversation' as const }]
    const { server } = await gateway({ servers: { near: session().config }, surface, rules })
    const [ann, bob] = [await named(server, 'Ann'), await named(server, 'Bob')]
    for (const { client } of [ann, ann, bob]) await client.call('near__echo', { text: 'x' })
    expect(surface.asked).toHaveLength(2)
  })
})

describe('clients of an unknown user', () => {
  const remembering = () =>
    person({
      approval: () => ({ verdict: 'allow', remember: { scope: 'conversation' } }),
      'sampling-request': () => ({ verdict: 'allow', remember: 'conversation' }),
      'sampling-result': () => ({ verdict: 'allow', remember: 'conversation' }),
    })
  const anonymous = async (server: Server) => {
    const listener = await serveHttp(server, { keys: ['g'.repeat(32)] }).listen()
    const client = await connect(http(listener.url), { revisions: ['2026-07-28'] })
    onTestFinished(async () => {
      await client.close()
      await listener.close()
    })
    return client
  }

  it('are asked about sending data out once any of them saw private data', async () => {
    const surface = remembering()
    const rules = [{ id: 'all', verdict: 'allow' as const }]
    const servers = { near: { ...session().config, labels: ['private'] }, web: session().config }
    const { server } = await gateway({ servers, surface, rules })
    const [ann, bob] = [await anonymous(server), await anonymous(server)]
    await ann.call('web__echo', { text: 'x' })
    expect(surface.asked).toEqual([])
    await ann.call('near__echo', { text: 'x' })
    await bob.call('web__echo', { text: 'x' })
    expect(surface.asked).toMatchObject([
      { kind: 'approval', decision: { rule: 'label' }, labels: ['private'] },
    ])
  })

  it('have no answers remembered for a conversation', async () => {
    const surface = remembering()
    const rules = [{ id: 'ask', verdict: 'ask' as const, scope: 'always' as const }]
    const { server, host } = await gateway({ servers: { near: session().config }, surface, rules })
    await host.call('near__echo', { text: 'x' }, { caller: 'cli' })
    const grants = host.policy.grants()
    expect(grants).toHaveLength(1)
    const client = await anonymous(server)
    for (let n = 0; n < 2; n++) await client.call('near__echo', { text: 'x' })
    expect(surface.asked).toHaveLength(3)
    expect(surface.asked.at(-1)).toMatchObject({ kind: 'approval', remember: ['always'] })
    expect(host.policy.grants()).toEqual(grants)
  })

  it('have every sampling request reviewed', async () => {
    const surface = remembering()
    const models = [scripted('m')]
    const { server, host } = await gateway({ servers: { near: session().config }, surface, models })
    const params = { messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }], maxTokens: 50 }
    await host.call('near__sample', { params }, { caller: 'cli' })
    const client = await anonymous(server)
    for (let n = 0; n < 2; n++)
      expect(text(await client.call('near__sample', { params }))).toContain('I am m')
    expect(surface.asked).toHaveLength(6)
    expect(host.sampling.grants()).toHaveLength(2)
  })
})

describe.each(['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'] as const)(
  'while a question is open, a client of %s',
  (revision) => {
    const reporting = () => {
      const reports: ProgressReport[] = []
      return { reports, onProgress: (report: ProgressReport) => reports.push(report) }
    }

    it('is notified by progress that an approval is pending, and progress only increases', async () => {
      const remote = await upstream()
      const { reports, onProgress } = reporting()
      const surface = person({
        approval: async () => {
          await until(() => reports.length > 0, 'the notice')
          return { verdict: 'allow' }
        },
      })
      const rules = [{ id: 'ask', verdict: 'ask' as const }]
      const { server } = await gateway({ servers: { far: { url: remote.url } }, surface, rules })
      const client = await ours(server, { revisions: [revision] })
      const stop = new AbortController()
      const calling = client.call('far__slow', {}, { signal: stop.signal, onProgress })
      await until(
        () => remote.seen.includes('slow began') && reports.length >= 4,
        'the reports of the server',
      )
      stop.abort()
      await expect(calling).rejects.toThrow()
      expect(reports.map(({ message }) => message)).toEqual([
        'Waiting for a person to approve this call',
        'step 1',
        'step 2',
        'step 3',
      ])
      const values = reports.map(({ progress }) => progress)
      expect(values).toEqual([...new Set(values)].toSorted((a, b) => a - b))
    })

    it('is notified that a question is open, if it cannot answer itself', async () => {
      const { reports, onProgress } = reporting()
      const surface = person({
        elicitation: async ({ params }) => {
          await until(() => reports.length > 0, 'the notice')
          return filling(params)
        },
      })
      const { server } = await gateway({ servers: { near: session().config }, surface })
      const client = await ours(server, { revisions: [revision] })
      const result = await client.call('near__ask', asked('Who?'), { onProgress })
      expect(text(result)).toContain('client who')
      expect(reports.map(({ message }) => message)).toEqual([
        'Waiting for a person to answer a question of near',
      ])
    })
  },
)

describe('a client that waits for a user', () => {
  it('is notified periodically, until the question is settled', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const remote = await upstream()
    const decided = Promise.withResolvers<{ verdict: 'allow' }>()
    const surface = person({ approval: () => decided.promise })
    const rules = [{ id: 'ask', verdict: 'ask' as const }]
    const { server } = await gateway({ servers: { far: { url: remote.url } }, surface, rules })
    const reports: ProgressReport[] = []
    const client = await ours(server)
    const timers = vi.getTimerCount()
    const calling = client.call('far__wipe', {}, { onProgress: (report) => reports.push(report) })
    await until(() => reports.length === 1, 'the first notice')
    for (const count of [2, 3]) {
      vi.advanceTimersByTime(15_000)
      await until(() => reports.length === count, `notice ${count}`)
    }
    decided.resolve({ verdict: 'allow' })
    expect(text(await calling)).toBe('wiped')
    expect(vi.getTimerCount()).toBe(timers)
    expect(new Set(reports.map(({ message }) => message)).size).toBe(1)
  })
})

describe('policy', () => {
  it('removes a forbidden tool from the list, and rejects its calls', async () => {
    const remote = await upstream()
    const { server } = await gateway({
      servers: { far: { url: remote.url } },
      rules: [{ id: 'no-wiping', verdict: 'deny', tool: 'wipe' }],
    })
    const client = await ours(server)
    const names = (await client.tools()).map(({ name }) => name)
    expect(names).toContain('far__echo')
    expect(names).not.toContain('far__wipe')
    await expect(client.call('far__wipe')).rejects.toThrow('Unknown tool')
  })

  it('rejects calls with forbidden arguments, and reports it to the client', async () => {
    const remote = await upstream()
    const { server } = await gateway({
      servers: { far: { url: remote.url } },
      rules: [{ id: 'no-x', verdict: 'deny', tool: 'echo', arguments: [{ at: '/text', equals: 'x' }] }],
    })
    const client = await ours(server)
    expect(await client.call('far__echo', { text: 'y' })).toMatchObject({ structuredContent: { text: 'y' } })
    const refused = await client.call('far__echo', { text: 'x' })
    expect(refused.isError).toBe(true)
    expect(text(refused)).toContain('no-x')
  })

  it('asks the user of the host, not the client', async () => {
    const remote = await upstream()
    const surface = person({ approval: () => ({ verdict: 'allow', arguments: { text: 'less' } }) })
    const { server } = await gateway({
      servers: { far: { url: remote.url } },
      rules: [{ id: 'ask', verdict: 'ask', caller: ['gateway'] }],
      surface,
    })
    const client = await ours(server)
    expect(text(await client.call('far__echo', { text: 'more' }))).toBe('{"text":"less"}')
    expect(surface.asked).toMatchObject([{ kind: 'approval', cause: { caller: 'gateway' } }])
  })
})

describe('a call that cannot be recorded', () => {
  it('does not reach its server, and the client gets an error with the reason', async () => {
    const store = join(folder(), 'store.db')
    const local = session()
    const { host, server } = await gateway({ servers: { near: local.config }, store })
    const client = await ours(server)
    host.activity()
    refusingRows(store)
    const error = await client.call('near__echo', { text: 'x' }).catch(reasonOf)
    expect(error).toContain(
      'near cannot be asked: Stopped before "echo of near", because it cannot be recorded',
    )
    expect(local.ran()).toEqual([])
  })
})

describe('the definitions of a gateway', () => {
  it('and read contents are not searchable in the host', async () => {
    const remote = await upstream()
    const { host, server } = await gateway({ servers: { far: { url: remote.url } } })
    const client = await ours(server)
    const found = () => host.library.search('note', { content: true }).matches.filter((one) => one.content)
    await client.read('note://any/x')
    expect(found()).toEqual([])
    await host.read('far', 'note://any/x')
    expect(found()).toMatchObject([{ entry: { server: 'far', resource: { uri: 'note://any/x' } } }])
  })

  it("are those of the servers, under the host's names", async () => {
    const remote = await upstream()
    const { server } = await gateway({ servers: { far: { url: remote.url }, near: session().config } })
    const client = await ours(server)
    const tools = await client.tools()
    expect(tools.find(({ name }) => name === 'far__echo')).toMatchObject({
      inputSchema: { required: ['text'] },
      outputSchema: { type: 'object' },
    })
    expect(tools.find(({ name }) => name === 'far__two_step')).toMatchObject({
      description: 'Asks twice',
      annotations: { destructiveHint: false },
    })
    expect(await client.resources()).toMatchObject([{ uri: 'note://one', name: 'note' }])
    expect(await client.templates()).toMatchObject([{ uriTemplate: 'note://any/{name}', name: 'any' }])
    expect(await client.read('note://any/x')).toMatchObject({ contents: [{ text: 'note x' }] })
    expect((await client.prompts()).map(({ name }) => name)).toEqual(['far__greet', 'near__greet'])
    expect(await client.prompt('far__greet', { name: 'Ada' })).toMatchObject({
      messages: [{ content: { text: 'Greet Ada' } }],
    })
    expect(
      await client.complete({
        ref: { type: 'ref/prompt', name: 'far__greet' },
        argument: { name: 'name', value: 'A' },
      }),
    ).toMatchObject({ values: ['Ada', 'Alan'] })
    expect(client.server.instructions).toContain('# far\n\nBook with two_step.')
  })

  it('are only the selected ones', async () => {
    const remote = await upstream()
    const { server } = await gateway(
      { servers: { far: { url: remote.url } } },
      { only: ['far__e*', 'far__note://one'] },
    )
    const client = await ours(server)
    expect((await client.tools()).map(({ name }) => name)).toEqual(['far__echo'])
    expect(await client.resources()).toHaveLength(1)
    expect(await client.templates()).toEqual([])
    expect(await client.prompts()).toEqual([])
  })

  it.each(['2026-07-28', '2025-11-25'] as const)(
    'are updated with a notification when they change (%s)',
    async (revision) => {
      const { server, host } = await gateway({ servers: { near: session().config } })
      const changes: unknown[] = []
      const client = await ours(server, { revisions: [revision], onChange: (change) => changes.push(change) })
      const watch = await client.watch({ toolsListChanged: true })
      await client.call('near__grow')
      await until(() => host.trust.server('near').items.some(({ name }) => name === 'grown'), 'the new tool')
      host.trust.accept('near')
      await until(() => changes.some((change) => JSON.stringify(change).includes('tools')), 'the change')
      expect((await client.tools()).map(({ name }) => name)).toContain('near__grown')
      await watch.close()
    },
  )
})

describe('end to end', () => {
  it.each(['2026-07-28', '2025-11-25'] as const)(
    'progress and cancellation are forwarded (%s)',
    async (revision) => {
      const remote = await upstream()
      const { server } = await gateway({ servers: { far: { url: remote.url } } })
      const client = await ours(server, { revisions: [revision] })
      const reports: unknown[] = []
      const stop = new AbortController()
      const calling = client.call(
        'far__slow',
        {},
        { signal: stop.signal, onProgress: (report) => reports.push(report) },
      )
      await until(() => reports.length === 3, 'three reports')
      expect(reports[2]).toMatchObject({ progress: 3, total: 3, message: 'step 3' })
      stop.abort()
      await expect(calling).rejects.toThrow()
      await until(() => remote.seen.includes('slow cancelled'), 'the end upstream')
    },
  )

  it.each(['2026-07-28', '2025-11-25'] as const)(
    'a resource is watched at its server (%s)',
    async (revision) => {
      const remote = await upstream()
      const { server } = await gateway({ servers: { far: { url: remote.url } } })
      const changes: unknown[] = []
      const client = await ours(server, { revisions: [revision], onChange: (change) => changes.push(change) })
      const watch = await client.watch({ resourceSubscriptions: ['note://one'] })
      remote.server.resourceUpdated('note://one')
      await until(() => changes.length > 0, 'the change')
      expect(changes).toEqual([{ type: 'resource', uri: 'note://one' }])
      await watch.close()
    },
  )
})
