import { connect as dial } from 'node:net'
import { networkInterfaces } from 'node:os'
import { oauth } from '@jackfield/sdk/client/auth'
import { loopback } from '@jackfield/sdk/client/auth/node'
import { afterEach, expect, vi } from 'vitest'
import { open, protectedServer } from '../../../packages/sdk/test/client-auth/support/protected-server.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'

afterEach(() => {
  vi.useRealTimers()
})

/** What a page could be made to do, if any of it came back. */
const payloads: readonly [string, ...string[]] = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "'-alert(1)-'",
  '</title><svg/onload=alert(1)>',
  '<!--<iframe src=javascript:alert(1)>',
  '%0d%0aset-cookie:%20a=b%0d%0a%0d%0a<h1>',
  '%00<base href=//evil.example>',
  'javascript:alert(1)',
]

/** One line of a request and what comes with it; `state` is that of the login that is going on. */
type Attack = (at: { path: string; host: string; state: string; old: string; payload: string }) => string

const get = (target: string, host: string, more = ''): string =>
  `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: close\r\n\r\n`

const attacks: readonly [Attack, ...Attack[]] = [
  ({ path, host, payload }) => get(`${path}?code=theirs&state=${encodeURI(payload)}`, host),
  ({ path, host, payload }) =>
    get(`${path}?error=${payload.replaceAll(' ', '+')}&error_description=${encodeURI(payload)}`, host),
  ({ path, host, payload }) => get(`${path}/${encodeURI(payload)}?code=theirs`, host),
  ({ host, payload, state }) => get(`/${encodeURI(payload)}?code=theirs&state=${state}`, host),
  ({ path, host }) => get(`${path}?code=theirs`, host),
  ({ path, host }) => get(`${path}?code=theirs&state=`, host),
  ({ path, host, old }) => get(`${path}?code=theirs&state=${old}`, host),
  ({ path, host, old, state }) => get(`${path}?code=theirs&state=${old}&state=${state}`, host),
  ({ path, host, state }) => get(`${path}?code=theirs&state=${state.toLowerCase()}x`, host),
  ({ path, host, state }) => get(`${path}?code=theirs&state=${state.slice(0, -1)}`, host),
  ({ path, host, state }) => get(`${path}?code=theirs&state[]=${state}`, host),
  ({ path, host, state }) => get(`${path}?code=theirs#state=${state}`, host),
  ({ path, state }) => get(`${path}?code=theirs&state=${state}`, 'evil.example'),
  ({ path, host, state }) =>
    get(`${path}?code=theirs&state=${state}`, host.replace('127.0.0.1', 'localhost')),
  ({ path, host, state }) => get(`http://evil.example${path}?code=theirs&state=${state}`, host),
  ({ path, host, state }) => get(`//evil.example${path}?code=theirs&state=${state}`, host),
  ({ path, host, state }) => get(`${path}/?code=theirs&state=${state}`, host),
  ({ path, host, state }) =>
    `POST ${path}?code=theirs&state=${state} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
  ({ path, host, state }) =>
    `HEAD ${path}?code=theirs&state=${state} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
  ({ path, host, state }) => get(`${path}?code=theirs&state=${state}`, host, 'Host: evil.example\r\n'),
  ({ path, state }) => `GET ${path}?code=theirs&state=${state} HTTP/1.0\r\n\r\n`,
  ({ host, payload }) => get(`/${payload}`, host),
]

/** The response of a port of this machine to a text; undefined if the port is closed. */
function respondTo(port: number, text: string, host = '127.0.0.1'): Promise<string | undefined> {
  return new Promise((resolve) => {
    let received = ''
    const socket = dial({ port, host }, () => socket.write(text))
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
    })
    socket.on('error', () => resolve(undefined))
    socket.on('close', () => resolve(received))
  })
}

const elsewhere = Object.values(networkInterfaces()).flatMap((all) =>
  (all ?? [])
    .filter(({ address }) => address !== '127.0.0.1')
    .map(({ address, scopeid }) => (scopeid ? undefined : address)),
)

campaign(
  {
    id: 'hostile-callbacks',
    chapter: 'Authorization',
    claim: 'Only the response to the pending login completes it, once, and nothing of a request is shown',
    trial: 'hostile request to a login that waits',
    trials: { change: 240, long: 12_000 },
  },
  async (campaignRun) => {
    const random = new Random(campaignRun.seed)
    const one = await protectedServer()
    const each = 24
    let last = { state: 'nothing', url: '' }
    const browser = async (page: URL): Promise<void> => {
      const state = page.searchParams.get('state') ?? ''
      const { host, port, pathname: path } = new URL(page.searchParams.get('redirect_uri') ?? '')
      for (let trial = 0; trial < each; trial++) {
        const payload = random.pick(payloads)
        const text = random.pick(attacks)({ path, host, state, old: last.state, payload })
        const answer = (await respondTo(Number(port), text)) ?? ''
        const where = JSON.stringify(text)
        expect(answer, where).toMatch(/^HTTP\/1\.1 4\d\d /)
        expect(answer, where).not.toMatch(
          /alert|evil|theirs|set-cookie|location:|script|svg|iframe|img|base/i,
        )
        expect(answer.includes(state), where).toBe(false)
      }
      for (const address of elsewhere) {
        if (address !== undefined)
          expect(await respondTo(Number(port), get(path, host), address), address).toBe(undefined)
      }
      if (last.url !== '') {
        const old = new URL(last.url)
        expect(await respondTo(Number(port), get(`${old.pathname}${old.search}`, host))).toContain(' 400 ')
      }
      const { headers } = await fetch(page, { redirect: 'manual' })
      last = { state, url: headers.get('location') ?? '' }
      await fetch(last.url).then((response) => response.text())
    }
    const auth = oauth({ client: { name: 'test' }, redirect: loopback({ open: browser }) })
    for (let login = 1; login <= campaignRun.trials / each; login++) {
      const client = await open(one, auth)
      await client.call('x')
      await client.close()
      const codes = one.as.at('/token').map(({ params }) => params.get('code'))
      expect(codes).toHaveLength(login)
      expect(codes.at(-1)).toBe(new URL(last.url).searchParams.get('code'))
      const { port, pathname, search, host } = new URL(last.url)
      expect(await respondTo(Number(port), get(`${pathname}${search}`, host)), 'after its login').toBe(
        undefined,
      )
      await auth.forget(one.url)
    }
    await timedOut()
  },
)

/** An unused listener is closed after five minutes. */
async function timedOut(): Promise<void> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const session = await loopback({ open: async () => {} }).begin(undefined)
  const waiting = session.open(new URL('https://as.example/?state=s'), new AbortController().signal)
  const ended = expect(waiting).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
  await vi.advanceTimersByTimeAsync(300_000)
  await ended
  await session.close()
  vi.useRealTimers()
  const { port, host } = new URL(session.uri)
  expect(await respondTo(Number(port), get('/callback?state=s&code=c', host))).toBe(undefined)
}
