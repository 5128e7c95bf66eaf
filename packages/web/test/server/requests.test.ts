import { once } from 'node:events'
import { mkdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { linkToRunning, serveWeb } from '@jackfield/web'
import { describe, expect, onTestFinished, test } from 'vitest'
import { inspectKinds, routes, settingsSections } from '../../src/app/routes.ts'
import { builtPage, keyOf, rig, send, type TestResponse, tempFolder } from './rig.ts'

/** The headers of every response. */
const everywhere = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'permissions-policy': expect.stringContaining('camera=()'),
  'content-security-policy': expect.stringMatching(/default-src 'none'.*frame-ancestors 'none'/),
}
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'nonce-NONCE'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  'frame-src http://*.localhost:APPS',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')
const paths = ['/', '/inbox', '/assets/index-AbCd1234.js', '/login', '/logout', '/sessions', '/sessions/abc']
const morePaths = ['/socket', '/blob/abc', '/nothing', '/icon.svg', '/servers/one/trust']

/** Sends bytes as they are and gives all of the response. */
async function raw(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let got = ''
  socket.on('data', (chunk) => {
    got += chunk
  })
  socket.on('error', () => {})
  socket.write(text)
  await once(socket, 'close')
  return got
}

describe('addresses of the page', () => {
  test('return index.html with a new nonce each time, which the policy contains', async () => {
    const { ask } = await rig()
    const nonces = new Set<string>()
    const addresses = [
      '/',
      '/chat',
      '/chat/one/two',
      '/servers',
      '/servers/a%2Fb/trust',
      '/inbox/q1',
      '/inspect',
      '/inspect/s/tools/t?args=%7B%7D',
      '/inspect/s/resources/file%3A%2F%2F%2Fa',
      '/permissions',
      '/permissions/try',
      '/activity?view=tree',
      '/activity/12/again',
      '/library/s/note%3A%2F%2F1',
      '/settings/registry/weather',
      ...settingsSections.map(routes.setting.to),
      ...inspectKinds.map((kind) => routes.inspectKind.to('s', kind)),
      ...inspectKinds.map((kind) => routes.inspectItem.to('s', kind, 'one/two')),
    ]
    for (const address of addresses) {
      const { status, headers, body } = await ask('GET', address)
      expect({ address, status }).toEqual({ address, status: 200 })
      const appsPort = /localhost:(\d+);/.exec(String(headers['content-security-policy']))?.[1] ?? ''
      const nonce = /<style nonce="([\w+/=]+)">/.exec(body)?.[1] ?? ''
      expect(headers).toMatchObject({
        ...everywhere,
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'content-security-policy': policy.replace('NONCE', nonce).replace('APPS', appsPort),
        'permissions-policy': expect.stringMatching(
          /camera=\(self "http:\/\/\*\.localhost:\d+"\), .*usb=\(\)/,
        ),
      })
      nonces.add(nonce)
    }
    expect(nonces.size).toBe(addresses.length)
    expect(await ask('HEAD', '/')).toMatchObject({ status: 200, body: '' })
  })

  test('explain how to build a page that is not built, and return it once it is', async () => {
    const page = join(tempFolder(), 'app')
    const { ask } = await rig({ page })
    const before = await ask('GET', '/inbox')
    expect(before).toMatchObject({ status: 503, headers: everywhere })
    expect(before.body).toContain('npm run build')
    mkdirSync(page)
    writeFileSync(join(page, 'index.html'), 'built')
    expect(await ask('GET', '/inbox')).toMatchObject({ status: 200, body: 'built' })
  })

  test('accept GET and HEAD only', async () => {
    const { ask } = await rig()
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
      expect(await ask(method, '/inbox')).toMatchObject({
        status: 405,
        headers: { ...everywhere, allow: 'GET, HEAD' },
      })
  })
})

describe('files of the page', () => {
  test('are cached permanently if their name has a hash, and revalidated otherwise', async () => {
    const { ask } = await rig()
    expect(await ask('GET', '/assets/index-AbCd1234.js')).toMatchObject({
      status: 200,
      body: 'document.title = "Ready"\n',
      headers: {
        ...everywhere,
        'content-type': 'text/javascript; charset=utf-8',
        'cache-control': 'private, max-age=31536000, immutable',
      },
    })
    expect(await ask('GET', '/icon.svg')).toMatchObject({
      status: 200,
      headers: { ...everywhere, 'content-type': 'image/svg+xml', 'cache-control': 'no-cache' },
    })
  })

  test('of a rebuilt page are served without a restart, and the old ones no longer', async () => {
    const page = builtPage()
    const { ask } = await rig({ page })
    expect((await ask('GET', '/assets/index-AbCd1234.js')).status).toBe(200)
    rmSync(join(page, 'assets', 'index-AbCd1234.js'))
    writeFileSync(join(page, 'assets', 'index-EfGh5678.js'), 'new')
    const { mtimeMs } = statSync(join(page, 'index.html'))
    utimesSync(join(page, 'index.html'), mtimeMs / 1_000 + 5, mtimeMs / 1_000 + 5)
    expect((await ask('GET', '/assets/index-EfGh5678.js')).body).toBe('new')
    expect((await ask('GET', '/assets/index-AbCd1234.js')).status).toBe(404)
  })

  test('are the only files that are served', async () => {
    const { ask, warnings } = await rig()
    const wanted = [
      '/index.html',
      '/../web.db',
      '/assets/../index.html',
      '/assets/..%2f..%2fweb.db',
      '/%2e%2e/web.db',
      '/assets/',
      '//evil.example/',
      '/assets\\index-AbCd1234.js',
      '/etc/passwd',
      '/servers/a/b/c',
      '/Login',
      '/%00',
    ]
    for (const path of wanted) {
      const { status, headers, body } = await ask('GET', path)
      expect({ path, status, body }).toEqual({
        path,
        status: 404,
        body: 'There is nothing at this address.\n',
      })
      expect(headers).toMatchObject(everywhere)
    }
    expect(warnings).toEqual([])
  })
})

describe('a request', () => {
  test('with another Host gets 421 without a body, on every path', async () => {
    const { port, web } = await rig()
    const hosts = [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1',
      `127.0.0.1:${port + 1}`,
      `127.0.0.1.evil.example:${port}`,
      `[::1]:${port}`,
      `127.1:${port}`,
      `127.0.0.1.:${port}`,
      `a@127.0.0.1:${port}`,
      `LOCALHOST.:${port}`,
      '',
    ]
    const answers: TestResponse[] = []
    for (const host of hosts)
      for (const path of [...paths, ...morePaths])
        for (const method of ['GET', 'POST', 'PUT'])
          answers.push(await send(port, method, path, { headers: { Host: host } }))
    expect(answers).toHaveLength(hosts.length * 12 * 3)
    for (const { status, body, headers } of answers) {
      expect({ status, body }).toEqual({ status: 421, body: '' })
      expect(headers).toMatchObject(everywhere)
    }
    const twice = `GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`
    expect(await raw(port, twice)).toMatch(/^HTTP\/1.1 421 /)
    expect(web.sessions()).toEqual([])
  })

  test('to the port of the apps gets 421 without a body, unless its Host is that of an app', async () => {
    const { ask, port, web } = await rig()
    const { headers } = await ask('GET', '/')
    const apps = Number(/localhost:(\d+);/.exec(String(headers['content-security-policy']))?.[1])
    const site = '0123456789abcdef'.repeat(2)
    const hosts = [
      'evil.example',
      `evil.example:${apps}`,
      `127.0.0.1:${apps}`,
      `127.0.0.1:${port}`,
      `localhost:${apps}`,
      `b-${site}.localhost:${apps}`,
      `a-${site}.localhost`,
      `a-${site}.localhost:${port}`,
      `a-${site.slice(1)}.localhost:${apps}`,
      `a-${site.toUpperCase()}.localhost:${apps}`,
      `a-${site}.localhost.evil.example:${apps}`,
      `x.a-${site}.localhost:${apps}`,
    ]
    const page = '/01234567-89ab-cdef-0123-456789abcdef'
    for (const host of hosts)
      for (const path of [...paths, ...morePaths, page])
        for (const method of ['GET', 'POST', 'PUT']) {
          const { status, body } = await send(apps, method, path, { headers: { Host: host } })
          expect({ host, path, status, body }).toEqual({ host, path, status: 421, body: '' })
        }
    for (const kind of ['a', 'p']) {
      const Host = `${kind}-${site}.localhost:${apps}`
      expect((await send(apps, 'GET', page, { headers: { Host } })).status).toBe(404)
    }
    expect(web.sessions()).toEqual([])
  })

  test('for localhost is redirected to 127.0.0.1 where it opens a page, and rejected elsewhere', async () => {
    const { port } = await rig()
    const headers = { Host: `localhost:${port}` }
    expect(await send(port, 'GET', '/inbox/q1?x=1', { headers })).toMatchObject({
      status: 307,
      body: '',
      headers: { ...everywhere, location: `http://127.0.0.1:${port}/inbox/q1?x=1` },
    })
    for (const path of paths.slice(2)) expect((await send(port, 'GET', path, { headers })).status).toBe(421)
    expect((await send(port, 'POST', '/login', { headers })).status).toBe(421)
    expect((await send(port, 'GET', '//evil.example', { headers })).status).toBe(421)
  })

  test('with an effect needs the exact Origin, and Sec-Fetch-Site where it is sent', async () => {
    const { port, web } = await rig()
    const own = `http://127.0.0.1:${port}`
    const body = JSON.stringify({ key: keyOf(web.link()) })
    const wrong: Record<string, string>[] = [
      { Origin: '' },
      { Origin: 'null' },
      { Origin: `http://localhost:${port}` },
      { Origin: `http://127.0.0.1:${port + 1}` },
      { Origin: `https://127.0.0.1:${port}` },
      { Origin: `${own}.evil.example` },
      { Origin: `${own}/` },
      ...['cross-site', 'same-site', 'none', 'same-origin, same-origin'].map((site) => ({
        'Sec-Fetch-Site': site,
      })),
    ]
    for (const headers of wrong)
      for (const [method, path] of [
        ['POST', '/login'],
        ['POST', '/logout'],
        ['PUT', '/blob/abc'],
        ['DELETE', '/sessions/abc'],
      ] as const) {
        const { status, headers: got } = await send(port, method, path, {
          headers: { 'Content-Type': 'application/json', ...headers },
          body,
        })
        expect({ headers, path, status }).toEqual({ headers, path, status: 403 })
        expect(got).toMatchObject(everywhere)
        expect(Object.keys(got).filter((name) => name.startsWith('access-control'))).toEqual([])
      }
    const right = { 'Content-Type': 'application/json', 'Sec-Fetch-Site': 'same-origin' }
    expect((await send(port, 'POST', '/login', { headers: right, body })).status).toBe(200)
  })

  test('of a page of another site is rejected; a link that a user follows needs confirmation', async () => {
    const { ask } = await rig()
    for (const site of ['cross-site', 'same-site']) {
      for (const path of [...paths, ...morePaths])
        expect(await ask('GET', path, { headers: { 'Sec-Fetch-Site': site } })).toMatchObject({
          status: 403,
          headers: everywhere,
        })
      const followed = await ask('GET', '/inbox', {
        headers: { 'Sec-Fetch-Site': site, 'Sec-Fetch-Dest': 'document' },
      })
      expect(followed).toMatchObject({ status: 403, headers: everywhere })
      expect(followed.body).toContain('<a href="">')
    }
    expect((await ask('GET', '/inbox', { headers: { Origin: 'https://evil.example' } })).status).toBe(403)
    expect((await ask('OPTIONS', '/login', { headers: { Origin: 'https://evil.example' } })).status).toBe(403)
    expect((await ask('GET', '/inbox', { headers: { 'Sec-Fetch-Site': 'none' } })).status).toBe(200)
  })

  test('accepts only the methods of its path', async () => {
    const { ask } = await rig()
    const allowed: Record<string, string> = {
      '/login': 'POST',
      '/logout': 'POST',
      '/sessions': 'GET',
      '/sessions/abc': 'DELETE',
      '/blob/abc': 'GET, PUT',
    }
    for (const [path, allow] of Object.entries(allowed))
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH']) {
        const { status, headers } = await ask(method, path)
        const isAllowed = allow.split(', ').includes(method)
        expect({ path, method, refused: status === 405 }).toEqual({ path, method, refused: !isAllowed })
        expect(headers).toMatchObject({ ...everywhere, ...(!isAllowed && { allow }) })
      }
    expect(await ask('GET', '/socket')).toMatchObject({ status: 426, headers: everywhere })
  })

  test('that cannot be parsed is rejected with the same headers', async () => {
    const { port } = await rig()
    const host = `Host: 127.0.0.1:${port}\r\n`
    const requests: Record<string, string> = {
      '400': 'no HTTP\r\n\r\n',
      '431': `GET / HTTP/1.1\r\n${host}X: ${'x'.repeat(20_000)}\r\n\r\n`,
      '417': `POST /login HTTP/1.1\r\n${host}Expect: a miracle\r\n\r\n`,
      '421': 'GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n',
      '404': `GET /inbox HTTP/1.1\r\n${host}Upgrade: websocket\r\nConnection: Upgrade\r\nOrigin: http://127.0.0.1:${port}\r\n\r\n`,
      '403': `GET /socket HTTP/1.1\r\n${host}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n`,
    }
    for (const [status, text] of Object.entries(requests)) {
      const answer = await raw(port, text)
      expect(answer.slice(0, 12)).toBe(`HTTP/1.1 ${status}`)
      expect(answer).toContain("Content-Security-Policy: default-src 'none'")
      expect(answer).toContain('X-Content-Type-Options: nosniff')
      expect(answer).toContain('Cross-Origin-Resource-Policy: same-origin')
    }
    const absolute = `GET http://127.0.0.1:${port}/ HTTP/1.1\r\n${host}Connection: close\r\n\r\n`
    expect(await raw(port, absolute)).toMatch(/^HTTP\/1.1 400 /)
    expect((await send(port, 'GET', `/${'a'.repeat(5_000)}`)).status).toBe(400)
  })
})

describe('the server', () => {
  test('listens on 127.0.0.1 only', async () => {
    const { port, peers } = await rig()
    const others = Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .flatMap(({ address, family }) => (family === 'IPv4' && address !== '127.0.0.1' ? [address] : []))
    for (const address of ['::1', '127.0.0.2', ...others]) {
      const socket = connect(port, address)
      const [error] = await once(socket, 'error')
      expect(error).toBeInstanceOf(Error)
    }
    const wrong = { peers, file: join(tempFolder(), 'web.db'), onWarning() {} }
    // @ts-expect-error Another address is a mistake of types, too.
    await expect(serveWeb({ ...wrong, host: '0.0.0.0' })).rejects.toThrow('127.0.0.1 only')
  })

  test('restarts on its port, or on one of nine others if that is in use', async () => {
    const file = join(tempFolder(), 'web.db')
    const first = await rig({ file, port: 'usual' })
    expect(first.port).toBeGreaterThanOrEqual(7411)
    expect(first.port).toBeLessThanOrEqual(7419)
    await first.web.close()
    const again = await rig({ file, port: 'usual' })
    expect(again).toMatchObject({ port: first.port, warnings: [] })
    await again.web.close()
    const other = createServer().listen(first.port, '127.0.0.1')
    onTestFinished(() => void other.close())
    await once(other, 'listening')
    const moved = await rig({ file, port: 'usual' })
    expect(moved.port).not.toBe(first.port)
    expect(moved.warnings).toEqual([expect.stringContaining(`Port ${first.port} is in use`)])
    await moved.web.close()
    await expect(rig({ file, port: first.port })).rejects.toThrow(`cannot listen on port ${first.port}`)
    // A start that failed leaves nothing locked.
    expect(await rig({ file, port: 'usual' })).toMatchObject({ port: moved.port, warnings: [] })
  })

  test('is one for each file; another process gets a login link of it', async () => {
    const file = join(tempFolder(), 'web.db')
    expect(linkToRunning(file)).toBeUndefined()
    const { web, ask } = await rig({ file })
    await expect(rig({ file })).rejects.toThrow('A web server runs already')
    const link = linkToRunning(file) ?? ''
    expect(link).toMatch(new RegExp(`^${web.url}/#k=[\\w-]{22}$`))
    const headers = { 'Content-Type': 'application/json' }
    const body = JSON.stringify({ key: keyOf(link) })
    expect((await ask('POST', '/login', { headers, body })).status).toBe(200)
    await web.close()
    expect(linkToRunning(file)).toBeUndefined()
  })

  test('closes at once, whatever its connections do', async () => {
    const { web, port } = await rig()
    const waiting = connect(port, '127.0.0.1')
    waiting.on('error', () => {})
    await once(waiting, 'connect')
    waiting.write(`POST /login HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: 10\r\n`)
    const over = once(waiting, 'close')
    await Promise.all([web.close(), web.close()])
    await over
    await expect(send(port, 'GET', '/')).rejects.toThrow('ECONNREFUSED')
  })
})
