import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect as connectSocket, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Activity } from '@jackfield/host'
import {
  applyChanges,
  type Change,
  type Channel,
  changed,
  channelPair,
  createHostClient,
  difference,
  type InboxRow,
  type PeerServer,
  type SurfaceRow,
  streamChannel,
} from '@jackfield/host/service'
import { defineServer, RpcError, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { folder, scripted, session, until } from '../fixtures/hosts.ts'
import { asking, everyKind, inboxOf, rig, runsOf, watched } from './rig.ts'

describe('a failure', () => {
  test('is sent to a client with possible fixes', async () => {
    const servers = {
      gone: { command: 'no-such-program-anywhere' },
      folder: {
        command: 'x',
        env: { K: `\${secret:api}` },
        from: { file: '/x/c.json', layer: 'user' as const },
      },
    }
    const { client } = await rig({ servers })
    const one = await client('one')
    const request = { kind: 'read' as const, server: 'gone', uri: 'a:b' }
    const run = await one.call('runs.wait', { id: await one.call('runs.start', { request }) })
    const fixes = [
      { action: 'configure', server: 'gone', setting: 'command' },
      { action: 'diagnose', server: 'gone' },
    ]
    expect(run.fault).toMatchObject({ code: 'CONNECTION_CLOSED', fixes })
    await expect(one.call('library.preview', { server: 'gone', uri: 'a:b' })).rejects.toMatchObject({ fixes })
    const [, folder] = await one.call('servers.list', {})
    expect(folder?.connection).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('there is no secret "api"'),
      fixes: [{ action: 'set-secret', name: 'api' }],
    })
  })

  test('of a server cannot suggest a fix of its own to the user', async () => {
    const refusing = defineServer({
      ...{ name: 'refusing', version: '1' },
      tools: {
        refuse: tool({
          run: () => {
            const fixes = [{ action: 'set-secret', name: 'of the attacker' }]
            throw new RpcError(-32_000, 'no', { fixes })
          },
        }),
      },
    })
    const served = await serveHttp(refusing, { keys: ['k'.repeat(32)] }).listen({ port: 0 })
    onTestFinished(() => served.close())
    const { client } = await rig({ servers: { s: { url: served.url } } })
    const one = await client('one')
    const request = { kind: 'call' as const, tool: 's__refuse', arguments: {} }
    const run = await one.call('runs.wait', { id: await one.call('runs.start', { request }) })
    expect(run.result?.call?.error).toEqual({
      code: -32_000,
      message: 'no',
      data: { fixes: expect.any(Array) },
    })
  })
})

describe('a server without consent', () => {
  test('is started with all servers once the user consented elsewhere, and not before', async () => {
    const from = { file: '/x/.mcp.json', layer: 'project' as const }
    const { service, client } = await rig({ servers: { named: { ...asking, from } } })
    const one = await client('one')
    const started = async () => {
      await one.call('servers.start', {})
      return (await one.call('servers.list', {})).map(({ connection }) => connection.state)
    }
    expect(await started()).toEqual(['needs-approval'])
    expect(await started()).toEqual(['needs-approval'])
    await service.host.consents.allow('named', 'the command line')
    expect(await started()).toEqual(['ready'])
  })

  test('is started after a change that the user consented to elsewhere', async () => {
    const from = { file: '/x/.mcp.json', layer: 'project' as const }
    const { service, client } = await rig({ servers: { named: { ...asking, from } } })
    const one = await client('one')
    const started = async () => {
      await one.call('servers.start', { servers: ['named'] })
      return (await one.call('servers.list', {})).map(({ connection }) => connection.state)
    }
    await service.host.consents.allow('named', 'the command line')
    expect(await started()).toEqual(['ready'])
    await service.host.reconfigure({ named: { ...asking, args: [...asking.args, 'changed'], from } })
    expect(await started()).toEqual(['needs-approval'])
    await service.host.consents.allow('named', 'the command line')
    expect(await started()).toEqual(['ready'])
  })
})

describe('a server that failed', () => {
  test('is started again by the next command, once its program is corrected', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'jackfield-failed-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const file = join(folder, 'server.mjs')
    const { client } = await rig({ servers: { s: { command: process.execPath, args: [file] } } })
    const one = await client('one')
    const started = async (servers?: string[]) => {
      await one.call('servers.start', servers === undefined ? {} : { servers })
      return (await one.call('servers.list', {})).map(({ connection }) => connection.state)
    }
    expect(await started()).toEqual(['failed'])
    expect(await started(['s'])).toEqual(['failed'])
    writeFileSync(file, `await import(${JSON.stringify(pathToFileURL(asking.args[0] ?? '').href)})`)
    expect(await started()).toEqual(['ready'])
  })
})

describe('a run', () => {
  test('is visible to every client, with its result', async () => {
    const { client } = await rig({ servers: { s: session().config } })
    const [one, other] = [await client('one'), await client('other')]
    const seen = runsOf(other)
    const id = await one.call('runs.start', {
      request: { kind: 'call', tool: 's__echo', arguments: { text: 'hi' } },
    })
    const run = await other.call('runs.wait', { id })
    expect(run).toMatchObject({
      state: 'done',
      by: 'one',
      label: 's__echo',
      result: { call: { denied: false } },
    })
    await until(() => seen.rows().some((row) => row.id === id && row.state === 'done'), 'the row')
    expect(JSON.stringify(seen.rows())).not.toContain('"result"')
  })

  test('shows its progress, and can be stopped by any client', async () => {
    const { config, ran } = session()
    const { client } = await rig({ servers: { s: config } })
    const [one, other] = [await client('one'), await client('other')]
    const seen = runsOf(other)
    const id = await one.call('runs.start', { request: { kind: 'call', tool: 's__slow', arguments: {} } })
    await until(() => (seen.view().get(id)?.progress?.progress ?? 0) > 1, 'progress')
    await other.call('runs.stop', { id })
    expect(await one.call('runs.wait', { id })).toMatchObject({ state: 'stopped' })
    await until(() => ran().some(([tool]) => tool === 'slow cancelled'), 'the cancellation')
  })

  test('that watches a server numbers its changes, and ends when stopped', async () => {
    const { client } = await rig({ servers: { s: session().config } })
    const [one, other] = [await client('one'), await client('other')]
    const seen = runsOf(other)
    const id = await one.call('runs.start', { request: { kind: 'watch', server: 's', uris: [] } })
    await until(() => seen.view().get(id)?.watched?.acknowledged.toolsListChanged === true, 'the watch')
    await one.call('runs.start', { request: { kind: 'call', tool: 's__grow', arguments: {} } })
    await until(() => (seen.view().get(id)?.watched?.changes.length ?? 0) > 0, 'the change')
    expect(seen.view().get(id)?.watched?.changes[0]).toMatchObject({ number: 1, change: { type: 'tools' } })
    await other.call('runs.stop', { id })
    expect(await one.call('runs.wait', { id })).toMatchObject({ state: 'stopped' })
  })

  test('ends with its client only if started so', async () => {
    const { client } = await rig({ servers: { s: session().config } })
    const [one, other] = [await client('one'), await client('other')]
    const request = { kind: 'call' as const, tool: 's__slow', arguments: {} }
    const attached = await one.call('runs.start', { request, attached: true })
    const free = await one.call('runs.start', { request })
    one.close()
    expect(await other.call('runs.wait', { id: attached })).toMatchObject({ state: 'stopped' })
    expect(await other.call('runs.get', { id: free })).toMatchObject({ state: 'running' })
    await other.call('runs.stop', { id: free })
  })

  test('can be waited for in the call that starts it, and is stopped with that call', async () => {
    const { config, ran } = session()
    const { client } = await rig({ servers: { s: config } })
    const [one, other] = [await client('one'), await client('other')]
    const seen = runsOf(other)
    const request = { kind: 'call' as const, tool: 's__echo', arguments: { text: 'hi' } }
    const run = await one.call('runs.perform', { request })
    expect(run).toMatchObject({ state: 'done', by: 'one', result: { call: { denied: false } } })
    await until(() => seen.view().get(run.id)?.state === 'done', 'the row')
    const stop = new AbortController()
    const slow = { kind: 'call' as const, tool: 's__slow', arguments: {} }
    const running = one.call('runs.perform', { request: slow }, { signal: stop.signal })
    await until(() => seen.rows().some((row) => (row.progress?.progress ?? 0) > 1), 'progress')
    stop.abort(new Error('no longer needed'))
    await expect(running).rejects.toThrow('no longer needed')
    await until(() => seen.rows().some(({ state }) => state === 'stopped'), 'the end')
    await until(() => ran().some(([tool]) => tool === 'slow cancelled'), 'the cancellation')
  })

  test('that its client waits for ends with the client only if started so', async () => {
    const { client } = await rig({ servers: { s: session().config } })
    const [one, other] = [await client('one'), await client('other')]
    const seen = runsOf(other)
    const request = { kind: 'call' as const, tool: 's__slow', arguments: {} }
    const calls = [true, false].map((attached) => one.call('runs.perform', { request, attached }))
    await until(() => seen.rows().filter(({ activity }) => activity !== undefined).length === 2, 'both')
    one.close()
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
    await until(() => seen.rows()[0]?.state === 'stopped', 'the end of the first')
    const [, free] = seen.rows()
    expect(free?.state).toBe('running')
    await other.call('runs.stop', { id: free?.id ?? '' })
  })

  test('fails at once if its question cannot be asked', async () => {
    const { client } = await rig({ servers: { s: asking } })
    const one = await client('one')
    const request = { kind: 'call' as const, tool: 's__ask', arguments: {} }
    const alone = await one.call('runs.start', { request })
    expect(JSON.stringify(await one.call('runs.wait', { id: alone }))).toMatch(/could not be shown/)
    // Another client that could show it does not count for a run that does not wait.
    const other = await client('other')
    await other.call('surface.attach', { name: 'other', kinds: [...everyKind] })
    const unasked = await one.call('runs.start', { request, asks: false })
    expect(JSON.stringify(await one.call('runs.wait', { id: unasked }))).toMatch(/could not be shown/)
  })
})

describe('a question', () => {
  test('about folders that no client could show is asked again when one attaches that can', async () => {
    const { client, service } = await rig({ servers: { s: session().config }, workspace: folder() })
    const one = await client('one')
    await one.call('runs.perform', { request: { kind: 'call', tool: 's__follow_roots', arguments: {} } })
    const asked = (): readonly string[] =>
      service.host.activity({ kind: 'roots' }).map(({ outcome }) => String(outcome))
    await until(() => asked()[0] === 'error', 'the request that no person could answer')
    await one.call('surface.attach', { name: 'one', kinds: ['approval'] })
    const other = await client('other')
    await other.call('surface.attach', { name: 'other', kinds: ['roots'] })
    const open = (): InboxRow | undefined => inbox.rows().find(({ state }) => state === 'open')
    const inbox = inboxOf(other)
    await until(() => open() !== undefined, 'the question')
    expect(open()?.question).toMatchObject({ kind: 'roots', cause: { server: 's' } })
    await other.call('inbox.answer', { id: open()?.id ?? '', answer: { verdict: 'allow' } })
    await until(() => asked().includes('ok'), 'the answer')
    expect(asked()).toHaveLength(2)
  })

  test('is shown to every client, answered once, and settled everywhere', async () => {
    const { client } = await rig({ servers: { s: asking } })
    const [one, other] = [await client('one'), await client('other')]
    for (const surface of [one, other])
      await surface.call('surface.attach', { name: 'test', kinds: [...everyKind], urlElicitation: true })
    const [here, there] = [inboxOf(one), inboxOf(other)]
    const id = await one.call('runs.start', { request: { kind: 'call', tool: 's__ask', arguments: {} } })
    const open = (inbox: typeof here): InboxRow | undefined =>
      inbox.rows().find(({ state }) => state === 'open')
    await until(() => open(here) !== undefined && open(there) !== undefined, 'the question')
    const question = open(there)
    if (question === undefined) throw new Error('no question')
    const answer = { action: 'accept', content: { seat: '12A' } } as const
    await expect(
      other.call('inbox.answer', { id: question.id, answer, seen: 'something else' }),
    ).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('changed since it was shown'),
    })
    await other.call('inbox.answer', { id: question.id, answer, seen: question.digest })
    await expect(one.call('inbox.answer', { id: question.id, answer })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('other'),
    })
    await until(() => here.view().get(question.id)?.state === 'answered', 'the answer in the other client')
    expect(await one.call('runs.wait', { id })).toMatchObject({ state: 'done' })
  })

  test('that is deferred stays open, marked as such, and can be answered', async () => {
    const { client } = await rig({ servers: { s: asking } })
    const one = await client('one')
    await one.call('surface.attach', { name: 'test', kinds: [...everyKind] })
    const inbox = inboxOf(one)
    const id = await one.call('runs.start', { request: { kind: 'call', tool: 's__ask', arguments: {} } })
    await until(() => inbox.rows().length === 1, 'the question')
    const [row] = inbox.rows()
    if (row === undefined) throw new Error('no question')
    expect(row.deferred).toBeUndefined()
    expect(await one.call('inbox.get', { id: row.id })).toEqual(row)
    expect(await one.call('inbox.defer', { id: row.id })).toBe(true)
    await until(() => inbox.view().get(row.id)?.deferred === true, 'the mark')
    const [listed] = await one.call('inbox.list', {})
    expect(listed).toMatchObject({ state: 'open', deferred: true, digest: row.digest })
    const answer = { action: 'accept', content: { seat: '1C' } } as const
    await one.call('inbox.answer', { id: row.id, answer, seen: row.digest })
    expect(await one.call('runs.wait', { id })).toMatchObject({ state: 'done' })
    expect(inbox.view().get(row.id)).toMatchObject({ state: 'answered' })
    expect(inbox.view().get(row.id)?.deferred).toBeUndefined()
  })

  test('about a value that a server needs fails the start when no client can show it any more', async () => {
    const { config, ran } = session()
    const inputs = [{ id: 'region' }]
    const from = { file: '/none/mcp.json', layer: 'user' as const, inputs }
    const env = { ...('env' in config ? config.env : {}), REGION: `\${input:region}` }
    const { client, service } = await rig({ servers: { s: { ...config, env, from } } })
    const state = () => service.host.connections.get('s')?.state
    expect(state()).toBe('failed')
    const [one, other] = [await client('one'), await client('other')]
    for (const surface of [one, other])
      await surface.call('surface.attach', { name: 'test', kinds: ['input', 'approval'] })
    const inbox = inboxOf(other)
    const reconnected = service.host.reconnect('s')
    const open = (): InboxRow | undefined => inbox.rows().find((row) => row.state === 'open')
    await until(() => open() !== undefined, 'the question')
    one.close()
    await until(() => service.surfaces.attached.length === 1, 'the end of one client')
    expect(open()?.question).toMatchObject({ kind: 'input', input: { id: 'region' } })
    other.close()
    await reconnected
    expect({ state: state(), ran: ran() }).toEqual({ state: 'failed', ran: [] })
    const last = await client('last')
    await last.call('surface.attach', { name: 'test', kinds: ['input'] })
    const rows = inboxOf(last)
    const again = service.host.reconnect('s')
    await until(() => rows.rows().some((row) => row.state === 'open'), 'the question again')
    const [row] = rows.rows().filter((one) => one.state === 'open')
    if (row === undefined) throw new Error('no question')
    await last.call('inbox.answer', {
      id: row.id,
      answer: { verdict: 'allow', value: 'eu' },
      seen: row.digest,
    })
    await again
    expect(state()).toBe('ready')
  })

  test("is shown according to the client's last capabilities", async () => {
    const { client } = await rig({ servers: { s: asking } })
    const [one, other] = [await client('one'), await client('other')]
    const surfaces = watched<SurfaceRow>((rows) => other.subscribe('surfaces', { rows }))
    await one.call('surface.attach', { name: 'test', kinds: [] })
    await one.call('surface.attach', { name: 'test', kinds: [...everyKind] })
    await until(() => surfaces.rows()[0]?.kinds.length === everyKind.length, 'the later kinds')
    expect(surfaces.rows()).toHaveLength(1)
    const inbox = inboxOf(other)
    await one.call('runs.start', { request: { kind: 'call', tool: 's__ask', arguments: {} }, attached: true })
    await until(() => inbox.rows().length === 1, 'the question')
    one.close()
    await until(() => surfaces.rows().length === 0, 'the end of the surface')
  })

  test('is one of up to 1,000 that are open at once', async () => {
    const rules = [{ id: 'ask', verdict: 'ask' as const }]
    const { config, ran } = session()
    const { client, service } = await rig({ servers: { s: config }, rules })
    const one = await client('one')
    await one.call('surface.attach', { name: 'test', kinds: [...everyKind] })
    const inbox = inboxOf(one)
    const stop = new AbortController()
    const calls = Array.from({ length: 1_001 }, (_, n) =>
      service.host.call('s__echo', { text: `${n}` }, { caller: 'chat', signal: stop.signal }),
    )
    const ends = Promise.allSettled(calls)
    const refused = await Promise.race(calls)
    expect(JSON.stringify(refused)).toContain('1000 questions are open already')
    const open = (): InboxRow[] => inbox.rows().filter(({ state }) => state === 'open')
    await until(() => open().length === 1_000, 'the questions')
    const row = open().at(-1)
    if (row === undefined) throw new Error('no question')
    await one.call('inbox.answer', { id: row.id, answer: { verdict: 'allow' }, seen: row.digest })
    await until(() => inbox.view().get(row.id)?.state === 'answered', 'the answer')
    await until(() => ran().length > 0, 'the call that was allowed')
    stop.abort(new Error('The test is over'))
    await until(() => open().length === 0, 'the withdrawn questions')
    await ends
    expect(ran()).toEqual([['echo', { text: expect.any(String) }]])
  })
})

describe('an activity', () => {
  test('is a row from its start on', async () => {
    const { client } = await rig({ servers: { s: session().config } })
    const one = await client('one')
    const activities = watched<Activity>((rows) => one.subscribe('activity', { rows }))
    const id = await one.call('runs.start', { request: { kind: 'call', tool: 's__slow', arguments: {} } })
    const call = (): Activity | undefined => activities.rows().find(({ kind }) => kind === 'call')
    await until(() => call()?.outcome === 'running', 'the row')
    const [begun] = await one.call('activity.list', { kind: 'call' })
    expect(call()).toEqual(begun)
    await one.call('runs.stop', { id })
    await until(() => call()?.outcome === 'cancelled', 'the end')
    for (let n = 0; n < 250; n++) {
      await one.call('runs.start', { request: { kind: 'read', server: 's', uri: `none://${n}` } })
    }
    await until(() => activities.rows().at(-1)?.summary.includes('none://249') === true, 'the last')
    await until(() => activities.rows().every(({ outcome }) => outcome !== 'running'), 'all ends')
    const newest = await one.call('activity.list', { limit: 200 })
    expect(activities.rows()).toEqual(newest)
  })
})

describe('a connection', () => {
  test('to a replacement host repeats no call', async () => {
    const other = await rig()
    let release = (): void => {}
    const hanging = {
      ...scripted('m'),
      generate: () => new Promise<never>((_, reject) => (release = () => reject(new Error('over')))),
    }
    const asked = await rig({ models: [hanging] })
    let current: PeerServer = asked.peers
    const channels: Channel[] = []
    const client = createHostClient({
      name: 'one',
      connect() {
        const [here, there] = channelPair()
        current.serve(there)
        channels.push(here)
        return here
      },
    })
    onTestFinished(() => client.close())
    const known: boolean[] = []
    client.onState((state) => {
      if (state.state === 'connected') known.push(state.isKnown)
    })
    await client.ready()
    const id = await client.call('conversations.open', {})
    const said = client.call('conversations.say', { id, input: { text: 'Hello' } })
    await until(() => asked.service.conversations.busy, 'the turn')
    channels[0]?.close('lost')
    await until(() => known.length === 2, 'the return to the same host')
    current = other.peers
    channels[1]?.close('lost')
    await expect(said).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(known).toEqual([false, true, false])
    expect(await client.call('conversations.list', {})).toEqual([])
    expect(other.service.conversations.busy).toBe(false)
    release()
  })

  test('that is lost is reopened without repeating calls', async () => {
    const { config, ran } = session()
    const { client, peers } = await rig({ servers: { s: config } })
    const folder = mkdtempSync(join(tmpdir(), 'jackfield-service-'))
    const path = join(folder, 'host.sock')
    const sockets: Socket[] = []
    const server = createServer((socket) => {
      sockets.push(socket)
      peers.serve(streamChannel(socket))
    })
    await new Promise<void>((resolve) => server.listen(path, resolve))
    onTestFinished(() => {
      server.close()
      rmSync(folder, { recursive: true, force: true })
    })
    const one = await client('one', () => streamChannel(connectSocket(path)))
    const runs = runsOf(one)
    const started = Array.from({ length: 20 }, (_, n) =>
      one.call('runs.start', { request: { kind: 'call', tool: 's__echo', arguments: { text: `${n}` } } }),
    )
    // The connection is cut before the answers arrive.
    setImmediate(() => sockets[0]?.destroy())
    const ids = await Promise.all(started)
    for (const id of ids) expect(await one.call('runs.wait', { id })).toMatchObject({ state: 'done' })
    expect(ran().filter(([tool]) => tool === 'echo')).toHaveLength(20)
    await until(() => ids.every((id) => runs.view().get(id)?.state === 'done'), 'the rows after the return')
  })

  test('of a client that repeats a call gives the first result, or says that it is not kept', async () => {
    const { peers } = await rig()
    const hello = { client: 'a-client-id', name: 'raw', build: '' }
    const connected = (): { send: (call: number) => void; frames: Record<string, unknown>[] } => {
      const [here, there] = channelPair()
      peers.serve(there)
      const frames: Record<string, unknown>[] = []
      here.listen(
        (text) => void frames.push(JSON.parse(text)),
        () => {},
      )
      here.send(JSON.stringify({ hello }))
      const params = { prompt: 'none', arguments: {} }
      return {
        frames,
        send: (call) => here.send(JSON.stringify({ call, method: 'library.keepPromptValues', params })),
      }
    }
    const first = connected()
    for (let call = 1; call <= 501; call++) first.send(call)
    await until(() => first.frames.length === 502, 'the answers')
    const again = connected()
    for (const call of [1, 2, 501]) again.send(call)
    await until(() => again.frames.length === 4, 'the answers again')
    expect(again.frames.slice(1).sort((a, b) => Number(a['call']) - Number(b['call']))).toEqual([
      { call: 1, fault: expect.objectContaining({ code: 'OUTCOME_UNKNOWN' }) },
      ...first.frames.filter(({ call }) => call === 2 || call === 501),
    ])
  })

  test('rejects unreadable frames and invalid calls', async () => {
    const { client, peers } = await rig()
    const one = await client('one')
    await expect(one.call('runs.get', { id: 'none' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    // @ts-expect-error There is no such method.
    await expect(one.call('runs.make', {})).rejects.toThrow('There is no method "runs.make".')
    // @ts-expect-error The id is missing.
    await expect(one.call('runs.get', {})).rejects.toThrow(/runs\.get do not fit[\s\S]*id/)
    const [here, there] = channelPair()
    peers.serve(there)
    const closed = new Promise<string>((resolve) => here.listen(() => {}, resolve))
    here.send('{"call":1,"method":"host.status","params":{}}')
    expect(await closed).toContain('closed')
  })
})

describe('changes', () => {
  const key = fc.constantFrom('a', 'b', 'c', 'd')
  const row = fc.record({ text: fc.string(), n: fc.integer() })
  const change: fc.Arbitrary<Change<unknown>> = fc.oneof(
    fc.record({ set: key, row }),
    fc.record({ remove: key }),
    fc.record({ append: key, field: fc.constant('text'), text: fc.string() }),
  )

  test('lead from any view to the next, applied at once or one by one', () => {
    fc.assert(
      fc.property(fc.array(change), fc.array(change), (before, after) => {
        const start = changed(new Map(), before)
        const whole = changed(start, after)
        const stepwise = new Map(start)
        for (const one of after) applyChanges(stepwise, [one])
        expect([...stepwise]).toEqual([...whole])
        expect(new Map(changed(start, difference(start, whole)))).toEqual(new Map(whole))
      }),
    )
  })
})
