import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { connect, http } from '@jackfield/sdk/client'
import { memoryStore } from '@jackfield/sdk/client/auth'
import { describe, expect, it, onTestFinished } from 'vitest'
import { authority } from '../../../sdk/test/client-auth/support/authority.ts'
import {
  type ProtectedServer,
  protectedServer,
} from '../../../sdk/test/client-auth/support/protected-server.ts'
import { parseConfig } from '../../src/config/config.ts'
import { createLogin } from '../../src/servers/login/login.ts'
import type { HostAnswers, HostOptions, HostQuestion } from '../../src/types/index.ts'
import { folder, hostOf, started, states, textOf, until, type Watched } from '../fixtures/hosts.ts'

type LoginQuestion = Extract<HostQuestion, { kind: 'login' }>

const rules = [{ id: 'all', verdict: 'allow' as const }]

/** A browser whose person agrees to everything. */
function browser(): { opened: URL[]; openPage: (url: URL) => Promise<void> } {
  const opened: URL[] = []
  return {
    opened,
    async openPage(url) {
      opened.push(url)
      const { headers } = await fetch(url, { redirect: 'manual' })
      await fetch(new URL(headers.get('location') ?? '', url))
    },
  }
}

/** A face that answers questions about logins. */
function loginSurface(verdict: HostAnswers['login']['verdict'] | 'later') {
  const asked: LoginQuestion[] = []
  return {
    asked,
    surface: {
      name: 'person',
      show: {
        login: async (question: LoginQuestion) => {
          asked.push(question)
          return verdict === 'later' ? undefined : { verdict }
        },
      },
    },
  }
}

async function signedIn(one: ProtectedServer, options: Partial<HostOptions> = {}): Promise<Watched> {
  const host = hostOf({ servers: { s: { url: one.url } }, rules, openPage: browser().openPage, ...options })
  await host.start()
  await host.logins.signIn('s')
  return host
}

describe('a server that requires a login', () => {
  it('reports it at once; the page is opened after consent, and then it is ready', async () => {
    const one = await protectedServer()
    one.challenge = 'Bearer scope="read write"'
    const { opened, openPage } = browser()
    const { asked, surface } = loginSurface('later')
    const host = await started({ servers: { s: { url: one.url } }, surface, openPage })
    expect(host.connections.get('s')).toMatchObject({
      state: 'needs-sign-in',
      reason: expect.stringContaining(one.as.origin),
      fixes: [{ action: 'sign-in', server: 's' }],
    })
    await until(() => asked.length === 1, 'the question')
    expect(asked[0]).toMatchObject({
      cause: { server: 's' },
      issuer: one.as.origin,
      scopes: ['read', 'write'],
    })
    expect(asked[0]?.url).toContain(`${one.as.origin}/authorize?`)
    expect(one.as.at('/authorize')).toEqual([])

    host.inbox.answer(asked[0]?.id ?? '', { verdict: 'allow' }, 'another face')
    await until(() => host.connections.get('s')?.state === 'ready', 'ready')
    expect(opened).toHaveLength(1)
    expect(host.tools().map(({ name }) => name)).toEqual(['s__x'])
    expect(states(host, 's')).toEqual(['connecting', 'needs-sign-in', 'needs-sign-in', 'ready'])
    expect(host.activity({ kind: 'login' })).toMatchObject([
      { outcome: 'ok', detail: { by: 'another face' } },
    ])
  })

  it.each([
    [
      'at another authorization server',
      async (one: ProtectedServer) => {
        const other = await authority()
        onTestFinished(() => other.close())
        one.resource = { ...one.resource, authorization_servers: [other.issuer] }
        return { issuer: other.origin }
      },
    ],
    [
      'for more scopes',
      async (one: ProtectedServer) => {
        one.challenge = 'Bearer scope="read admin"'
        return { scopes: ['read', 'admin'] }
      },
    ],
  ])('opens only the approved page, and asks again if it is meanwhile %s', async (_, changes) => {
    const one = await protectedServer()
    one.challenge = 'Bearer scope="read"'
    const { opened, openPage } = browser()
    const { asked, surface } = loginSurface('later')
    const host = await started({ servers: { s: { url: one.url } }, surface, openPage })
    await until(() => asked.length === 1, 'the question')
    const changed = await changes(one)
    host.inbox.answer(asked[0]?.id ?? '', { verdict: 'allow' }, 'person')
    await until(() => asked.length === 2 || opened.length > 0, 'the second question')
    expect(opened).toEqual([])
    expect(asked[1]).toMatchObject(changed)
    host.inbox.answer(asked[1]?.id ?? '', { verdict: 'deny' }, 'person')
    await until(
      () => host.activity({ kind: 'login' }).some(({ outcome }) => outcome === 'denied'),
      'the answer',
    )
    expect(opened).toEqual([])
  })

  it('is not asked about any more after a login in another program, which opens the only page', async () => {
    const one = await protectedServer()
    const shared = { store: join(folder(), 'store.db'), credentials: memoryStore() }
    const servers = { s: { url: one.url } }
    const here = browser()
    const { asked, surface } = loginSurface('later')
    const host = await started({ servers, surface, openPage: here.openPage, ...shared })
    await until(() => asked.length === 1, 'the question')
    await signedIn(one, shared)
    await until(() => host.connections.get('s')?.state === 'ready', 'ready')
    expect(host.inbox.get(asked[0]?.id ?? '')).toMatchObject({
      state: 'answered',
      answer: { by: 'a sign-in in another window' },
    })
    expect([here.opened, asked.length]).toEqual([[], 1])
  })

  it("is asked about again if another program's tokens are not available here", async () => {
    const one = await protectedServer()
    const store = join(folder(), 'store.db')
    const here = browser()
    const { asked, surface } = loginSurface('later')
    await started({ servers: { s: { url: one.url } }, surface, openPage: here.openPage, store })
    await until(() => asked.length === 1, 'the question')
    await signedIn(one, { store })
    await until(() => asked.length === 2, 'the second question')
    expect(here.opened).toEqual([])
  })

  it('is asked about once, and not after it is connected', async () => {
    const one = await protectedServer()
    const credentials = memoryStore()
    const { asked, surface } = loginSurface('later')
    const host = await started({ servers: { s: { url: one.url } }, surface, credentials })
    await until(() => asked.length === 1, 'the question')
    await host.reconnect('s')
    expect(asked).toHaveLength(1)
    await signedIn(one, { credentials })
    await host.reconnect('s')
    expect(host.connections.get('s')).toMatchObject({ state: 'ready' })
    expect(host.inbox.get(asked[0]?.id ?? '')).toMatchObject({
      state: 'withdrawn',
      reason: expect.stringContaining('you are signed in at s now'),
    })
    expect(host.events.filter(({ type }) => type === 'warning')).toEqual([])
  })

  it('is not asked about after a refusal, until the user reconnects', async () => {
    const one = await protectedServer()
    const { opened, openPage } = browser()
    const { asked, surface } = loginSurface('deny')
    const host = await started({ servers: { s: { url: one.url } }, surface, openPage })
    await until(() => host.activity({ kind: 'login' })[0]?.outcome === 'denied', 'the answer')
    expect(host.connections.get('s')).toMatchObject({ state: 'needs-sign-in' })
    await host.reconnect('s')
    await until(() => asked.length === 2, 'the second question')
    expect(opened).toEqual([])
    expect(one.as.at('/token')).toEqual([])
  })

  it('is not asked about without a surface, and starts on request', async () => {
    const one = await protectedServer()
    const { opened, openPage } = browser()
    const host = await started({ servers: { s: { url: one.url } }, openPage, rules })
    expect(host.connections.get('s')).toMatchObject({
      state: 'needs-sign-in',
      error: { code: 'UNAUTHORIZED' },
    })
    expect([host.tools(), opened]).toEqual([[], []])
    await host.logins.signIn('s')
    const page = host.events.find((event) => event.type === 'login')
    expect(page).toMatchObject({ server: 's', url: opened[0]?.href, issuer: one.as.origin })
    expect(textOf(await host.call('s__x', {}, { caller: 'cli' }))).toBe('done')
  })

  it('reports an abandoned login, or an unreachable user', async () => {
    const one = await protectedServer()
    one.as.callback = { error: 'access_denied', code: undefined }
    const host = await started({ servers: { s: { url: one.url } }, openPage: browser().openPage })
    await expect(host.logins.signIn('s')).rejects.toThrow('access_denied')
    expect(host.connections.get('s')).toMatchObject({ state: 'needs-sign-in' })
    expect(host.activity({ kind: 'login' })).toMatchObject([{ outcome: 'error' }])
  })

  it('is described in one sentence, in each state', async () => {
    const one = await protectedServer()
    const file = join(folder(), '.mcp.json')
    const servers = {
      s: { url: one.url },
      away: { url: 'http://127.0.0.1:9' },
      off: { url: one.url, disabled: true },
      ...parseConfig(JSON.stringify({ mcpServers: { found: { url: one.url } } }), { file, layer: 'project' })
        .servers,
    }
    const host = await started({ servers, rules })
    const failureOf = (work: Promise<unknown>) => work.then(String, (error: Error) => error.message)
    const read = (server: string) => failureOf(host.read(server, 'a://b'))
    const signIn = (server: string) => failureOf(host.logins.signIn(server))
    const summaries = (server: string) =>
      host.activity({ kind: 'connection' }).flatMap((row) => (row.server === server ? [row.summary] : []))
    const needed = `requires a sign-in at ${one.as.origin}`
    const { reason: unreachable } = Object(host.connections.get('away'))
    const unapproved = `you have not agreed yet to the address that ${file} names: ${one.url}`
    expect(summaries('s')).toEqual([`s ${needed}`])
    expect(await read('s')).toBe(`s is not connected: It ${needed}`)
    expect(await read('away')).toBe(`away is not connected: ${unreachable}`)
    expect(await signIn('away')).toBe(`You are not signed in to away: ${unreachable}`)
    expect(await read('off')).toBe('off is not connected: switched off in its configuration')
    expect(await read('found')).toBe(`found is not connected: ${unapproved}`)
    expect(await signIn('found')).toBe(`You are not signed in to found: ${unapproved}`)
    expect(summaries('found').at(-1)).toBe(`found waits for your consent: ${unapproved}`)
  })

  it('does not ask if the configuration has credentials, or disables the login', async () => {
    const one = await protectedServer()
    const { asked, surface } = loginSurface('allow')
    const host = await started({
      servers: {
        header: { url: one.url, headers: { Authorization: 'Bearer wrong' } },
        none: { url: one.url, auth: false },
      },
      surface,
    })
    for (const name of ['header', 'none']) {
      expect(host.connections.get(name)).toMatchObject({
        state: 'failed',
        error: { code: 'UNAUTHORIZED' },
        fixes: [
          { action: 'configure', server: name, setting: 'headers' },
          { action: 'diagnose', server: name },
        ],
      })
    }
    expect([asked, one.as.seen]).toEqual([[], []])
  })

  it('rejects a client id without its issuer', async () => {
    const one = await protectedServer()
    const host = await started({ servers: { s: { url: one.url, auth: { clientId: 'mine' } } } })
    expect(host.connections.get('s')).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('"issuer"'),
    })
    expect(one.seen).toEqual([])
  })
})

it('consent to one login ends with it, whatever else starts and ends meanwhile', async () => {
  const one = await protectedServer()
  const asked: string[] = []
  const { opened, openPage } = browser()
  const login = createLogin({
    server: 's',
    config: { url: one.url },
    store: memoryStore(),
    open: openPage,
    onPage: () => {},
    agreedTo: () => true,
    async ask({ issuer }) {
      asked.push(issuer)
      throw new Error('They do not want it')
    },
  })
  const ends: (() => void)[] = []
  const work = (): Promise<void> => new Promise((resolve) => ends.push(resolve))
  const both = [login.during('openly', work), login.during('quietly', work)]
  for (const end of ends) end()
  await Promise.all(both)
  await expect(connect(http(one.url, { auth: login.auth }))).rejects.toThrow('They do not want it')
  expect([asked, opened]).toEqual([[one.as.origin], []])
})

describe('a logout', () => {
  it("removes the tokens, the server's lists and the texts that were read there", async () => {
    const one = await protectedServer()
    const credentials = memoryStore()
    const store = join(folder(), 'store.db')
    const servers = { s: { url: one.url, lazy: true } }
    const host = await signedIn(one, { credentials, store, servers })
    const raw = new DatabaseSync(store)
    raw
      .prepare(
        `INSERT INTO resource_text (identity, principal, uri, bytes, at, text) VALUES (?, 'p', 'u', 1, '2999', 't')`,
      )
      .run(host.trust.server('s').identity)
    await host.logins.signOut('s')
    expect(raw.prepare('SELECT count(*) AS n FROM resource_text').get()?.['n']).toBe(0)
    raw.close()
    expect(host.connections.get('s')).toMatchObject({ state: 'needs-sign-in', reason: 'you signed out' })
    expect(host.tools()).toEqual([])
    await host.close()
    const again = await started({ servers, credentials, store })
    expect(again.connections.get('s')).toMatchObject({ state: 'needs-sign-in' })
  })

  it('revokes the tokens, and continues if that fails, with a reported reason', async () => {
    const one = await protectedServer()
    one.as.metadata = { revocation_endpoint: `${one.as.issuer}/revoke` }
    const host = await signedIn(one)
    expect(await host.logins.signOut('s')).toEqual({ outcome: 'revoked' })
    expect([one.as.good.size, one.as.refreshable.size]).toEqual([0, 0])

    await host.logins.signIn('s')
    one.as.onRevoke = ({ res, params }) => {
      res.writeHead(400, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ error: 'invalid_request', error_description: `not ${params.get('token')}` }))
      return true
    }
    const failed = await host.logins.signOut('s')
    expect(failed).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('invalid_request (not [refreshToken])'),
    })
    expect(host.connections.get('s')).toMatchObject({ state: 'needs-sign-in', reason: 'you signed out' })
    const rows = host
      .activity({ kind: 'login' })
      .filter(({ summary }) => summary.startsWith('You signed out'))
    expect(rows.map(({ detail }) => detail['revocation'])).toEqual([{ outcome: 'revoked' }, failed])
    expect(JSON.stringify([rows, failed, host.events])).not.toMatch(/(access|refresh)-\d+-secret/)
  })

  it("redacts the client's registration secret everywhere", async () => {
    const one = await protectedServer()
    const secret = 'registered-with-this-one'
    one.as.metadata = {
      revocation_endpoint: `${one.as.issuer}/revoke`,
      token_endpoint_auth_methods_supported: ['client_secret_post'],
    }
    one.as.onRegister = ({ res }) => {
      res.writeHead(201, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ client_id: 'registered', client_secret: secret }))
      return true
    }
    one.as.onRevoke = ({ res, params }) => {
      res.writeHead(400, { 'content-type': 'application/json' })
      res.end(
        JSON.stringify({ error: 'invalid_client', error_description: `not ${params.get('client_secret')}` }),
      )
      return true
    }
    const credentials = memoryStore()
    const refused = {
      outcome: 'failed',
      reason: expect.stringContaining('invalid_client (not [clientSecret])'),
    }
    const host = await signedIn(one, { credentials })
    expect(await host.logins.signOut('s')).toMatchObject(refused)
    expect(JSON.stringify([host.activity(), host.events])).not.toContain(secret)

    await host.logins.signIn('s')
    await host.close()
    // Another login registered anew meanwhile.
    await credentials.delete(`client ${one.as.issuer}`)
    const next = await started({ servers: { s: { url: one.url } }, credentials })
    expect(await next.logins.signOut('s')).toMatchObject(refused)
    expect(JSON.stringify([next.activity(), next.events])).not.toContain(secret)
  })

  it('is rejected without a login', async () => {
    const host = hostOf({ servers: { s: { command: 'x' }, h: { url: 'http://127.0.0.1:9', auth: false } } })
    await expect(host.logins.signOut('s')).rejects.toThrow('is a program')
    await expect(host.logins.signOut('h')).rejects.toThrow('from its configuration')
    await expect(host.logins.signIn('s')).rejects.toThrow('is a program')
    await expect(host.logins.signIn('nope')).rejects.toThrow('no server named "nope"')
  })
})

describe('tokens', () => {
  it('are used by the next host on the same store without a login', async () => {
    const one = await protectedServer()
    const credentials = memoryStore()
    await (await signedIn(one, { credentials })).close()
    const host = await started({ servers: { s: { url: one.url } }, credentials })
    expect(host.connections.get('s')).toMatchObject({ state: 'ready' })
    expect(one.as.at('/authorize')).toHaveLength(1)
  })

  it('that were revoked require a new login, and the call is not lost silently', async () => {
    const one = await protectedServer()
    const host = await signedIn(one)
    one.as.expireAll()
    one.as.refreshable.clear()
    const call = await host.call('s__x', {}, { caller: 'chat' })
    expect(call.error).toMatchObject({ code: 'UNAUTHORIZED' })
    expect(textOf(call)).toContain('requires a sign-in')
    await until(() => host.connections.get('s')?.state === 'needs-sign-in', 'needs-sign-in')
    expect(one.calls).toEqual([])
    await host.logins.signIn('s')
    expect(textOf(await host.call('s__x', {}, { caller: 'chat' }))).toBe('done')
  })

  it('with too few scopes are replaced by ones with more after consent, and the call continues', async () => {
    const one = await protectedServer()
    one.challenge = 'Bearer scope="read"'
    one.allows = (token, { method }) => {
      const scopes = one.as.good.get(token)?.split(' ')
      if (scopes === undefined) return false
      if (method !== 'tools/call' || scopes.includes('write')) return true
      return 'Bearer error="insufficient_scope", scope="write"'
    }
    const { asked, surface } = loginSurface('allow')
    const host = await signedIn(one, { surface })
    asked.length = 0
    expect(textOf(await host.call('s__x', {}, { caller: 'chat' }))).toBe('done')
    expect(asked).toMatchObject([{ scopes: expect.arrayContaining(['read', 'write']) }])
    expect(one.calls).toHaveLength(1)
  })

  it('are in no event, row or file of the store', async () => {
    const one = await protectedServer()
    const store = join(folder(), 'store.db')
    const host = await signedIn(one, { store })
    const tokens: string[] = []
    one.allows = (token, { method }) => {
      tokens.push(token)
      return method !== 'tools/call' || `Bearer error="invalid_request", error_description="no ${token}"`
    }
    const call = await host.call('s__x', {}, { caller: 'cli' })
    expect(call.error).toMatchObject({
      code: 'UNAUTHORIZED',
      data: { challenge: expect.stringContaining('no [accessToken]') },
    })
    expect(tokens.at(-1)).toMatch(/^access-\d+-secret$/)
    const recorded = JSON.stringify([call, host.events, host.activity(), [...host.connections]])
    await host.close()
    const bytes = ['', '-wal'].map((end) => {
      try {
        return readFileSync(`${store}${end}`, 'latin1')
      } catch {
        return ''
      }
    })
    for (const text of [recorded, ...bytes]) expect(text).not.toMatch(/(access|refresh)-\d+-secret/)
  })
})
