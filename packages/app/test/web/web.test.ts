import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createHostClient, type ServerRow } from '@jackfield/host/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import WebSocket from 'ws'
import { freePort } from '../../../../test/setup/ports.ts'
import { begin, type Running, run, tempFolder, travel } from '../cli/jackfield.ts'

/** A folder with one configured server, and how commands run in it. */
function project() {
  const cwd = tempFolder()
  const [command, ...args] = travel()
  writeFileSync(join(cwd, 'jackfield.json'), JSON.stringify({ mcpServers: { travel: { command, args } } }))
  const options = { cwd, env: { XDG_DATA_HOME: tempFolder() } }
  return {
    run: (...words: string[]) => run(words, options),
    begin(...words: string[]): Running {
      const running = begin(words, options)
      onTestFinished(async () => {
        running.child.kill('SIGKILL')
        await running.ended
      })
      return running
    },
  }
}

async function logIn(link: string): Promise<{ status: number; cookie: string; pageKey: string }> {
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

const words = ['web', '--no-open', '--json', '--start-what-this-folder-names', '--port']

describe('jackfield web', () => {
  test('prints one line with a login link, starts the servers, and ends with a signal', async () => {
    const { begin } = project()
    const port = await freePort()
    const running = begin(...words, String(port))
    await running.says('Ctrl+C ends it')
    const [line = ''] = running.said().split('\n')
    const { url }: { url: string } = JSON.parse(line)
    expect(Object.keys(JSON.parse(line))).toEqual(['url'])
    expect(url).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:${port}/#k=[\\w-]{22}$`))
    const { status, cookie, pageKey } = await logIn(url)
    expect(status).toBe(200)
    const client = createHostClient({
      name: 'test',
      connect: () =>
        new Promise((resolve, reject) => {
          const origin = new URL(url).origin
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
    const ready = Promise.withResolvers<ServerRow>()
    client.subscribe('servers', {
      rows(view) {
        const row = view.get('travel')
        if (row?.connection.state === 'ready') ready.resolve(row)
      },
    })
    expect((await ready.promise).tools).toBeGreaterThan(2)
    running.child.kill('SIGINT')
    expect(await running.ended).toMatchObject({ code: 130, stdout: `${line}\n` })
  })

  test('opens a tab on the one that runs already', async () => {
    const { begin, run } = project()
    const running = begin(...words, String(await freePort()))
    await running.says('Ctrl+C ends it')
    const { code, stdout, stderr } = await run(...words.slice(0, -1))
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('warning') })
    const [first, second] = [running.said().split('\n')[0] ?? '', stdout].map((line) => {
      const { url }: { url: string } = JSON.parse(line)
      return url
    })
    expect(second?.split('#')[0]).toBe(first?.split('#')[0])
    expect(second).not.toBe(first)
    expect((await logIn(second ?? '')).status).toBe(200)
    expect((await logIn(second ?? '')).status).toBe(401)
    expect((await logIn(first ?? '')).status).toBe(200)
    // A process that was killed leaves nothing that stops the next.
    running.child.kill('SIGKILL')
    await running.ended
    const next = begin(...words.slice(0, -1))
    await next.says('Ctrl+C ends it')
    expect(next.said()).toContain(new URL(first ?? '').origin)
  })

  test('says what is wrong with a port', async () => {
    const { run } = project()
    expect(await run('web', '--no-open', '--port', '70000')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('a port from 1 to 65535'),
    })
    const { begin } = project()
    const port = String(await freePort())
    await begin(...words, port).says('Ctrl+C ends it')
    expect(await run('web', '--no-open', '--port', port)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(`cannot listen on port ${port}`),
    })
  })
})
