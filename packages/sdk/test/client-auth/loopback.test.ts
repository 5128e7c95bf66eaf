import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { manual, oauth, type Redirect } from '@jackfield/sdk/client/auth'
import { loopback, openBrowser } from '@jackfield/sdk/client/auth/node'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { open, protectedServer } from './support/protected-server.ts'

/** A browser that follows every redirect. */
const browser = async (url: URL): Promise<void> => {
  fetch(url).then((response) => response.text())
}
const page = (state: string): URL => new URL(`https://as.example/authorize?state=${state}`)
const never = new AbortController().signal

async function begun(redirect: Redirect, last?: string) {
  const session = await redirect.begin(last)
  onTestFinished(() => session.close())
  return session
}

describe('the loopback listener', () => {
  it('completes a login of a user', async () => {
    const one = await protectedServer()
    const auth = oauth({ client: { name: 'test' }, redirect: loopback({ open: browser }) })
    const client = await open(one, auth)
    await client.call('x')
    const uri = one.as.at('/authorize')[0]?.params.get('redirect_uri') ?? ''
    expect(uri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/)
    await expect(fetch(uri)).rejects.toThrow()
  })

  it('uses the port of the last registration, and registers again if it is in use', async () => {
    const one = await protectedServer()
    const auth = oauth({ client: { name: 'test' }, redirect: loopback({ open: browser }) })
    const client = await open(one, auth)
    await auth.forget(one.url)
    await client.call('x')
    expect(one.as.at('/register')).toHaveLength(1)
    const uri = new URL(one.as.at('/authorize')[0]?.params.get('redirect_uri') ?? '')
    const squatter = createServer().listen(Number(uri.port), '127.0.0.1')
    onTestFinished(() => void squatter.close())
    await new Promise((resolve) => squatter.once('listening', resolve))
    await auth.forget(one.url)
    await client.call('x')
    expect(one.as.at('/register')).toHaveLength(2)
  })

  it('rejects everything but the response to this login, and keeps waiting', async () => {
    const session = await begun(loopback({ open: async () => {} }))
    const answer = session.open(page('mine'), never)
    const port = new URL(session.uri).port
    const strays = [
      fetch(`${session.uri}?state=other&code=1`),
      fetch(`${session.uri}?code=1`),
      fetch(`${session.uri}/more?state=mine&code=1`),
      fetch(`${session.uri}?state=mine&code=1`, { method: 'POST' }),
      fetch(`http://localhost:${port}/callback?state=mine&code=1`),
    ]
    for (const stray of await Promise.all(strays)) expect(stray.status).toBe(400)
    const markup = '<script>alert(1)</script>'
    const good = await fetch(`${session.uri}?state=mine&code=2&error=${encodeURIComponent(markup)}`)
    expect((await answer).searchParams.get('code')).toBe('2')
    const text = await good.text()
    expect(text).toContain('close this window')
    expect(text).not.toContain('script')
    expect(Object.fromEntries(good.headers)).toMatchObject({
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    })
  })

  it('rejects requests before the page is shown', async () => {
    const session = await begun(loopback({ open: async () => {} }))
    for (const query of ['', '?state=mine&code=1']) {
      expect((await fetch(`${session.uri}${query}`)).status).toBe(400)
    }
  })

  it('accepts at most 100 connections, and closes them with the login', async () => {
    const session = await loopback({ open: async () => {} }).begin(undefined)
    const { port } = new URL(session.uri)
    let ended = 0
    const connections = Array.from({ length: 150 }, () => {
      const socket = createConnection(Number(port), '127.0.0.1')
      socket.on('error', () => {})
      socket.on('close', () => ended++)
      return once(socket, 'connect')
    })
    await Promise.all(connections)
    await expect.poll(() => ended).toBe(50)
    await session.close()
    await expect.poll(() => ended).toBe(150)
  })

  it('listens on 127.0.0.1 only, whatever the redirect URI is', async () => {
    const session = await begun(loopback({ host: 'localhost', open: async () => {} }))
    expect(session.uri).toMatch(/^http:\/\/localhost:/)
    const { port } = new URL(session.uri)
    await expect(fetch(`http://[::1]:${port}/callback`)).rejects.toThrow()
  })

  it('times out when the user does not return', async () => {
    const session = await begun(loopback({ open: async () => {}, timeoutMs: 20 }))
    await expect(session.open(page('mine'), never)).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('finish the login in the browser'),
    })
  })

  it('names the port in use', async () => {
    const squatter = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => squatter.once('listening', resolve))
    onTestFinished(() => void squatter.close())
    const { port } = squatter.address() as AddressInfo
    await expect(loopback({ port }).begin(undefined)).rejects.toThrow(`cannot listen on port ${port}`)
  })

  it('continues without a browser if the URL is shown', async () => {
    const failing = () => Promise.reject(new Error('no browser'))
    const shown: URL[] = []
    const session = await begun(loopback({ open: failing, onUrl: (url) => shown.push(url) }))
    const answer = session.open(page('mine'), never)
    await fetch(`${session.uri}?state=mine&code=1`)
    await answer
    expect(shown).toHaveLength(1)
    const silent = await begun(loopback({ open: failing }))
    await expect(silent.open(page('mine'), never)).rejects.toThrow('no browser')
  })
})

describe.skipIf(process.platform !== 'linux')('opening the browser', () => {
  /** Puts a program called xdg-open first in the path, which notes down its arguments. */
  async function fakeOpener(): Promise<() => Promise<string>> {
    const directory = await mkdtemp(join(tmpdir(), 'jackfield-browser-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    const noted = join(directory, 'noted')
    const program = join(directory, 'xdg-open')
    await writeFile(
      program,
      `#!/bin/sh\nprintf '%s|' "$#" "$@" >> '${noted}.part'\nmv '${noted}.part' '${noted}'\n`,
    )
    await chmod(program, 0o700)
    vi.stubEnv('PATH', `${directory}${delimiter}${process.env['PATH']}`)
    onTestFinished(() => void vi.unstubAllEnvs())
    return () => readFile(noted, 'utf8').catch(() => '')
  }

  it('passes the URL as one argument, whatever is in it', async () => {
    const noted = await fakeOpener()
    const url = new URL("https://as.example/a?b=$(touch x)&c=`id`;d='|e")
    await openBrowser(url)
    await expect.poll(noted).toBe(`1|${url.href}|`)
  })

  it.each([
    'http://as.example/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'data:text/html,x',
    'ms-settings:x',
    'vscode://x',
  ])('does not happen for %s', async (url) => {
    const noted = await fakeOpener()
    await expect(openBrowser(new URL(url))).rejects.toMatchObject({ code: 'INVALID' })
    expect(await noted()).toBe('')
  })

  it('that fails is an error', async () => {
    vi.stubEnv('PATH', '/nowhere')
    onTestFinished(() => void vi.unstubAllEnvs())
    await expect(openBrowser(new URL('https://as.example/'))).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
    })
  })
})

describe('a manual login', () => {
  it('accepts the URL the user ended on', async () => {
    const one = await protectedServer()
    const redirect = manual({
      redirectUri: 'http://127.0.0.1:1/callback',
      ask: async (url) => `  ${(await fetch(url, { redirect: 'manual' })).headers.get('location')}\n`,
    })
    const client = await open(one, oauth({ client: { name: 'test' }, redirect }))
    await client.call('x')
    expect(one.calls).toHaveLength(1)
  })

  it.each([
    ['nonsense', 'code=123'],
    ['the address of another page', 'https://elsewhere.example/callback?code=1&state=2'],
  ])('explains what is wrong with %s', async (_, answer) => {
    const one = await protectedServer()
    const redirect = manual({ redirectUri: 'http://127.0.0.1:1/callback', ask: async () => answer })
    await expect(open(one, oauth({ client: { name: 'test' }, redirect }))).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringMatching(/whole (?:address|URL)/),
    })
  })

  it.each(['http://example.com/callback', 'javascript:alert(1)', 'nonsense'])(
    'is impossible at %s',
    async (redirectUri) => {
      const one = await protectedServer()
      const redirect = manual({ redirectUri, ask: async () => '' })
      await expect(open(one, oauth({ client: { name: 'test' }, redirect }))).rejects.toMatchObject({
        code: 'INVALID',
      })
    },
  )
})
