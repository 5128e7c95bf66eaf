import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type Browser, closeOf, keyOf, openSocket, type Rig, rig, send, tempFolder, until } from './rig.ts'

const json = { 'Content-Type': 'application/json' }
const minute = 60_000
const day = 24 * 60 * minute

function logIn({ ask }: Rig, key: string, headers: Record<string, string> = {}) {
  return ask('POST', '/login', { headers: { ...json, ...headers }, body: JSON.stringify({ key }) })
}

/** Headers with both halves of a session. */
function both({ cookie, pageKey }: Browser): Record<string, string> {
  return { Cookie: cookie, Authorization: `Bearer ${pageKey}` }
}

/** Lets time pass, for what looks at the clock. */
function pass(ms: number): void {
  const now = Date.now()
  vi.useFakeTimers({ toFake: ['Date'], now: now + ms })
}

afterEach(() => void vi.useRealTimers())

describe('a login link', () => {
  test('has 128 random bits in its fragment, and creates both halves of a session', async () => {
    const served = await rig()
    const { web, port } = served
    const link = web.link()
    expect(link).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:${port}/#k=[\\w-]{22}$`))
    expect(Buffer.from(keyOf(link), 'base64url')).toHaveLength(16)
    const { status, headers, body } = await logIn(served, keyOf(link), { 'User-Agent': 'x Firefox/140.0' })
    expect({ status, cache: headers['cache-control'] }).toEqual({ status: 200, cache: 'no-store' })
    expect(headers['set-cookie']).toEqual([
      expect.stringMatching(
        new RegExp(`^jackfield-${port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000$`),
      ),
    ])
    expect(JSON.parse(body)).toEqual({
      pageKey: expect.stringMatching(/^[\w-]{43}$/),
      expires: web.sessions()[0]?.expires,
    })
    expect(headers['set-cookie']?.[0]).not.toContain(JSON.parse(body).pageKey)
    expect(web.sessions()).toMatchObject([{ name: `Firefox on ${hostname()}` }])
  })

  test('is valid once, also where two browsers open it at the same time', async () => {
    const served = await rig()
    const key = keyOf(served.web.link())
    const statuses = await Promise.all([logIn(served, key), logIn(served, key), logIn(served, key)])
    expect(statuses.map(({ status }) => status).sort()).toEqual([200, 401, 401])
    expect(await logIn(served, key)).toMatchObject({
      status: 401,
      body: expect.stringContaining('Run jackfield web for another one'),
    })
    expect(served.web.sessions()).toHaveLength(1)
  })

  test('is valid for 60 s, also where the clock is set back', async () => {
    const served = await rig()
    const { web } = served
    const [early, late, odd] = [web.link(), web.link(), web.link()].map(keyOf)
    pass(minute - 1_000)
    expect((await logIn(served, early ?? '')).status).toBe(200)
    pass(1_000)
    expect((await logIn(served, late ?? '')).status).toBe(401)
    pass(-10 * minute)
    expect((await logIn(served, odd ?? '')).status).toBe(401)
  })

  test('is one of the last 16', async () => {
    const served = await rig()
    const keys = Array.from({ length: 17 }, () => keyOf(served.web.link()))
    expect((await logIn(served, keys[0] ?? '')).status).toBe(401)
    expect((await logIn(served, keys[1] ?? '')).status).toBe(200)
  })

  test('cannot be guessed: after 5 wrong logins every login is refused until the minute is over', async () => {
    const served = await rig()
    const key = keyOf(served.web.link())
    for (let n = 0; n < 5; n++) expect((await logIn(served, `wrong${n}`)).status).toBe(401)
    const refused = await logIn(served, key)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(served.warnings).toEqual([expect.stringContaining('5 wrong logins within a minute')])
    pass(minute)
    expect((await logIn(served, keyOf(served.web.link()))).status).toBe(200)
  })

  test('is used with a small JSON object only', async () => {
    const served = await rig()
    const { ask, web } = served
    const key = keyOf(web.link())
    const post = (body: string, headers: Record<string, string> = json) =>
      ask('POST', '/login', { headers, body })
    expect((await post(JSON.stringify({ key }), { 'Content-Type': 'text/plain' })).status).toBe(415)
    expect((await post(`key=${key}`, { 'Content-Type': 'application/x-www-form-urlencoded' })).status).toBe(
      415,
    )
    expect((await post('{')).status).toBe(400)
    expect((await post('null')).status).toBe(400)
    expect((await post('{"key":1}')).status).toBe(400)
    expect((await post(JSON.stringify({ key, more: 'x'.repeat(2_000) }))).status).toBe(413)
    const chunked = { ...json, 'Content-Length': '', 'Transfer-Encoding': 'chunked' }
    expect((await post(JSON.stringify({ key, more: 'x'.repeat(2_000) }), chunked)).status).toBe(413)
    expect((await ask('GET', `/login?key=${key}`)).status).toBe(405)
    // None of these used the key, or counts as a wrong login.
    expect((await post(JSON.stringify({ key }))).status).toBe(200)
  })
})

describe('a session', () => {
  test('needs both halves: cookie and page key', async () => {
    const { ask, login, web } = await rig()
    const mine = await login()
    const other = await login()
    expect(web.sessions()).toHaveLength(2)
    const wrong: Record<string, string>[] = [
      {},
      { Cookie: mine.cookie },
      { Authorization: `Bearer ${mine.pageKey}` },
      { Cookie: mine.cookie, Authorization: `Bearer ${other.pageKey}` },
      { Cookie: mine.cookie, Authorization: `Bearer ${mine.pageKey}x` },
      { Cookie: mine.cookie, Authorization: `Basic ${mine.pageKey}` },
      { Cookie: `${mine.cookie}x`, Authorization: `Bearer ${mine.pageKey}` },
      { Cookie: mine.cookie.replace('jackfield-', 'jackfield'), Authorization: `Bearer ${mine.pageKey}` },
    ]
    for (const headers of wrong)
      for (const [method, path] of [
        ['GET', '/sessions'],
        ['POST', '/logout'],
        ['DELETE', `/sessions/${web.sessions()[0]?.id}`],
      ] as const)
        expect({ headers, status: (await ask(method, path, { headers })).status }).toEqual({
          headers,
          status: 401,
        })
    expect(web.sessions()).toHaveLength(2)
    const { body } = await ask('GET', '/sessions', { headers: both(mine) })
    const { sessions }: { sessions: { isThis: boolean }[] } = JSON.parse(body)
    expect(sessions.map(({ isThis }) => isThis)).toEqual([true, false])
    expect(body).not.toContain(mine.pageKey)
  })

  test('is found also if another server of this machine set cookies of its name', async () => {
    const { ask, login, port } = await rig()
    const mine = await login()
    const Cookie = `jackfield-${port}=planted; other=1; ${mine.cookie}`
    expect((await ask('GET', '/sessions', { headers: { ...both(mine), Cookie } })).status).toBe(200)
  })

  test('ends with a logout, which also closes its sockets', async () => {
    const { ask, login, port, web } = await rig()
    const mine = await login()
    const other = await login()
    const socket = openSocket(port, mine)
    socket.on('open', () => socket.send(mine.pageKey))
    const used = web.sessions()[0]?.used ?? ''
    await until(() => (web.sessions()[0]?.used ?? '') > used, 'the use of the session')
    const end = closeOf(socket)
    const out = await ask('POST', '/logout', { headers: both(mine) })
    expect(out.status).toBe(204)
    expect(out.headers['set-cookie']).toEqual([expect.stringMatching(/=; .*Max-Age=0$/)])
    expect(await end).toEqual({ code: 4401, reason: 'the session ended' })
    expect((await ask('GET', '/sessions', { headers: both(mine) })).status).toBe(401)
    expect((await ask('GET', '/sessions', { headers: both(other) })).status).toBe(200)
  })

  test('can be ended from another browser, and by the host', async () => {
    const { ask, login, web } = await rig()
    const [mine, stolen, third] = [await login(), await login(), await login()]
    const [, second, last] = web.sessions()
    const headers = both(mine)
    expect((await ask('DELETE', `/sessions/${second?.id}`, { headers })).status).toBe(204)
    expect((await ask('DELETE', `/sessions/${second?.id}`, { headers })).status).toBe(404)
    expect((await ask('GET', '/sessions', { headers: both(stolen) })).status).toBe(401)
    expect(web.revoke(last?.id ?? '')).toBe(true)
    expect(web.revoke(last?.id ?? '')).toBe(false)
    expect((await ask('GET', '/sessions', { headers: both(third) })).status).toBe(401)
    expect(web.sessions()).toHaveLength(1)
  })

  test('ends after 30 days', async () => {
    const { ask, login, web } = await rig()
    const mine = await login()
    pass(30 * day - minute)
    expect((await ask('GET', '/sessions', { headers: both(mine) })).status).toBe(200)
    pass(minute)
    expect((await ask('GET', '/sessions', { headers: both(mine) })).status).toBe(401)
    expect(web.sessions()).toEqual([])
  })

  test('is one for each browser: another login renews its secrets', async () => {
    const { ask, login, web } = await rig()
    const before = await login()
    const [session] = web.sessions()
    const after = await login({ Cookie: before.cookie })
    expect(web.sessions()).toMatchObject([{ id: session?.id, created: session?.created }])
    expect((await ask('GET', '/sessions', { headers: both(before) })).status).toBe(401)
    expect((await ask('GET', '/sessions', { headers: both(after) })).status).toBe(200)
  })

  test('is one of 32; the one that was used least recently ends', async () => {
    const { login, web, ask } = await rig()
    vi.useFakeTimers({ toFake: ['Date'] })
    const browsers: Browser[] = []
    for (let n = 0; n < 33; n++) {
      browsers.push(await login())
      vi.setSystemTime(Date.now() + 1_000)
    }
    expect(web.sessions()).toHaveLength(32)
    expect(
      (await ask('GET', '/sessions', { headers: both(browsers[0] ?? browsers[1] ?? fail()) })).status,
    ).toBe(401)
  })

  test('outlives the server; the file contains hashes only, and is readable by its owner only', async () => {
    const file = join(tempFolder(), 'sub', 'web.db')
    const first = await rig({ file, port: 'usual' })
    const mine = await first.login()
    const link = first.web.link()
    await first.web.close()
    const text = readFileSync(file, 'latin1')
    const [, cookie = ''] = mine.cookie.split('=')
    for (const secret of [cookie, mine.pageKey, keyOf(link)]) {
      expect(text).not.toContain(secret)
      expect(text).not.toContain(Buffer.from(secret, 'base64url').toString('latin1'))
    }
    if (process.platform !== 'win32') {
      expect(statSync(file).mode & 0o777).toBe(0o600)
      expect(statSync(`${file}.lock`).mode & 0o777).toBe(0o600)
    }
    const { port } = await rig({ file, port: 'usual' })
    expect(port).toBe(first.port)
    expect((await send(port, 'GET', '/sessions', { headers: both(mine) })).status).toBe(200)
  })

  test('file that cannot be used is named, with advice', async () => {
    const file = join(tempFolder(), 'web.db')
    writeFileSync(file, 'no database'.repeat(100))
    await expect(rig({ file })).rejects.toThrow(/Cannot use .*web\.db .*Remove the file/)
  })
})

function fail(): never {
  throw new Error('No browser logged in')
}
