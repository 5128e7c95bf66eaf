import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BrowserContext, Frame, Page } from 'playwright-core'
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

/** A proxy with its documented configuration, which begins so. */
interface Proxy {
  readonly documented: RegExp
  readonly paths: { readonly certificate: string; readonly key?: string }
  /** Its program, and how to see that it is installed. */
  readonly program: readonly [name: string, word: string]
  readonly packageName: string
  /** The whole of a configuration for a port of this machine. */
  configure(documented: string, port: number, folder: string): string
  /** Runs it in the foreground. */
  readonly words: (file: string, folder: string) => readonly string[]
}

const proxies = {
  HAProxy: {
    documented: /^frontend jackfield\n[\s\S]*?(?=^```)/m,
    paths: { certificate: '/etc/haproxy/jackfield.pem' },
    program: ['haproxy', '-v'],
    packageName: 'haproxy',
    configure: (documented, port) => documented.replace('bind :443', `bind 127.0.0.1:${port}`),
    words: (file) => ['-db', '-q', '-f', file],
  },
  nginx: {
    documented: /^map \$http_upgrade [\s\S]*?(?=^```)/m,
    paths: { certificate: '/etc/nginx/jackfield.crt', key: '/etc/nginx/jackfield.key' },
    program: ['nginx', '-v'],
    packageName: 'nginx-light',
    configure(documented, port, folder) {
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (what) => `${what}_temp_path ${folder}/${what};`,
      )
      const server = documented
        .replace('listen 443 ', `listen 127.0.0.1:${port} `)
        .replace('jackfield.example.org *.apps.example.net', 'jackfield.localhost *.apps.localhost')
      // Its workers have to be the user of the socket, as the group of the documentation is.
      const { username } = userInfo()
      return [
        ...(process.getuid?.() === 0 ? [`user ${username};`] : []),
        `daemon off;\npid ${folder}/nginx.pid;\nerror_log stderr warn;\nevents {}`,
        `http {\naccess_log off;\n${temporary.join('\n')}\n${server}\n}`,
      ].join('\n')
    },
    words: (file, folder) => ['-p', folder, '-c', file],
  },
  Caddy: {
    documented: /^jackfield\.example\.org, [\s\S]*?(?=^```)/m,
    paths: { certificate: '/etc/caddy/jackfield.crt', key: '/etc/caddy/jackfield.key' },
    program: ['caddy', 'version'],
    packageName: 'caddy',
    configure: (documented, port) =>
      [
        '{\nadmin off\nauto_https disable_redirects\ndefault_bind 127.0.0.1\nservers {\nprotocols h1 h2\n}\n}',
        documented
          .replace('jackfield.example.org', `https://jackfield.localhost:${port}`)
          .replace('*.apps.example.net', `https://*.apps.localhost:${port}`),
      ].join('\n'),
    words: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  },
} as const satisfies Record<string, Proxy>
type ProxyName = keyof typeof proxies

/** What is missing to run behind a proxy; undefined where nothing is. */
function missingFor(name: ProxyName): string | undefined {
  const {
    program: [command, word],
    packageName,
  } = proxies[name]
  if (missingForJourneys !== undefined) return missingForJourneys
  if (!isThere(command, word)) return `${name} is not installed (apt install ${packageName})`
  return isThere('openssl', 'version') ? undefined : 'OpenSSL is not installed (apt install openssl)'
}

/** `jackfield web` for several people behind a proxy, with an issuer. */
interface Proxied {
  readonly origin: string
  readonly issuer: AuthorizationServer
  readonly running: () => Running
  /** Ends the process, and starts it again on the same files. */
  restart(): Promise<void>
}

async function proxied(name: ProxyName): Promise<Proxied> {
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
    await running.waitForOutput('It listens at')
    return running
  }
  let running = await start()
  await startProxy(proxies[name], port, socket, folder)
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

/** Starts a proxy with the configuration of the documentation. */
async function startProxy(proxy: Proxy, port: number, socket: string, folder: string): Promise<void> {
  const page = fileURLToPath(new URL('../../../../docs/host/web.md', import.meta.url))
  const documented = proxy.documented.exec(readFileSync(page, 'utf8'))?.[0] ?? ''
  const certificate = join(folder, 'proxy.crt')
  const key = join(folder, 'proxy.key')
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1']
  const files = ['-keyout', key, '-out', certificate]
  const names = ['-subj', '/CN=jackfield.localhost', '-addext', 'subjectAltName=DNS:*.apps.localhost']
  expect(spawnSync('openssl', ['req', '-x509', ...made, ...files, ...names]).status).toBe(0)
  // Where one file has both.
  if (proxy.paths.key === undefined) appendFileSync(certificate, readFileSync(key))
  const config = proxy
    .configure(documented, port, folder)
    .replace(proxy.paths.certificate, certificate)
    .replace(proxy.paths.key ?? proxy.paths.certificate, key)
    .replace('/run/jackfield/web.sock', socket)
  expect([config.includes(certificate), config.includes(socket)]).toEqual([true, true])
  const file = join(folder, 'proxy.conf')
  writeFileSync(file, `${config}\n`)
  const [program] = proxy.program
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const child = spawn(program, proxy.words(file, folder), { stdio: ['ignore', 'ignore', 'pipe'], env })
  let output = ''
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  const gone = once(child, 'exit')
  onTestFinished(async ({ task }) => {
    if (task.result?.state === 'fail') console.error(output)
    child.kill('SIGTERM')
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

/** Runs the tool of an app, agrees to the app, and gives its frame. */
async function openApp({ page }: Visitor): Promise<Frame> {
  await page.locator('[data-act=run]').click()
  await page.getByRole('button', { name: 'App', exact: true }).click()
  await page.locator('[data-act=allow][data-armed=true]').click()
  await page.waitForSelector('iframe[data-ready=true]')
  const app = page.frames().find((frame) => frame.url().startsWith('https://a-'))
  if (app === undefined) throw new Error('There is no app')
  expect(new URL(app.url()).host).toMatch(/^a-[0-9a-f]{32}\.apps\.localhost:\d+$/)
  await app.getByText('Oslo').waitFor()
  return app
}

for (const name of ['nginx', 'Caddy'] as const) {
  const missing = missingFor(name)
  describe.skipIf(missing !== undefined)(
    `several people behind ${name}${missing === undefined ? '' : ` (${missing})`}`,
    { timeout: 120_000 },
    () => {
      test('sign in, use apps, and reconnect after a restart', async () => {
        const at = await proxied(name)
        const ann = await signIn(at, 'ann', inspect)
        await openApp(ann)
        const before = ann.sockets.length
        expect(before).toBe(1)
        await at.restart()
        await vi.waitFor(() => expect(ann.sockets.length).toBeGreaterThan(before), 20_000)
        await ann.page.goto(`${at.origin}/activity`)
        await ann.page.getByText('forecast').first().waitFor()
        expect(ann.faults).toEqual([])
      })
    },
  )
}

const missing = missingFor('HAProxy')
describe.skipIf(missing !== undefined)(
  `several people behind a proxy${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 120_000 },
  () => {
    test('sign in at their issuer, see their own host alone, use apps, and stay signed in over a restart', async () => {
      const at = await proxied('HAProxy')
      const ann = await signIn(at, 'ann', inspect)
      expect(ann.page.url()).toBe(`${at.origin}${inspect}`)
      expect(ann.sockets).toEqual([expect.stringMatching(`^${at.origin.replace('https', 'wss')}/socket`)])
      const cookies = await ann.context.cookies(at.origin)
      expect(cookies.find(({ name }) => name === '__Host-jackfield')).toMatchObject({
        ...{ secure: true, httpOnly: true, sameSite: 'Strict', path: '/', domain: 'jackfield.localhost' },
      })

      // An app of a server, at an origin of its own.
      const app = await openApp(ann)
      expect(await app.evaluate('document.cookie')).toBe('')

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
      expect(at.running().output()).not.toContain('failed')
    })

    test('are refused without being allowed', async () => {
      const at = await proxied('HAProxy')
      const carol = await visit(at, '/')
      at.issuer.account = 'carol'
      await carol.page.getByRole('button', { name: 'Sign in' }).click()
      await carol.page.getByText('may not use this host').waitFor()
      await at.running().waitForOutput('subject carol signed in and is not allowed to')
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
