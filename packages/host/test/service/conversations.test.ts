import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { scripted, session, until } from '../fixtures/hosts.ts'
import { calling, conversationOf, definitionServer, rig } from './rig.ts'

describe('a conversation', () => {
  test('is the same for all subscribers, during an answer and afterwards', async () => {
    const model = scripted('m', 'A rather long reply.')
    const { client } = await rig({ models: [model] })
    const [one, other] = [await client('one'), await client('other')]
    const id = await one.call('conversations.open', {})
    const [here, there] = [conversationOf(one, id), conversationOf(other, id)]
    expect(await one.call('conversations.say', { id, input: { text: 'Hello' } })).toMatchObject({
      text: 'A rather long reply.',
    })
    await other.call('conversations.say', { id, input: { text: 'And again' } })
    const settled = (view: ReturnType<typeof conversationOf>): boolean =>
      view.rows().filter((row) => row.kind === 'entry' && row.entry.kind === 'message').length === 4
    await until(() => settled(here) && settled(there), 'both replies')
    expect([...here.view()]).toEqual([...there.view()])
    const fresh = conversationOf(await client('third'), id)
    await until(() => settled(fresh), 'the view of a client that came later')
    expect(new Map(fresh.view())).toEqual(new Map(here.view()))
  })

  test('has no topic if it does not exist', async () => {
    const { service, client } = await rig()
    expect(() => service.topic('conversation:none')).toThrow('There is no conversation "none"')
    const one = await client('one')
    const ended = await new Promise<Error>((resolve) =>
      one.subscribe('conversation:none', { rows: () => {}, ended: resolve }),
    )
    expect(ended).toMatchObject({ code: 'NOT_FOUND' })
  })

  test('queues messages during an answer, and stops', async () => {
    let release = (): void => {}
    const model = {
      ...scripted('m'),
      async generate({ signal }: { signal?: AbortSignal }) {
        await new Promise<void>((resolve, reject) => {
          release = resolve
          signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
        })
        return { content: { type: 'text' as const, text: 'ok' }, stopReason: 'endTurn' as const, model: 'm' }
      },
    }
    const { client } = await rig({ models: [model] })
    const one = await client('one')
    const id = await one.call('conversations.open', {})
    const view = conversationOf(one, id)
    const first = one.call('conversations.say', { id, input: { text: 'first' } })
    await until(() => view.rows().some((row) => row.kind === 'info' && row.state === 'answering'), 'the turn')
    const second = one.call('conversations.say', { id, input: { text: 'second' } })
    await until(() => view.rows().some((row) => row.kind === 'queued'), 'the queue')
    release()
    expect(await first).toMatchObject({ text: 'ok' })
    await until(
      () => view.rows().some((row) => row.kind === 'info' && row.state === 'answering'),
      'the second turn',
    )
    expect(view.rows().some((row) => row.kind === 'queued')).toBe(false)
    await one.call('conversations.stop', { id })
    expect(await second).toMatchObject({ stopReason: 'cancelled' })
  })

  test('answers a message that was sent during a summary', async () => {
    const replies: (() => void)[] = []
    const model = {
      ...scripted('m'),
      async generate() {
        await new Promise<void>((resolve) => replies.push(resolve))
        return { content: { type: 'text' as const, text: 'ok' }, stopReason: 'endTurn' as const, model: 'm' }
      },
    }
    const { client } = await rig({ models: [model] })
    const one = await client('one')
    const id = await one.call('conversations.open', {})
    const view = conversationOf(one, id)
    const reply = async (nth: number): Promise<void> => {
      await until(() => replies.length === nth, `request ${nth}`)
      replies[nth - 1]?.()
    }
    const first = one.call('conversations.say', { id, input: { text: 'first' } })
    await reply(1)
    await first
    const summary = one.call('conversations.summarize', { id })
    await until(() => replies.length === 2, 'the request for a summary')
    const second = one.call('conversations.say', { id, input: { text: 'second' } })
    await until(() => view.rows().some((row) => row.kind === 'queued'), 'the queue')
    await reply(2)
    expect(await summary).toBe('ok')
    await reply(3)
    expect(await second).toMatchObject({ text: 'ok' })
    expect(view.rows().some((row) => row.kind === 'queued')).toBe(false)
  })

  test('shows entries added by another program on the same store', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'jackfield-service-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const store = join(folder, 'store.db')
    const first = await rig({ store, models: [scripted('m', 'from the first')] })
    const second = await rig({ store, models: [scripted('m', 'from the second')] })
    const [one, other] = [await first.client('one'), await second.client('other')]
    const id = await one.call('conversations.open', {})
    const view = conversationOf(one, id)
    await one.call('conversations.say', { id, input: { text: 'Hello' } })
    await other.call('conversations.open', { id })
    await other.call('conversations.say', { id, input: { text: 'Hello from elsewhere' } })
    await until(() => JSON.stringify(view.rows()).includes('from the second'), 'the other reply')
    expect(await one.call('conversations.say', { id, input: { text: 'Go on' } })).toMatchObject({
      text: 'from the first',
    })
  })
})

describe("a terminal's data of a conversation", () => {
  test("is in its rows: a call's number, progress, result and decision", async () => {
    const calls = [
      { name: 's__echo', arguments: { text: 'hi' } },
      { name: 's__slow', arguments: {} },
    ]
    const { client } = await rig({ servers: { s: session().config }, models: [calling('m', calls)] })
    const one = await client('one')
    const id = await one.call('conversations.open', {})
    const view = conversationOf(one, id)
    const call = (name: string) => view.rows().find((row) => row.kind === 'call' && row.name === name)
    const said = one.call('conversations.say', { id, input: { text: 'Go' }, message: 'mine' })
    await until(() => call('s__slow')?.kind === 'call', 'the second call')
    await until(
      () => view.rows().some((row) => row.kind === 'call' && (row.progress?.progress ?? 0) > 0),
      'its progress',
    )
    const [slow, info] = [call('s__slow'), view.view().get('info')]
    await one.call('conversations.stop', { id })
    expect(slow).toMatchObject({ number: 2, sent: true, state: 'running' })
    expect(info).toMatchObject({ message: 'mine', isLanguageModel: true })
    expect(call('s__echo')).toMatchObject({
      number: 1,
      state: 'done',
      decision: { verdict: 'allow' },
      result: { content: [{ type: 'text', text: expect.any(String) }] },
      durationMs: expect.any(Number),
    })
    expect(await said).toMatchObject({ stopReason: 'cancelled' })
    const known = await one.call('conversations.calls', { id })
    expect(known.map(({ name }) => name)).toEqual(['s__echo', 's__slow'])
    expect(await one.call('conversations.inputs', {})).toEqual(['Go'])
    expect(await one.call('conversations.find', { id: id.slice(0, 8) })).toMatchObject({ id, turns: 1 })
  })

  test('ends with the whole text of a reply, however fast it was written', async () => {
    const { client } = await rig({ models: [scripted('m', 'A rather long reply.')] })
    const one = await client('one')
    const id = await one.call('conversations.open', {})
    const seen: string[] = []
    one.subscribe(`conversation:${id}`, {
      rows(view) {
        const hasReply = [...view.values()].some(
          (row) => row.kind === 'entry' && row.entry.kind === 'message' && row.entry.by === 'model',
        )
        seen.push(`${view.has('partial') ? 'partial' : ''}${hasReply ? 'reply' : ''}`)
      },
    })
    await one.call('conversations.say', { id, input: { text: 'Hello' } })
    await until(() => seen.includes('reply'), 'the reply')
    // A reply takes the place of its text in one change: a screen never shows both, or neither.
    expect(seen).not.toContain('partialreply')
    expect(
      seen.slice(seen.indexOf('partial'), seen.indexOf('reply')).every((rows) => rows === 'partial'),
    ).toBe(true)
  })

  test("removes a queued message by its client's id", async () => {
    const { client } = await rig({ models: [scripted('m', 'ok')] })
    const one = await client('one')
    const id = await one.call('conversations.open', {})
    const first = one.call('conversations.say', { id, input: { text: 'first' } })
    const second = one.call('conversations.say', { id, input: { text: 'second' }, message: 'mine' })
    expect(await one.call('conversations.unqueue', { id, message: 'mine' })).toBe(true)
    expect(await second).toBeNull()
    expect(await first).toMatchObject({ text: 'ok' })
    expect(await one.call('conversations.unqueue', { id, message: 'mine' })).toBe(false)
  })

  test('stores attached resources as such, with who attached them and why', async () => {
    const resources = [
      { uri: 'note:/chosen', name: 'chosen', title: 'A chosen note' },
      { uri: 'note:/marked', name: 'marked', annotations: { audience: ['assistant'], priority: 1 } },
    ]
    const folder = mkdtempSync(join(tmpdir(), 'jackfield-service-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    writeFileSync(join(folder, 'definitions.json'), JSON.stringify({ resources }))
    const env = { DEFINITIONS: join(folder, 'definitions.json'), LOG: join(folder, 'calls.log') }
    const model = scripted('m', 'ok')
    const options = {
      servers: { s: { ...definitionServer, env } },
      models: [model],
      store: join(folder, 'store.db'),
    }
    const { client, service } = await rig(options)
    const one = await client('one')
    const id = await one.call('conversations.open', { context: false })
    await one.call('library.attach', { conversation: id, refs: [{ server: 's', uri: 'note:/chosen' }] })
    await one.call('library.include', { conversation: id })
    await one.call('conversations.say', { id, input: { text: 'Read these' } })
    const messages = service.host.conversations
      .entries(id)
      .flatMap((entry) => (entry.kind === 'message' ? [entry] : []))
    const about = { server: 's', at: expect.any(String), tokens: expect.any(Number) }
    expect(messages.map(({ by, attached }) => [by, attached])).toEqual([
      ['person', { ...about, uri: 'note:/chosen', title: 'A chosen note' }],
      [
        'host',
        {
          ...{ ...about, uri: 'note:/marked', title: 'marked' },
          because: 'its server marks it for a model, priority 1',
        },
      ],
      ['person', undefined],
      ['model', undefined],
    ])
    // The model gets their content before the message, and the title is that of the message.
    expect(model.requests[0]?.messages).toEqual(messages.slice(0, 3).map(({ message }) => message))
    expect(JSON.stringify(messages[0]?.message)).toContain('[resource note:/chosen]')
    expect(service.host.conversations.find(id).title).toBe('Read these')
  })

  test('does not include resources of servers with labels automatically', async () => {
    const note = { uri: 'note:/1', name: 'note', annotations: { audience: ['assistant'], priority: 1 } }
    const definitions = JSON.stringify({ resources: [note] })
    const folder = mkdtempSync(join(tmpdir(), 'jackfield-service-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    writeFileSync(join(folder, 'definitions.json'), definitions)
    const env = { DEFINITIONS: join(folder, 'definitions.json'), LOG: join(folder, 'calls.log') }
    const { client } = await rig({
      servers: { s: { ...definitionServer, env, labels: ['private'] } },
      models: [scripted('m', 'ok')],
    })
    const one = await client('one')
    const id = await one.call('conversations.open', { context: false })
    const { included, left } = await one.call('library.include', { conversation: id })
    expect(included).toEqual([])
    expect(left).toMatchObject([{ uri: 'note:/1', reason: expect.stringContaining('private') }])
    expect(await one.call('library.withheld', { refs: [{ server: 's', uri: 'note:/1' }] })).toEqual([null])
  })
})
