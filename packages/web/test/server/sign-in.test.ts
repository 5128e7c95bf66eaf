import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { createPeerServer, HostService } from '@jackfield/host/service'
import { offlineModel } from '@jackfield/server-travel/planner'
import { type ServeWebUsersOptions, serveWebUsers, type UsersWebServer, type WebUser } from '@jackfield/web'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { startIssuer, type TestIssuer } from './issuer.ts'
import {
  type Browser,
  builtPage,
  closeOf,
  openSocket,
  send,
  type TestRequest,
  type TestResponse,
  tempFolder,
  until,
  webClient,
} from './rig.ts'

const origin = 'https://jackfield.example'

/** A web server for several people, and an issuer. */
interface Users {
  readonly web: UsersWebServer
  readonly issuer: TestIssuer
  readonly port: number
  readonly file: string
  readonly warnings: string[]
  /** Users whose hosts were opened, and `-` with those that were closed. */
  readonly hosts: string[]
  /** The services that are open, by subject. */
  readonly services: Map<string, HostService>
  ask(method: string, path: string, options?: TestRequest): Promise<TestResponse>
}

async function users(given: Partial<ServeWebUsersOptions> = {}, known?: TestIssuer): Promise<Users> {
  const issuer = known ?? (await startIssuer())
  const file = given.file ?? join(tempFolder(), 'sessions.db')
  const warnings: string[] = []
  const hosts: string[] = []
  const services = new Map<string, HostService>()
  const open = async ({ subject }: WebUser) => {
    const service = new HostService({ servers: {}, models: [offlineModel], version: '1' })
    services.set(subject, service)
    hosts.push(subject)
    const peers = await createPeerServer(service)
    return {
      peers,
      apps: service.host.apps,
      isBusy: () => service.busy,
      async close() {
        hosts.push(`-${subject}`)
        peers.close('the host ends')
        await service.close()
      },
    }
  }
  const web = await serveWebUsers({
    ...{ origin, listen: 0, oidc: { issuer: issuer.url, clientId: 'jackfield' }, allow: ['everyone'] },
    ...{ file, open, page: builtPage(), onWarning: (message: string) => void warnings.push(message) },
    ...given,
  })
  onTestFinished(() => web.close())
  const port = Number(web.listening)
  const ask: Users['ask'] = (method, path, options) =>
    send(port, method, path, { ...options, headers: { ...publicHeaders(method), ...options?.headers } })
  return { web, issuer, port, file, warnings, hosts, services, ask }
}

function publicHeaders(method: string): Record<string, string> {
  return { Host: 'jackfield.example', Origin: method === 'GET' || method === 'HEAD' ? '' : origin }
}

/** A sign-in that a browser has begun. */
interface Begun {
  readonly cookie: string
  readonly at: URL
  /** The path that the issuer leads back to with the code of a person. */
  callback(subject: string, more?: Record<string, string>): string
}

async function begin({ ask }: Users, { to = '/', cookie = '' } = {}): Promise<Begun> {
  const { status, headers } = await ask('GET', `/sign-in${to}`, {
    headers: { Cookie: cookie },
  })
  expect(status).toBe(303)
  const at = new URL(headers.location ?? '')
  return {
    cookie: cookieIn(headers['set-cookie']),
    at,
    callback(subject, more = {}) {
      const state = at.searchParams.get('state') ?? ''
      const code = `${subject}.${at.searchParams.get('nonce')}`
      return `/oidc/callback?${new URLSearchParams({ state, code, ...more })}`
    },
  }
}

function cookieIn(lines: readonly string[] | undefined): string {
  return lines?.[0]?.split(';')[0] ?? ''
}

/** The callback, as a browser that comes from the issuer requests it. */
async function comeBack({ ask }: Users, path: string, cookie: string): Promise<TestResponse> {
  return await ask('GET', path, { headers: { Cookie: cookie, 'Sec-Fetch-Site': 'cross-site' } })
}

function keyIn({ headers }: TestResponse): string | undefined {
  return /#k=([\w-]{22})$/.exec(String(headers['refresh']))?.[1]
}

async function logIn({ ask }: Users, key: string | undefined, cookie: string): Promise<TestResponse> {
  return await ask('POST', '/login', {
    headers: { 'Content-Type': 'application/json', Cookie: cookie },
    body: JSON.stringify({ key }),
  })
}

/** Signs a browser in: to the issuer, back, and the login of the page. */
async function signIn(rig: Users, subject: string): Promise<Browser> {
  const { cookie, callback } = await begin(rig)
  const answer = await logIn(rig, keyIn(await comeBack(rig, callback(subject), cookie)), cookie)
  expect(answer.status).toBe(200)
  const { pageKey }: { pageKey: string } = JSON.parse(answer.body)
  return { cookie: cookieIn(answer.headers['set-cookie']), pageKey }
}

const socketHeaders = { Host: 'jackfield.example', Origin: origin }

/** The status of `/sessions` for a browser, which has to be logged in. */
async function sessionsOf({ ask }: Users, { cookie, pageKey }: Browser): Promise<TestResponse> {
  return await ask('GET', '/sessions', { headers: { Cookie: cookie, Authorization: `Bearer ${pageKey}` } })
}

afterEach(() => {
  vi.useRealTimers()
})

describe('a sign-in at an issuer', () => {
  test('is an authorization code flow with PKCE, and ends in a session of two halves', async () => {
    const rig = await users()
    const { at, cookie, callback } = await begin(rig, { to: '/inbox?filter=x' })
    const { state, nonce, code_challenge, ...rest } = Object.fromEntries(at.searchParams)
    expect(`${at.origin}${at.pathname}`).toBe(`${rig.issuer.url}/authorize`)
    expect(rest).toEqual({
      response_type: 'code',
      client_id: 'jackfield',
      ui_locales: 'en',
      redirect_uri: `${origin}/oidc/callback`,
      scope: 'openid',
      code_challenge_method: 'S256',
    })
    const back = await comeBack(rig, callback('ann'), cookie)
    expect(back.headers['refresh']).toMatch(
      /^0;url=https:\/\/jackfield\.example\/inbox\?filter=x#k=[\w-]{22}$/,
    )
    expect(back.headers['strict-transport-security']).toBe('max-age=31536000')
    expect(back.body).not.toContain(keyIn(back))
    const login = await logIn(rig, keyIn(back), cookie)
    expect(login.headers['set-cookie']).toEqual([
      expect.stringMatching(
        /^__Host-jackfield=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure; Max-Age=28800$/,
      ),
    ])
    const [exchange] = rig.issuer.exchanges
    expect(exchange?.get('redirect_uri')).toBe(`${origin}/oidc/callback`)
    expect(exchange?.get('code_verifier')).toMatch(/^[\w-]{43}$/)
    expect(exchange?.get('client_secret')).toBeNull()
    expect(rig.web.sessions()).toEqual([
      expect.objectContaining({ user: { issuer: rig.issuer.url, subject: 'ann' } }),
    ])
    for (const secret of [state, nonce, code_challenge]) expect(secret?.length).toBeGreaterThan(20)
  })

  test.each([
    ['another nonce', { nonce: 'x' }],
    ['no nonce', { nonce: undefined }],
    ['another issuer', { iss: 'https://other.example' }],
    ['another audience', { aud: 'other' }],
    ['several audiences without the authorized party', { aud: ['jackfield', 'other'] }],
    ['an authorized party that is another client', { aud: ['jackfield', 'other'], azp: 'other' }],
    ['an expired token', { exp: 1_000_000 }],
    ['no subject', { sub: undefined }],
  ])('is refused with %s', async (_, claims) => {
    const rig = await users()
    rig.issuer.claims = claims
    const { cookie, callback } = await begin(rig)
    const back = await comeBack(rig, callback('ann'), cookie)
    expect([back.status, keyIn(back), back.headers['set-cookie']]).toEqual([502, undefined, undefined])
    expect(back.body).toContain('its answer is not valid')
    expect(rig.warnings).toEqual([expect.stringMatching(/^A sign-in at the issuer .* failed: /)])
  })

  test('is refused with an ID token of another key', async () => {
    const rig = await users()
    rig.issuer.isForged = true
    const { cookie, callback } = await begin(rig)
    expect((await comeBack(rig, callback('ann'), cookie)).status).toBe(502)
  })

  test('is completed only by the browser that began it, once, within ten minutes', async () => {
    const rig = await users()
    const [victim, attacker] = [await begin(rig), await begin(rig)]
    // Login CSRF: the victim follows a link to the callback of the attacker's sign-in.
    for (const cookie of [victim.cookie, ''])
      expect((await comeBack(rig, attacker.callback('mallory'), cookie)).status).toBe(400)
    const changed = attacker.callback('mallory').replace(/state=...../, 'state=AAAAA')
    expect((await comeBack(rig, changed, attacker.cookie)).status).toBe(400)
    expect(rig.issuer.exchanges).toEqual([])
    const back = await comeBack(rig, attacker.callback('mallory'), attacker.cookie)
    expect(back.status).toBe(200)
    expect((await comeBack(rig, attacker.callback('mallory'), attacker.cookie)).status).toBe(502)
    // Nor does the address with the login key work in another browser; it is not used up by that.
    for (const cookie of [victim.cookie, '']) expect((await logIn(rig, keyIn(back), cookie)).status).toBe(401)
    expect((await logIn(rig, keyIn(back), attacker.cookie)).status).toBe(200)
    const late = await begin(rig)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 601_000 })
    expect((await comeBack(rig, late.callback('ann'), late.cookie)).status).toBe(400)
  })

  test('returns to paths of the page only', async () => {
    const rig = await users()
    for (const to of [
      '//evil.example',
      '/https://evil.example/',
      '/\\evil.example',
      '/@evil.example',
      '/login',
      '//',
      `/inbox?${'x'.repeat(600)}`,
    ]) {
      const { cookie, callback } = await begin(rig, { to })
      const back = await comeBack(rig, callback('ann'), cookie)
      expect([to, String(back.headers['refresh']).split('#')[0]]).toEqual([to, `0;url=${origin}/`])
    }
  })

  test('shows an error of the issuer as text', async () => {
    const rig = await users()
    const { cookie, callback, at } = await begin(rig)
    const state = at.searchParams.get('state') ?? ''
    const error = { error: 'access_denied', error_description: `<script>x</script>${'y'.repeat(500)}` }
    const refused = await comeBack(rig, `/oidc/callback?${new URLSearchParams({ state, ...error })}`, cookie)
    expect(refused.status).toBe(403)
    expect(refused.body).toContain('The issuer did not sign you in: access_denied (&#60;script&#62;x')
    expect(refused.body).toContain('Sign in again')
    expect(refused.body.length).toBeLessThan(800)
    expect((await comeBack(rig, callback('ann', { iss: 'https://other.example' }), cookie)).status).toBe(502)
  })

  test('is in the language of the browser', async () => {
    const rig = await users({ allow: ['sub:ann'] })
    for (const [accepted, language, title] of [
      ['zh-CN,zh;q=0.9,en;q=0.8', 'zh-CN', '未登录'],
      ['de, ZH-TW', 'zh-CN', '未登录'],
      ['en-GB,en;q=0.9,zh;q=0.8', 'en', 'You are not signed in'],
      ['', 'en', 'You are not signed in'],
    ] as const) {
      const headers = { 'Accept-Language': accepted }
      const begun = await rig.ask('GET', '/sign-in/', { headers })
      const at = new URL(begun.headers.location ?? '')
      expect(at.searchParams.get('ui_locales')).toBe(language)
      const { cookie, callback } = await begin(rig)
      const refused = await rig.ask('GET', callback('mallory'), { headers: { ...headers, Cookie: cookie } })
      expect([accepted, refused.status]).toEqual([accepted, 403])
      expect(refused.body).toContain(`<html lang="${language}">`)
      expect(refused.body).toContain(`<h1>${title}</h1>`)
    }
  })

  test('is refused for a minute after five failed ones of the same browser', async () => {
    const rig = await users()
    const [one, other] = [await begin(rig), await begin(rig)]
    const statuses: number[] = []
    for (let n = 0; n < 6; n++) statuses.push((await comeBack(rig, other.callback('ann'), one.cookie)).status)
    expect(statuses).toEqual([400, 400, 400, 400, 400, 429])
    const { status } = await comeBack(rig, other.callback('ann'), other.cookie)
    expect(status).toBe(200)
    const wrong: number[] = []
    for (let n = 0; n < 6; n++) wrong.push((await logIn(rig, 'x'.repeat(22), one.cookie)).status)
    expect(wrong).toEqual([401, 401, 401, 401, 401, 429])
    expect((await logIn(rig, 'x'.repeat(22), other.cookie)).status).toBe(401)
  })

  test('names the issuer that cannot be reached, to the operator alone', async () => {
    const rig = await users({ oidc: { issuer: 'http://127.0.0.1:9', clientId: 'jackfield' } })
    const { status, body } = await rig.ask('GET', '/sign-in')
    expect(status).toBe(502)
    expect(body).not.toContain('127.0.0.1')
    expect(rig.warnings).toEqual([expect.stringContaining('http://127.0.0.1:9')])
  })
})

describe('who may sign in', () => {
  test.each([
    [['ann@example.org'], { email: 'Ann@Example.org', email_verified: true }, 200],
    [['@example.org'], { email: 'ann@example.org', email_verified: true }, 200],
    [['sub:ann'], {}, 200],
    [['everyone'], {}, 200],
    [['ann@example.org'], { email: 'ann@example.org', email_verified: false }, 403],
    [['ann@example.org'], { email: 'ann@example.org' }, 403],
    [['@example.org'], { email: 'ann@evil-example.org', email_verified: true }, 403],
    [['@example.org'], { email: 'ann@example.org.evil', email_verified: true }, 403],
    [['sub:bob', 'bob@example.org'], {}, 403],
  ])('%j lets %j in: %i', async (allow, claims, wanted) => {
    const rig = await users({ allow })
    rig.issuer.claims = claims
    const { cookie, callback } = await begin(rig)
    const back = await comeBack(rig, callback('ann'), cookie)
    expect([back.status, keyIn(back) !== undefined]).toEqual([wanted, wanted === 200])
    expect(rig.hosts).toEqual([])
  })

  test('is found by UserInfo, if the ID token has no address', async () => {
    const rig = await users({ allow: ['@example.org'] })
    rig.issuer.userInfo = { sub: 'ann', email: 'ann@example.org', email_verified: true }
    const one = await begin(rig)
    expect(one.at.searchParams.get('scope')).toBe('openid email')
    expect((await comeBack(rig, one.callback('ann'), one.cookie)).status).toBe(200)
    // That of another person is not believed.
    const other = await begin(rig)
    expect((await comeBack(rig, other.callback('bob'), other.cookie)).status).toBe(502)
  })

  test('has to be named, as well as a public origin over TLS', async () => {
    await expect(users({ allow: [] })).rejects.toThrow('Name who may sign in')
    await expect(users({ allow: ['ann'] })).rejects.toThrow('"ann" is not a rule')
    await expect(users({ origin: 'http://jackfield.example' })).rejects.toThrow('no https origin')
    await expect(users({ origin: `${origin}/page` })).rejects.toThrow('no https origin')
    await expect(users({ appsDomain: '*.example' })).rejects.toThrow('no domain')
    await expect(users({ oidc: { issuer: 'http://login.example', clientId: 'x' } })).rejects.toThrow(
      'https URL',
    )
  })
})

describe('a session of a user', () => {
  test('reaches the host of that user alone, and ends no session of another', async () => {
    const rig = await users()
    const [ann, bob] = [await signIn(rig, 'ann'), await signIn(rig, 'bob')]
    const of = (browser: Browser) => webClient(rig.port, browser, () => {}, socketHeaders)
    const [one, other] = [of(ann), of(bob)]
    await Promise.all([one.ready(), other.ready()])
    expect(rig.hosts.toSorted()).toEqual(['ann', 'bob'])
    const id = await one.call('conversations.open', {})
    await one.call('conversations.say', { id, input: { text: 'Hello' } })
    expect((await one.call('conversations.list', {})).map((row) => row.id)).toEqual([id])
    expect(await other.call('conversations.list', {})).toEqual([])
    expect(rig.services.get('ann')?.clients()).toEqual(['web · a browser'])
    const listed = JSON.parse((await sessionsOf(rig, ann)).body)
    expect(listed).toMatchObject({ user: 'ann', hours: 8, sessions: [{ isThis: true }] })
    const [theirs] = JSON.parse((await sessionsOf(rig, bob)).body).sessions
    const end = await rig.ask('DELETE', `/sessions/${theirs.id}`, {
      headers: { Cookie: ann.cookie, Authorization: `Bearer ${ann.pageKey}` },
    })
    expect(end.status).toBe(404)
    expect((await sessionsOf(rig, bob)).status).toBe(200)
  })

  test('needs both halves', async () => {
    const rig = await users()
    const [ann, bob] = [await signIn(rig, 'ann'), await signIn(rig, 'bob')]
    for (const pageKey of ['', 'x'.repeat(43), bob.pageKey]) {
      expect((await sessionsOf(rig, { ...ann, pageKey })).status).toBe(401)
      const socket = openSocket(rig.port, { cookie: ann.cookie, headers: socketHeaders })
      socket.once('open', () => socket.send(pageKey))
      expect(await closeOf(socket)).toMatchObject({ code: 4401 })
    }
    const socket = openSocket(rig.port, { headers: socketHeaders })
    expect(await closeOf(socket)).toMatchObject({ code: 4401 })
    expect(rig.hosts).toEqual([])
  })

  test('ends with a logout, which leads to that of the issuer', async () => {
    const rig = await users()
    const ann = await signIn(rig, 'ann')
    const socket = openSocket(rig.port, { cookie: ann.cookie, headers: socketHeaders })
    socket.once('open', () => socket.send(ann.pageKey))
    await until(() => rig.hosts.length === 1, 'the host of the user')
    const out = await rig.ask('POST', '/logout', {
      headers: { Cookie: ann.cookie, Authorization: `Bearer ${ann.pageKey}` },
    })
    const { next }: { next: string } = JSON.parse(out.body)
    const to = new URL(next)
    expect(`${to.origin}${to.pathname}`).toBe(`${rig.issuer.url}/logout`)
    expect(Object.fromEntries(to.searchParams)).toEqual({
      client_id: 'jackfield',
      post_logout_redirect_uri: `${origin}/signed-out`,
    })
    expect(await closeOf(socket)).toMatchObject({ code: 4401 })
    expect((await sessionsOf(rig, ann)).status).toBe(401)
    const back = await rig.ask('GET', '/signed-out', { headers: { 'Sec-Fetch-Site': 'cross-site' } })
    expect([back.status, back.body.includes('Signed out')]).toEqual([200, true])
  })

  test('is ended by a logout token of the issuer, for its session there or its subject', async () => {
    const rig = await users()
    const post = async (token: string, headers = {}): Promise<number> => {
      const form = { 'Content-Type': 'application/x-www-form-urlencoded', Origin: '', ...headers }
      const body = new URLSearchParams({ logout_token: token }).toString()
      return (await rig.ask('POST', '/oidc/backchannel-logout', { headers: form, body })).status
    }
    rig.issuer.claims = { sid: 'one' }
    const first = await signIn(rig, 'ann')
    rig.issuer.claims = { sid: 'two' }
    const [second, bob] = [await signIn(rig, 'ann'), await signIn(rig, 'bob')]
    const statuses = async (): Promise<number[]> =>
      (await Promise.all([first, second, bob].map((one) => sessionsOf(rig, one)))).map(({ status }) => status)
    const { issuer } = rig
    for (const claims of [
      { sub: 'ann', nonce: 'x' },
      { sub: 'ann', events: {} },
      { sub: 'ann', events: undefined },
      { sub: 'ann', aud: 'other' },
      { sub: 'ann', iss: 'https://other.example' },
      { sub: 'ann', exp: 1_000_000 },
      { sub: 'ann', iat: 1_000_000 },
      {},
    ])
      expect([claims, await post(await issuer.logoutToken(claims))]).toEqual([claims, 400])
    issuer.isForged = true
    expect(await post(await issuer.logoutToken({ sub: 'ann' }))).toBe(400)
    issuer.isForged = false
    expect(await post('x'.repeat(20_000))).toBe(413)
    expect(await post(await issuer.logoutToken({ sub: 'ann' }), { Origin: 'https://evil.example' })).toBe(403)
    expect(await statuses()).toEqual([200, 200, 200])
    const socket = openSocket(rig.port, { cookie: first.cookie, headers: socketHeaders })
    socket.once('open', () => socket.send(first.pageKey))
    await until(() => rig.hosts.length === 1, 'the host of the user')
    expect(await post(await issuer.logoutToken({ sub: 'ann', sid: 'one' }))).toBe(200)
    expect(await closeOf(socket)).toMatchObject({ code: 4401 })
    expect(await statuses()).toEqual([401, 200, 200])
    expect(await post(await issuer.logoutToken({ sub: 'ann' }))).toBe(200)
    expect(await statuses()).toEqual([401, 401, 200])
  })

  test('survives a restart, unless its user or issuer is no longer allowed, and lasts eight hours', async () => {
    const first = await users({ allow: ['sub:ann', 'sub:bob'] })
    const [ann, bob] = [await signIn(first, 'ann'), await signIn(first, 'bob')]
    await first.web.close()
    const { file, issuer } = first
    const second = await users({ file, allow: ['sub:ann'] }, issuer)
    expect((await sessionsOf(second, ann)).status).toBe(200)
    expect((await sessionsOf(second, bob)).status).toBe(401)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 28_801_000 })
    expect((await sessionsOf(second, ann)).status).toBe(401)
    vi.useRealTimers()
    await second.web.close()
    const third = await users({ file, allow: ['everyone'] })
    expect((await sessionsOf(third, ann)).status).toBe(401)
  })

  test('is replaced, if another person signs in with the same browser', async () => {
    const rig = await users()
    const ann = await signIn(rig, 'ann')
    const { cookie, callback } = await begin(rig)
    const back = await comeBack(rig, callback('bob'), cookie)
    await logIn(rig, keyIn(back), `${cookie}; ${ann.cookie}`)
    expect((await sessionsOf(rig, ann)).status).toBe(401)
    expect(rig.web.sessions().map(({ user }) => user?.subject)).toEqual(['bob'])
  })
})

describe('the hosts of users', () => {
  test('are at most as many as allowed, end when idle, and open again', async () => {
    const rig = await users({ maxUsers: 1, idleMs: 40 })
    const [ann, bob] = [await signIn(rig, 'ann'), await signIn(rig, 'bob')]
    const first = webClient(rig.port, ann, () => {}, socketHeaders)
    await first.ready()
    const socket = openSocket(rig.port, { cookie: bob.cookie, headers: socketHeaders })
    socket.once('open', () => socket.send(bob.pageKey))
    expect(await closeOf(socket)).toEqual({ code: 1013, reason: 'too many users' })
    first.close()
    await until(() => rig.hosts.includes('-ann'), 'the end of the idle host')
    const second = webClient(rig.port, bob, () => {}, socketHeaders)
    await second.ready()
    second.close()
    await until(() => rig.web.openHosts === 0, 'the end of the other one')
    await webClient(rig.port, ann, () => {}, socketHeaders).ready()
    expect(rig.hosts).toEqual(['ann', '-ann', 'bob', '-bob', 'ann'])
  })

  test('that cannot be opened close the socket and warn', async () => {
    let isBroken = true
    const rig = await users({
      async open() {
        if (isBroken) throw new Error('no disk')
        const service = new HostService({ servers: {}, models: [], version: '1' })
        const peers = await createPeerServer(service)
        return { peers, isBusy: () => false, close: () => service.close() }
      },
    })
    const ann = await signIn(rig, 'ann')
    const socket = openSocket(rig.port, { cookie: ann.cookie, headers: socketHeaders })
    socket.once('open', () => socket.send(ann.pageKey))
    expect(await closeOf(socket)).toEqual({ code: 1013, reason: 'the host cannot be opened' })
    expect(rig.warnings).toEqual(['A host cannot be opened: no disk'])
    isBroken = false
    await webClient(rig.port, ann, () => {}, socketHeaders).ready()
  })
})

describe('signing in behind a proxy', () => {
  test('refuses other hosts and origins, and believes no header of a proxy', async () => {
    const rig = await users({ appsDomain: 'apps.example.net' })
    const forwarded = { 'X-Forwarded-Host': 'jackfield.example', Forwarded: 'host=jackfield.example' }
    for (const path of [
      '/',
      '/login',
      '/sign-in',
      '/oidc/callback',
      '/signed-out',
      '/assets/index-AbCd1234.js',
    ])
      for (const host of [
        '127.0.0.1',
        'evil.example',
        'jackfield.example:8443',
        'a.jackfield.example',
        'apps.example.net',
      ])
        expect([
          path,
          host,
          (await rig.ask('GET', path, { headers: { Host: host, ...forwarded } })).status,
        ]).toEqual([path, host, 421])
    for (const Origin of ['https://evil.example', 'http://jackfield.example', 'null', ''])
      expect((await rig.ask('POST', '/login', { headers: { Origin }, body: '{}' })).status).toBe(403)
    for (const path of ['/', '/sign-in'])
      for (const site of ['cross-site', 'same-site'])
        expect((await rig.ask('GET', path, { headers: { 'Sec-Fetch-Site': site } })).status).toBe(403)
    for (const [status, headers] of [
      [421, { ...socketHeaders, Host: 'evil.example' }],
      [403, { ...socketHeaders, Origin: 'https://a-x.apps.example.net' }],
    ] as const)
      expect(await closeOf(openSocket(rig.port, { headers }))).toEqual({ status })
    const page = await rig.ask('GET', '/')
    expect(page.headers['content-security-policy']).toContain('frame-src https://*.apps.example.net;')
    expect(page.headers['strict-transport-security']).toBe('max-age=31536000')
  })

  test('serves pages of apps below their domain alone', async () => {
    const rig = await users({ appsDomain: 'apps.example.net' })
    const site = '0'.repeat(32)
    const path = '/00000000-0000-0000-0000-000000000000'
    const status = async (Host: string): Promise<number> =>
      (await rig.ask('GET', path, { headers: { Host } })).status
    expect(await status(`a-${site}.apps.example.net`)).toBe(404)
    expect(await status(`a-${site}.example.net`)).toBe(421)
    expect(await status(`a-${site}.apps.example.net.evil.example`)).toBe(421)
    const login = await rig.ask('POST', '/login', { headers: { Host: `p-${site}.apps.example.net` } })
    expect(login.status).toBe(405)
  })

  test.skipIf(process.platform === 'win32')(
    'is a socket that the user and the group of the proxy can use',
    async () => {
      const folder = tempFolder()
      const path = join(folder, 'web.sock')
      const before = process.umask()
      const { web, issuer } = await users({ listen: path })
      expect(process.umask()).toBe(before)
      expect(statSync(path).mode & 0o777).toBe(0o660)
      const answer = await new Promise<string>((resolve) => {
        const stream = createConnection(path)
        stream.once('data', (data) => resolve(String(data)))
        stream.end('GET / HTTP/1.1\r\nHost: jackfield.example\r\nConnection: close\r\n\r\n')
      })
      expect(answer).toMatch(/^HTTP\/1\.1 200 /)
      await expect(users({ listen: path }, issuer)).rejects.toThrow('Another program listens')
      await web.close()
      // A killed server leaves a socket behind; other files stay.
      leaveSocket(path)
      await (await users({ listen: path }, issuer)).web.close()
      writeFileSync(path, 'mine')
      await expect(users({ listen: path }, issuer)).rejects.toThrow('no socket')
      const open = join(folder, 'open')
      mkdirSync(open)
      chmodSync(open, 0o777)
      await expect(users({ listen: join(open, 'web.sock') }, issuer)).rejects.toThrow('Everybody can replace')
      await expect(users({ listen: join(folder, 'none', 'x') }, issuer)).rejects.toThrow('There is no folder')
    },
  )
})

/** Leaves a socket at a path, as a process that is killed does. */
function leaveSocket(path: string): void {
  const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
  spawnSync(process.execPath, ['-e', script])
  expect(statSync(path).isSocket()).toBe(true)
}
