import type { Server } from '@jackfield/sdk'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { GatewayOptions, HostOptions } from '../../src/types/index.ts'
import { hostOf, session, until, type Watched } from '../fixtures/hosts.ts'
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
  it('answers both questions of a server of 2026-07-28, whose state comes back untouched', async () => {
    const far = await upstream()
    const { server, host } = await gateway({ servers: { far: { url: far.url } } })
    const client = await clientOf(server)
    const result = await client.call('far__two_step')
    expect(JSON.parse(text(result))).toEqual([
      { action: 'accept', content: { who: 'client who' } },
      { action: 'accept', content: { where: 'client where' } },
    ])
    expect(far.issued).toHaveLength(2)
    expect(far.returned).toEqual(far.issued)
    const rows = host.activity({ kind: 'elicitation' })
    expect(rows.map(({ outcome }) => outcome)).toEqual(['relayed', 'relayed'])
    expect(host.activity({ kind: 'call' })).toMatchObject([{ detail: { caller: 'gateway' }, outcome: 'ok' }])
  })

  it('answers a server with sessions, which asks while its tool runs', async () => {
    const { server } = await gateway({ servers: { near: session().config } })
    const client = await clientOf(server)
    expect(JSON.parse(text(await client.call('near__ask', asked('Who?'))))).toMatchObject({
      answer: { action: 'accept', content: { who: 'client who' } },
    })
  })

  it('answers with its own model and its own folders', async () => {
    const far = await upstream()
    const { server } = await gateway({ servers: { far: { url: far.url } } })
    const client = await clientOf(server)
    expect(JSON.parse(text(await client.call('far__think')))).toEqual({ type: 'text', text: 'thought' })
    expect(JSON.parse(text(await client.call('far__folders')))).toEqual([{ uri: 'file:///client' }])
  })
})

describe('a question that its client cannot answer', () => {
  it('goes to the person of the host', async () => {
    const far = await upstream()
    const surface = person({ elicitation: ({ params }) => filling(params) })
    const { server } = await gateway({ servers: { far: { url: far.url } }, surface })
    const client = await ours(server, {})
    expect(text(await client.call('far__two_step'))).toContain('client where')
    expect(surface.asked.map(({ kind }) => kind)).toEqual(['elicitation', 'elicitation'])
  })

  it('is not put to another client', async () => {
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
  it('are each asked about their own requests', async () => {
    const far = await upstream()
    const { server } = await gateway({ servers: { far: { url: far.url } } })
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
    const told = results.map((result) => JSON.parse(text(result)))
    expect(told).toEqual(
      names.map((name) => [
        { action: 'accept', content: { who: name } },
        { action: 'accept', content: { where: name } },
      ]),
    )
  })
})

describe('policy', () => {
  it('keeps a tool that it forbids out of the list, and refuses it', async () => {
    const far = await upstream()
    const { server } = await gateway({
      servers: { far: { url: far.url } },
      rules: [{ id: 'no-wiping', verdict: 'deny', tool: 'wipe' }],
    })
    const client = await ours(server)
    const names = (await client.tools()).map(({ name }) => name)
    expect(names).toContain('far__echo')
    expect(names).not.toContain('far__wipe')
    await expect(client.call('far__wipe')).rejects.toThrow('Unknown tool')
  })

  it('refuses what it forbids by arguments, and tells the client', async () => {
    const far = await upstream()
    const { server } = await gateway({
      servers: { far: { url: far.url } },
      rules: [{ id: 'no-x', verdict: 'deny', tool: 'echo', arguments: [{ at: '/text', equals: 'x' }] }],
    })
    const client = await ours(server)
    expect(await client.call('far__echo', { text: 'y' })).toMatchObject({ structuredContent: { text: 'y' } })
    const refused = await client.call('far__echo', { text: 'x' })
    expect(refused.isError).toBe(true)
    expect(text(refused)).toContain('no-x')
  })

  it('has the person asked who sits at the host, whatever the client could answer', async () => {
    const far = await upstream()
    const surface = person({ approval: () => ({ verdict: 'allow', arguments: { text: 'less' } }) })
    const { server } = await gateway({
      servers: { far: { url: far.url } },
      rules: [{ id: 'ask', verdict: 'ask', caller: ['gateway'] }],
      surface,
    })
    const client = await ours(server)
    expect(text(await client.call('far__echo', { text: 'more' }))).toBe('{"text":"less"}')
    expect(surface.asked).toMatchObject([{ kind: 'approval', cause: { caller: 'gateway' } }])
  })
})

describe('what is offered', () => {
  it('reads as the servers wrote it, under the names of the host', async () => {
    const far = await upstream()
    const { server } = await gateway({ servers: { far: { url: far.url }, near: session().config } })
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

  it('is only what was chosen', async () => {
    const far = await upstream()
    const { server } = await gateway(
      { servers: { far: { url: far.url } } },
      { only: ['far__e*', 'far__note://one'] },
    )
    const client = await ours(server)
    expect((await client.tools()).map(({ name }) => name)).toEqual(['far__echo'])
    expect(await client.resources()).toHaveLength(1)
    expect(await client.templates()).toEqual([])
    expect(await client.prompts()).toEqual([])
  })

  it.each(['2026-07-28', '2025-11-25'] as const)('is told when it changes (%s)', async (revision) => {
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
  })
})

describe('end to end', () => {
  it.each(['2026-07-28', '2025-11-25'] as const)(
    'progress goes down and cancelling goes up (%s)',
    async (revision) => {
      const far = await upstream()
      const { server } = await gateway({ servers: { far: { url: far.url } } })
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
      await until(() => far.seen.includes('slow cancelled'), 'the end upstream')
    },
  )

  it.each(['2026-07-28', '2025-11-25'] as const)(
    'a resource is watched where it is (%s)',
    async (revision) => {
      const far = await upstream()
      const { server } = await gateway({ servers: { far: { url: far.url } } })
      const changes: unknown[] = []
      const client = await ours(server, { revisions: [revision], onChange: (change) => changes.push(change) })
      const watch = await client.watch({ resourceSubscriptions: ['note://one'] })
      far.server.resourceUpdated('note://one')
      await until(() => changes.length > 0, 'the change')
      expect(changes).toEqual([{ type: 'resource', uri: 'note://one' }])
      await watch.close()
    },
  )
})
