import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createHostClient, type HostClient, type ServerRow } from '@jackfield/host/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import WebSocket from 'ws'
import { freePort } from '../../../../test/setup/ports.ts'
import { begin, type Ended, type Running, run as runInProcess, tempFolder, travel } from '../cli/jackfield.ts'

/** A folder with one configured server, and how commands run in it. `daemon`: on a host process that they share. */
function project(daemon: 'on' | 'off') {
  const cwd = tempFolder()
  const [command, ...args] = travel()
  writeFileSync(join(cwd, 'jackfield.json'), JSON.stringify({ mcpServers: { travel: { command, args } } }))
  const options = { cwd, env: { HOME: cwd, XDG_DATA_HOME: tempFolder(), JACKFIELD_DAEMON: daemon } }
  const run = (...words: string[]): Promise<Ended> => runInProcess(words, options)
  onTestFinished(async () => {
    await run('daemon', 'stop', '--all', '--now')
  })
  return {
    run,
    begin(...words: string[]): Running {
      const running = begin(words, options)
      onTestFinished(async () => {
        running.child.kill('SIGKILL')
        await running.ended
      })
      return running
    },
    async pid(): Promise<number> {
      const { stdout } = await run('daemon', 'status', '--all', '--json')
      const { hosts }: { hosts: { pid: number }[] } = JSON.parse(stdout)
      return hosts[0]?.pid ?? 0
    },
  }
}

interface Browser {
  readonly cookie: string
  readonly pageKey: string
}

async function logIn(link: string): Promise<Browser & { readonly status: number }> {
  const { origin, hash } = new URL(link)
  const response = await fetch(`${origin}/login`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Origin: origin },
    body: JSON.stringify({ key: hash.replace('#k=', '') }),
  })
  const body: { pageKey?: string } = response.ok ? await response.json() : {}
  const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';')
  return { status: response.status, cookie, pageKey: body.pageKey ?? '' }
}

/** The host as a tab of the page uses it. It connects again where the connection is lost. */
function tab(link: string, { cookie, pageKey }: Browser): HostClient {
  const { origin } = new URL(link)
  const client = createHostClient({
    name: 'test',
    connect: () =>
      new Promise((resolve, reject) => {
        const headers = { Origin: origin, Cookie: cookie }
        const socket = new WebSocket(`${origin.replace('http', 'ws')}/socket`, { headers })
        socket.once('error', reject)
        socket.once('open', () => {
          socket.send(pageKey)
          resolve({
            unsent: 0,
            send: (frame) => socket.send(frame),
            close: () => socket.close(),
            listen(message, closed) {
              socket.on('message', (data) => message(String(data)))
              socket.once('close', (_code, reason) => closed(String(reason)))
            },
          })
        })
      }),
  })
  onTestFinished(() => client.close())
  return client
}

/** The row of the server, once it is ready. */
function travelRow(client: HostClient): Promise<ServerRow> {
  const { promise, resolve } = Promise.withResolvers<ServerRow>()
  const off = client.subscribe('servers', {
    rows(view) {
      const row = view.get('travel')
      if (row?.connection.state === 'ready') resolve(row)
    },
  })
  return promise.finally(off)
}

/** The link that a command printed as its only line on stdout. */
async function linkOf(running: Running, last: RegExp | string = 'Ctrl+C ends'): Promise<string> {
  await running.waitForOutput(String(last))
  const [line = ''] = running.output().split('\n')
  const printed: { url: string } = JSON.parse(line)
  expect(Object.keys(printed)).toEqual(['url'])
  return printed.url
}

const words = ['web', '--no-open', '--json', '--start-what-this-folder-names', '--port']

describe.each(['on', 'off'] as const)('jackfield web, host process %s', (daemon) => {
  test('prints one line with a login link, starts the servers, and ends with a signal', async () => {
    const { begin } = project(daemon)
    const port = await freePort()
    const running = begin(...words, String(port))
    const url = await linkOf(running)
    expect(url).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:${port}/#k=[\\w-]{22}$`))
    const page = await (await fetch(new URL(url).origin)).text()
    expect(page).toMatch(/<script type="module"[^>]* src="\/assets\/index-[\w-]+\.js">/)
    const browser = await logIn(url)
    expect(browser.status).toBe(200)
    const { tools } = await travelRow(tab(url, browser))
    expect(tools).toBeGreaterThan(2)
    running.child.kill('SIGINT')
    const { code, stdout } = await running.ended
    expect({ code, stdout }).toEqual({ code: 130, stdout: `${JSON.stringify({ url })}\n` })
    // Nothing listens any more: not in the host process either.
    await expect.poll(() => fetch(new URL(url).origin).catch(() => 'refused')).toBe('refused')
  })

  test('names a port in use, and reports other failures', async () => {
    const { run } = project(daemon)
    expect(await run('web', '--no-open', '--port', '70000')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('a port from 1 to 65535'),
    })
    const other = project(daemon)
    const port = String(await freePort())
    await linkOf(other.begin(...words, port))
    expect(await run('web', '--no-open', '--port', port)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(`cannot listen on port ${port}`),
    })
  })
})

describe('several jackfield web of one folder', () => {
  test('share one web server, which runs until the last of them ends', async () => {
    const { begin } = project('on')
    const first = begin(...words, String(await freePort()))
    const link = await linkOf(first)
    const second = begin(...words, String(await freePort()))
    const other = await linkOf(second, 'Ctrl+C ends this command')
    expect(second.output()).toContain('was not used')
    expect(other.split('#')[0]).toBe(link.split('#')[0])
    expect(other).not.toBe(link)
    const browser = await logIn(other)
    expect([browser.status, (await logIn(other)).status, (await logIn(link)).status]).toEqual([200, 401, 200])
    const client = tab(other, browser)
    await client.ready()
    first.child.kill('SIGINT')
    expect((await first.ended).code).toBe(130)
    expect((await client.call('host.status', {})).clients).toContain('jackfield web')
    second.child.kill('SIGINT')
    expect((await second.ended).code).toBe(130)
    await expect.poll(() => client.state.state).toBe('connecting')
  })

  test('show what other commands do, and reconnect by themselves after the host process was killed', async () => {
    const { begin, run, pid } = project('on')
    const running = begin(...words, String(await freePort()))
    const link = await linkOf(running)
    const client = tab(link, await logIn(link))
    await travelRow(client)
    const flights = ['call', 'travel.searchFlights', 'origin=OSL', 'destination=BCN', 'date=2027-01-10']
    expect(await run(...flights, '--start-what-this-folder-names')).toMatchObject({ code: 0 })
    const calls = await client.call('activity.list', { kind: 'call' })
    expect(calls).toMatchObject([{ server: 'travel', outcome: 'ok' }])
    process.kill(await pid(), 'SIGKILL')
    await running.waitForOutput('The host process was lost')
    await client.ready()
    await travelRow(client)
    expect(await client.call('activity.list', { kind: 'call' })).toEqual(calls)
  })

  test('with hosts of their own do not affect each other', async () => {
    const { begin, run } = project('off')
    const first = begin(...words, String(await freePort()))
    const link = await linkOf(first)
    const { code, stdout, stderr } = await run(...words.slice(0, -1))
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(`is served by another process: ${link.split('#')[0]}`)
    // A process that was killed leaves nothing that stops the next, which has the same address.
    first.child.kill('SIGKILL')
    await first.ended
    expect(await linkOf(begin(...words.slice(0, -1)))).toContain(new URL(link).origin)
  })
})
