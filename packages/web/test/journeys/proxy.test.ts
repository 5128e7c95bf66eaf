import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BrowserContext, Page } from 'playwright-core'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { freePort } from '../../../../test/setup/ports.ts'
import { begin, jsonFile, type Running } from '../../../app/test/cli/jackfield.ts'
import {
  type AuthorizationServer,
  startAuthorizationServer,
} from '../../../sdk/test/auth-support/authorization-server.ts'
import { weather } from '../fixtures/harness.ts'
import { tempFolder } from '../server/rig.ts'
import { missing as missingForJourneys, openBrowser } from './journey.ts'

const isThere = (program: string, ...words: string[]): boolean => spawnSync(program, words).status === 0

const missing =
  missingForJourneys ??
  (!isThere('haproxy', '-v')
    ? 'HAProxy is not installed (apt install haproxy)'
    : isThere('openssl', 'version')
      ? undefined
      : 'OpenSSL is not installed (apt install openssl)')

/** `jackfield web` for several people behind HAProxy, with an issuer. */
interface Proxied {
  readonly origin: string
  readonly issuer: AuthorizationServer
  readonly running: () => Running
  /** Ends the process, and starts it again on the same files. */
  restart(): Promise<void>
}

async function proxied(): Promise<Proxied> {
  const folder = tempFolder()
  const port = await freePort()
  // Chromium resolves these names to this machine.
  const origin = `https://jackfield.localhost:${port}`
  const secret = 'a-secret-of-the-client'
  const issuer = await startAuthorizationServer({
    registration: false,
    clients: [
      {
        client_id: 'jackfield',
        client_secret: secret,
        redirect_uris: [`${origin}/oidc/callback`],
        post_logout_redirect_uris: [`${origin}/signed-out`],
        response_types: ['code'],
        grant_types: ['authorization_code'],
      },
    ],
  })
  onTestFinished(() => issuer.close())
  const secretFile = join(folder, 'client-secret')
  writeFileSync(secretFile, `${secret}\n`)
  const socket = join(folder, 'web.sock')
  const config = jsonFile({ mcpServers: { weather }, jackfield: { defaultVerdict: 'allow' } })
  const words = [
    ...['web', '--public', origin, '--oidc', issuer.issuer, '--client-id', 'jackfield'],
    ...['--client-secret-file', secretFile, '--allow', 'sub:ann', '--allow', 'sub:bob', '--listen', socket],
    ...[
      '--apps-domain',
      `apps.localhost:${port}`,
      '--config',
      config,
      '--store',
      join(folder, 'activity.db'),
    ],
  ]
  const start = async (): Promise<Running> => {
    const running = begin(words, { cwd: folder })
    onTestFinished(() => void running.child.kill('SIGKILL'))
    await running.says('It listens at')
    return running
  }
  let running = await start()
  await startProxy(port, socket, folder)
  return {
    origin,
    issuer,
    running: () => running,
    async restart() {
      running.child.kill('SIGTERM')
      await running.ended
      running = await start()
    },
  }
}

/** Starts HAProxy with the configuration of the documentation. */
async function startProxy(port: number, socket: string, folder: string): Promise<void> {
  const page = fileURLToPath(new URL('../../../../docs/host/web.md', import.meta.url))
  const documented = /^frontend jackfield\n[\s\S]*?(?=^```)/m.exec(readFileSync(page, 'utf8'))?.[0] ?? ''
  const certificate = join(folder, 'proxy.pem')
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1']
  const files = ['-keyout', `${certificate}.key`, '-out', `${certificate}.crt`]
  const subject = ['-subj', '/CN=jackfield.localhost']
  expect(spawnSync('openssl', ['req', '-x509', ...made, ...files, ...subject]).status).toBe(0)
  writeFileSync(
    certificate,
    ['crt', 'key'].map((end) => readFileSync(`${certificate}.${end}`, 'utf8')).join(''),
  )
  const config = documented
    .replace('bind :443', `bind 127.0.0.1:${port}`)
    .replace('/etc/haproxy/jackfield.pem', certificate)
    .replace('/run/jackfield/web.sock', socket)
  expect([config.includes(certificate), config.includes(socket)]).toEqual([true, true])
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(file, config)
  const child = spawn('haproxy', ['-db', '-q', '-f', file], { stdio: 'inherit' })
  onTestFinished(async () => {
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  })
}

interface Visitor {
  readonly page: Page
  readonly context: BrowserContext
  /** Errors, violations of the policy, and requests to anything but the proxy and the issuer. */
  readonly faults: string[]
  readonly sockets: string[]
}

/** A browser of a person, which accepts the certificate of the test. */
async function visit({ origin, issuer }: Proxied, path: string): Promise<Visitor> {
  const context = await (await openBrowser()).newContext({ ignoreHTTPSErrors: true })
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const faults: string[] = []
  const sockets: string[] = []
  const known = new RegExp(
    `^(?:${origin}|${issuer.issuer}|https://[ap]-[0-9a-f]{32}\\.apps\\.localhost:\\d+|data:|blob:)`,
  )
  page.on('pageerror', (error) => faults.push(`page error: ${error.message}`))
  page.on('websocket', (socket) => sockets.push(socket.url()))
  page.on('request', (request) => {
    if (!known.test(request.url())) faults.push(`request: ${request.url()}`)
  })
  await page.addInitScript(() => {
    if (window.top !== window) return
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
      setTimeout(() => {
        throw new Error(`policy: ${violatedDirective} ${blockedURI}`)
      })
    })
  })
  await vi.waitFor(() => page.goto(`${origin}${path}`), 20_000)
  return { page, context, faults, sockets }
}

async function signIn(at: Proxied, account: string, path: string): Promise<Visitor> {
  const visitor = await visit(at, path)
  at.issuer.account = account
  await visitor.page.getByRole('button', { name: 'Sign in' }).click()
  await visitor.page.locator('main h1, header h1').first().waitFor()
  await visitor.page.getByRole('navigation').first().waitFor()
  return visitor
}

const inspect = '/inspect/weather/tools/forecast?args=%7B%22place%22%3A%22Oslo%22%7D'

describe.skipIf(missing !== undefined)(
  `several people behind a proxy${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 120_000 },
  () => {
    test('sign in at their issuer, see their own host alone, use apps, and stay signed in over a restart', async () => {
      const at = await proxied()
      const ann = await signIn(at, 'ann', inspect)
      expect(ann.page.url()).toBe(`${at.origin}${inspect}`)
      expect(ann.sockets).toEqual([expect.stringMatching(`^${at.origin.replace('https', 'wss')}/socket`)])
      const cookies = await ann.context.cookies(at.origin)
      expect(cookies.find(({ name }) => name === '__Host-jackfield')).toMatchObject({
        ...{ secure: true, httpOnly: true, sameSite: 'Strict', path: '/', domain: 'jackfield.localhost' },
      })

      // An app of a server, at an origin of its own.
      await ann.page.locator('[data-act=run]').click()
      await ann.page.getByRole('button', { name: 'App', exact: true }).click()
      await ann.page.locator('[data-act=allow][data-armed=true]').click()
      await ann.page.waitForSelector('iframe[data-ready=true]')
      const app = ann.page.frames().find((frame) => frame.url().startsWith('https://a-'))
      expect(new URL(app?.url() ?? '').host).toMatch(/^a-[0-9a-f]{32}\.apps\.localhost:\d+$/)
      await app?.getByText('Oslo').waitFor()
      expect(await app?.evaluate('document.cookie')).toBe('')

      // The other person has a host, too, in which nothing happened yet.
      const bob = await signIn(at, 'bob', '/activity')
      await ann.page.goto(`${at.origin}/activity`)
      await ann.page.getByText('forecast').first().waitFor()
      await bob.page.getByRole('main').waitFor()
      expect(await bob.page.getByText('forecast').count()).toBe(0)
      await bob.page.goto(`${at.origin}/servers`)
      await bob.page.getByText('weather').first().waitFor()
      await bob.page.goto(`${at.origin}/settings/surfaces`)
      await bob.page.getByText('You are signed in as bob. A sign-in lasts 8 h.').waitFor()

      // A stolen cookie is one half of a session.
      const thief = await visit(at, '/')
      await thief.context.addCookies(cookies)
      await thief.page.goto(`${at.origin}/activity`)
      await thief.page.getByRole('button', { name: 'Sign in' }).waitFor()
      await thief.page.evaluate(() => localStorage.setItem('jackfield.page-key', 'x'.repeat(43)))
      await thief.page.reload()
      await thief.page.getByRole('button', { name: 'Sign in' }).waitFor()
      expect(await thief.page.getByText('forecast').count()).toBe(0)

      const before = bob.sockets.length
      await at.restart()
      await vi.waitFor(() => expect(bob.sockets.length).toBeGreaterThan(before), 20_000)
      await bob.page.goto(`${at.origin}/servers`)
      await bob.page.getByText('weather').first().waitFor()

      // A logout leads to the issuer, which asks, and back.
      await bob.page.goto(`${at.origin}/settings/surfaces`)
      await bob.page.getByRole('button', { name: 'Log out' }).click()
      await bob.page.waitForURL(`${at.issuer.issuer}/session/end**`)
      await bob.page.getByRole('button', { name: /yes/i }).click()
      await bob.page.getByRole('heading', { name: 'Signed out' }).waitFor()
      await bob.page.getByRole('link', { name: 'Sign in again' }).click()
      await bob.page.getByRole('button', { name: 'Sign in' }).waitFor()
      expect([ann.faults, bob.faults, thief.faults]).toEqual([[], [], []])
      expect(at.running().said()).not.toContain('failed')
    })

    test('are refused without being allowed', async () => {
      const at = await proxied()
      const carol = await visit(at, '/')
      at.issuer.account = 'carol'
      await carol.page.getByRole('button', { name: 'Sign in' }).click()
      await carol.page.getByText('may not use this host').waitFor()
      await at.running().says('subject carol signed in and is not allowed to')
      at.issuer.denies = true
      await carol.page.getByRole('link', { name: 'Sign in again' }).click()
      await carol.page.getByRole('button', { name: 'Sign in' }).click()
      await carol.page.getByText('access_denied').waitFor()
      expect(await carol.context.cookies(at.origin)).toEqual([
        expect.objectContaining({ name: '__Host-jackfield-sign-in' }),
      ])
      expect(carol.faults).toEqual([])
    })
  },
)
