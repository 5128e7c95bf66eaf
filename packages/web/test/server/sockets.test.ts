import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type WebSocket from 'ws'
import { type Browser, builtPage, closeOf, openSocket, type Rig, rig, until, webClient } from './rig.ts'

afterEach(() => void vi.useRealTimers())

/** The first frame of a client. */
const hello = (): string => JSON.stringify({ hello: { client: randomUUID(), name: 'Eve <b>', build: '' } })

/** A socket that is served, with the frames it got. */
async function served({ port }: Rig, { cookie, pageKey }: Browser, headers: object = {}, autoPong = true) {
  const socket = openSocket(port, { cookie, headers }, { autoPong })
  const frames: string[] = []
  socket.on('message', (data) => frames.push(String(data)))
  await once(socket, 'open')
  socket.send(pageKey)
  socket.send(hello())
  await until(() => frames.length > 0, 'the welcome')
  return { socket, frames }
}

describe('a WebSocket', () => {
  test('is a channel of the host: methods and topics', async () => {
    const { port, login } = await rig()
    const client = webClient(port, await login())
    await client.ready()
    const rows: number[] = []
    client.subscribe('surfaces', { rows: (view) => rows.push(view.size) })
    await client.call('surface.attach', { name: 'page', kinds: ['approval'] })
    expect(await client.call('servers.list', {})).toEqual([])
    await until(() => rows.includes(1), 'the row of the surface')
    await expect(client.call('runs.get', { id: 'none' })).rejects.toThrow()
  })

  test('is named after its browser, whatever name it sends', async () => {
    const it = await rig()
    const mine = await it.login()
    const agents: Record<string, string> = {
      'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0': 'Firefox',
      'Mozilla/5.0 (X11) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36': 'Chrome',
      'Mozilla/5.0 (X11) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/140.0 Safari/537.36': 'Chrome',
      'Mozilla/5.0 AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0': 'Edge',
      'Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15':
        'Safari',
      [`jackfield chat${' '.repeat(20)}x`.repeat(40)]: 'a browser',
    }
    for (const [agent, name] of Object.entries(agents)) {
      const { socket } = await served(it, mine, { 'User-Agent': agent })
      expect(it.service.clients()).toEqual([`web · ${name} on ${hostname()}`])
      socket.send(JSON.stringify({ bye: true }))
      socket.close()
      await until(() => it.service.clients().length === 0, 'the end of the client')
    }
  })

  test('without a session is closed before anything is read from it', async () => {
    const { port, login, web } = await rig()
    const mine = await login()
    const cookies = ['', `${mine.cookie}x`, 'other=1']
    for (const cookie of cookies)
      expect(await closeOf(openSocket(port, { cookie }))).toEqual({ code: 4401, reason: 'login needed' })
    web.revoke(web.sessions()[0]?.id ?? '')
    expect(await closeOf(openSocket(port, mine))).toMatchObject({ code: 4401 })
  })

  test('with a cookie alone, or the page key of another session, is closed', async () => {
    const { port, login, service } = await rig()
    const [mine, other] = [await login(), await login()]
    for (const first of [other.pageKey, '', 'x'.repeat(1_000), hello(), Buffer.from(mine.pageKey)]) {
      const socket = openSocket(port, mine)
      socket.on('open', () => {
        socket.send(first)
        socket.send(hello())
      })
      expect(await closeOf(socket)).toEqual({ code: 4401, reason: 'login needed' })
    }
    expect(service.clients()).toEqual([])
  })

  test('must send its page key within 2 s', async () => {
    const { port, login } = await rig()
    const mine = await login()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const socket = openSocket(port, mine)
    const end = closeOf(socket)
    // The answer to the handshake is sent before the time begins.
    await once(socket, 'open')
    await vi.advanceTimersByTimeAsync(2_000)
    expect(await end).toMatchObject({ code: 4408 })
  })

  test('of another origin, host, path or method is rejected', async () => {
    const { port, login } = await rig()
    const { cookie } = await login()
    const own = `http://127.0.0.1:${port}`
    const handshakes: [status: number, path: string, headers: object][] = [
      [403, '/socket', { Origin: 'https://evil.example' }],
      [403, '/socket', { Origin: 'null' }],
      [403, '/socket', { Origin: `http://localhost:${port}` }],
      [403, '/socket', { Origin: `http://127.0.0.1:${port + 1}` }],
      [403, '/socket', { Origin: own, 'Sec-Fetch-Site': 'cross-site' }],
      [421, '/socket', { Host: `localhost:${port}` }],
      [421, '/socket', { Host: 'evil.example' }],
      [404, '/', {}],
      [404, '/socket/', {}],
    ]
    for (const [status, path, headers] of handshakes)
      expect(await closeOf(openSocket(port, { cookie, path, headers }))).toEqual({ status })
    const socket = connect(port, '127.0.0.1')
    const handshake = [
      'GET /socket HTTP/1.1',
      `Host: 127.0.0.1:${port}`,
      `Cookie: ${cookie}`,
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
    ]
    socket.write(`${handshake.join('\r\n')}\r\n\r\n`)
    const [data] = await once(socket, 'data')
    expect(String(data)).toMatch(/^HTTP\/1.1 403 /)
    socket.destroy()
  })

  test('of a page of another build is closed with the code that makes it reload', async () => {
    const page = builtPage()
    const { port, login, ask } = await rig({ page })
    const buildOf = async (): Promise<string> =>
      /<meta name="build" content="([\w-]{16})">/.exec((await ask('GET', '/')).body)?.[1] ?? ''
    const before = await buildOf()
    writeFileSync(join(page, 'index.html'), `${readFileSync(join(page, 'index.html'), 'utf8')}<p>New</p>`)
    const build = await buildOf()
    expect(build).not.toBe(before)
    const mine = await login()
    const same = openSocket(port, { ...mine, path: `/socket?build=${build}` })
    const frames: string[] = []
    same.on('message', (data) => frames.push(String(data)))
    const other = openSocket(port, { ...mine, path: `/socket?build=${before}` })
    const end = closeOf(other)
    for (const socket of [same, other])
      socket.on('open', () => {
        socket.send(mine.pageKey)
        socket.send(hello())
      })
    expect(await end).toMatchObject({ code: 4426 })
    await until(() => frames.length > 0, 'the welcome')
  })

  test('accepts text frames of up to 1 MiB', async () => {
    const it = await rig()
    const mine = await it.login()
    const call = (text: string): string =>
      JSON.stringify({ call: 1, method: 'catalog.searchTools', params: { query: text } })
    const large = await served(it, mine)
    large.socket.send(call('x'.repeat(1_000_000)))
    await until(() => large.frames.length > 1, 'the answer')
    const tooLarge = closeOf(large.socket)
    large.socket.send(call('x'.repeat(1_048_576)))
    expect(await tooLarge).toMatchObject({ code: 1009 })
    const binary = await served(it, mine)
    const end = closeOf(binary.socket)
    binary.socket.send(Buffer.from(call('x')))
    expect(await end).toMatchObject({ code: 1003 })
    const broken = await served(it, mine)
    const closed = closeOf(broken.socket)
    broken.socket.send('{')
    expect(await closed).toEqual({ code: 4000, reason: 'a frame could not be read' })
  })

  test('does not compress', async () => {
    const it = await rig()
    const { socket } = await served(it, await it.login())
    expect(socket.extensions).toBe('')
  })

  test('is pinged every 15 s, and closed if no pong arrives for 30 s', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const it = await rig()
    const mine = await it.login()
    const alive = await served(it, mine)
    const dead = await served(it, mine, {}, false)
    let pings = 0
    dead.socket.on('ping', () => {
      pings += 1
    })
    let answered = 0
    alive.socket.on('ping', () => {
      answered += 1
    })
    const end = closeOf(dead.socket)
    for (let n = 1; n <= 2; n++) {
      vi.advanceTimersByTime(15_000)
      await until(() => pings === n && answered === n, 'a ping')
      // Its pong is read before what it sends next is answered.
      alive.socket.send(JSON.stringify({ call: n, method: 'servers.list', params: {} }))
      await until(() => alive.frames.length > n, 'an answer')
    }
    vi.advanceTimersByTime(15_000)
    expect(await end).toMatchObject({ code: 1006 })
    await until(() => answered === 3, 'a ping')
    expect(alive.socket.readyState).toBe(alive.socket.OPEN)
  })

  test('cannot crash the host if the sessions cannot be read', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const it = await rig()
    const mine = await it.login()
    const open = await served(it, mine)
    const waiting = openSocket(it.port, mine)
    await once(waiting, 'open')
    const database = new DatabaseSync(it.file)
    database.exec('ALTER TABLE sessions RENAME TO gone')
    const end = closeOf(waiting)
    waiting.send(mine.pageKey)
    expect(await end).toMatchObject({ code: 1013 })
    expect(await closeOf(openSocket(it.port, mine))).toEqual({ status: 500 })
    expect((await it.ask('GET', '/sessions', { headers: { Cookie: mine.cookie } })).status).toBe(500)
    vi.advanceTimersByTime(15_000)
    expect(open.socket.readyState).toBe(open.socket.OPEN)
    expect(it.warnings).toHaveLength(4)
    expect(it.warnings[0]).toContain('no such table')
    database.exec('ALTER TABLE gone RENAME TO sessions')
    database.close()
    await served(it, mine)
  })

  test('ends where its session expires', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] })
    const it = await rig()
    const { socket } = await served(it, await it.login())
    const end = closeOf(socket)
    vi.setSystemTime(Date.now() + 31 * 24 * 3_600_000)
    vi.advanceTimersByTime(15_000)
    expect(await end).toEqual({ code: 4401, reason: 'the session ended' })
  })

  test('is one of 64 at most, and one of 16 that have not sent their page key', async () => {
    const it = await rig()
    const mine = await it.login()
    const open: WebSocket[] = []
    for (let n = 0; n < 16; n++) open.push(openSocket(it.port, mine))
    await Promise.all(open.map((socket) => once(socket, 'open')))
    expect(await closeOf(openSocket(it.port, mine))).toMatchObject({ code: 1013 })
    for (const socket of open) socket.terminate()
    const all: WebSocket[] = []
    while (all.length < 64) {
      const socket = openSocket(it.port, mine)
      const [first] = await Promise.race([
        once(socket, 'open').then(() => ['open']),
        once(socket, 'close').then(() => ['closed']),
      ])
      if (first === 'closed') continue
      socket.send(mine.pageKey)
      socket.send(hello())
      const isServed = await Promise.race([
        once(socket, 'message').then(() => true),
        once(socket, 'close').then(() => false),
      ])
      if (isServed) all.push(socket)
    }
    expect(await closeOf(openSocket(it.port, mine))).toMatchObject({ code: 1013 })
    all[0]?.terminate()
    let isServed = false
    while (!isServed) {
      const socket = openSocket(it.port, mine)
      socket.on('open', () => {
        socket.send(mine.pageKey)
        socket.send(hello())
      })
      isServed = await Promise.race([
        once(socket, 'message').then(() => true),
        once(socket, 'close').then(() => false),
      ])
    }
  })

  test('of a browser that does not read has a bounded buffer', async () => {
    const it = await rig()
    const mine = await it.login()
    const { socket, frames } = await served(it, mine)
    const calls = 100
    socket.pause()
    const params = { uriTemplate: 'x:{y}', values: { y: 'y'.repeat(500_000) } }
    for (let call = 1; call <= calls; call++)
      socket.send(JSON.stringify({ call, method: 'library.expand', params }))
    const end = closeOf(socket)
    await until(() => it.service.clients().length === 1 && socket.bufferedAmount === 0, 'the calls')
    socket.resume()
    // The close frame arrives where the browser reads again in time.
    expect([4000, 1006]).toContain(Object.values(await end)[0])
    expect(frames.length).toBeLessThan(calls)
  })

  test('is closed with the server, also if the client does not complete the closing handshake', async () => {
    const it = await rig()
    const mine = await it.login()
    const { socket } = await served(it, mine)
    const silent = await served(it, mine)
    silent.socket.pause()
    const end = closeOf(socket)
    await it.web.close()
    expect(await end).toEqual({ code: 1001, reason: 'the host ends' })
  })
})
