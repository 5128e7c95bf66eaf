import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startAuthorizationServer } from '../../../sdk/test/auth-support/authorization-server.ts'
import { type Browser, send, webClient } from '../../../web/test/server/rig.ts'
import { begin, jsonFile, run, tempFolder } from '../cli/jackfield.ts'

const origin = 'https://jackfield.example'
const asking = fileURLToPath(new URL('../cli/asking-server.ts', import.meta.url))
const publicly = ['web', '--public', origin, '--oidc', 'http://127.0.0.1:9']

describe('jackfield web for several people', () => {
  test.each([
    ['a public origin without an issuer', ['web', '--public', origin], 'give both --public and --oidc'],
    ['an issuer without a public origin', ['web', '--oidc', 'https://x'], 'only 127.0.0.1 is served'],
    ['its options alone', ['web', '--apps-domain', 'x'], '--apps-domain needs --public and --oidc'],
    ['a port', [...publicly, '--port', '80'], '--listen sets the address for the proxy'],
    ['an issuer without a client', publicly, 'needs --client-id'],
    ['no address for the proxy', [...publicly, '--client-id', 'x'], 'needs --listen'],
    ['another address than loopback', [...publicly, '--listen', '0.0.0.0:80'], 'a port of 127.0.0.1'],
    [
      'nobody who may sign in',
      [...publicly, '--client-id', 'x', '--listen', '0', '--config', jsonFile({ mcpServers: {} })],
      'Name who may sign in',
    ],
    [
      'a secret that cannot be read',
      [
        ...[...publicly, '--client-id', 'x', '--listen', '0', '--allow', 'everyone'],
        ...['--client-secret-file', '/none', '--config', jsonFile({ mcpServers: {} })],
      ],
      '/none cannot be read',
    ],
  ])('refuses %s', async (_, words, message) => {
    expect(await run(words)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) })
  })

  test('gives each a host with a folder of their own, and keeps what is the operator’s out of reach', async () => {
    const issuer = await startAuthorizationServer({
      registration: false,
      clients: [
        {
          client_id: 'jackfield',
          token_endpoint_auth_method: 'none',
          redirect_uris: [`${origin}/oidc/callback`],
          response_types: ['code'],
          grant_types: ['authorization_code'],
        },
      ],
    })
    onTestFinished(() => issuer.close())
    const folder = tempFolder()
    const config = jsonFile({
      mcpServers: { booking: { command: process.execPath, args: [asking, 'session'] } },
    })
    const running = begin([
      ...['web', '--json', '--public', origin, '--oidc', issuer.issuer, '--client-id', 'jackfield'],
      ...['--allow', 'sub:ann', '--allow', 'sub:bob', '--listen', '0'],
      ...['--config', config, '--store', join(folder, 'activity.db')],
    ])
    onTestFinished(() => void running.child.kill('SIGKILL'))
    await running.waitForOutput('It listens at')
    const printed: unknown = JSON.parse(running.output().split('\n')[0] ?? '')
    expect(printed).toEqual({ url: origin, listen: expect.any(Number) })
    const port = Number(/127\.0\.0\.1:(\d+)/.exec(running.output())?.[1])
    const clients = []
    for (const account of ['ann', 'bob']) {
      issuer.account = account
      const headers = { Host: 'jackfield.example', Origin: origin }
      const client = webClient(port, await signIn(port), () => {}, headers)
      await client.ready()
      await client.call('servers.start', { servers: ['booking'] })
      clients.push(client)
    }
    const [ann, bob] = clients
    if (ann === undefined || bob === undefined) throw new Error('Nobody signed in')
    const pidOf = async (client: typeof ann) =>
      (await client.call('servers.details', { server: 'booking' }))?.pid ?? 0
    expect(await pidOf(ann)).toBeGreaterThan(0)
    expect(await pidOf(ann)).not.toBe(await pidOf(bob))
    // A question is in the inbox of the user whose call it is.
    for (const client of [ann, bob])
      await client.call('surface.attach', { name: 'web', kinds: ['elicitation'] })
    const request = { kind: 'call', tool: 'booking__book', arguments: {} } as const
    await ann.call('runs.start', { request })
    await expect.poll(async () => (await ann.call('inbox.list', {})).length).toBe(1)
    expect(await bob.call('inbox.list', {})).toEqual([])
    expect(await bob.call('activity.list', { kind: 'call' })).toEqual([])
    await ann.call('secrets.set', { name: 'TOKEN', value: 'of-ann-alone' })
    expect(await ann.call('secrets.names', {})).toEqual(['TOKEN'])
    expect(await bob.call('secrets.names', {})).toEqual([])
    for (const [method, params] of [
      ['host.stop', {}],
      ['roots.add', { folder: '/' }],
      ['config.view', {}],
      ['config.write', { id: 'x' }],
      ['registry.search', { words: 'x' }],
    ] as const)
      await expect(ann.call(method, params)).rejects.toThrow(
        `Only the operator of this host can do this (${method}).`,
      )
    expect(readdirSync(join(folder, 'web')).filter((name) => /^[0-9a-f]{32}$/.test(name))).toHaveLength(2)
    running.child.kill('SIGINT')
    expect((await running.ended).code).toBe(130)
  })
})

/** Signs a browser in as the account of the issuer. */
async function signIn(port: number): Promise<Browser> {
  const headers = { Host: 'jackfield.example' }
  const begun = await send(port, 'GET', '/sign-in', { headers })
  const cookie = begun.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  const { headers: back } = await fetch(begun.headers.location ?? '', { redirect: 'manual' })
  const { pathname, search } = new URL(back.get('location') ?? '')
  const done = await send(port, 'GET', `${pathname}${search}`, { headers: { ...headers, Cookie: cookie } })
  const key = /#k=([\w-]+)$/.exec(String(done.headers['refresh']))?.[1]
  const login = await send(port, 'POST', '/login', {
    headers: { ...headers, Origin: origin, Cookie: cookie, 'Content-Type': 'application/json' },
    body: JSON.stringify({ key }),
  })
  const { pageKey }: { pageKey: string } = JSON.parse(login.body)
  return { cookie: login.headers['set-cookie']?.[0]?.split(';')[0] ?? '', pageKey }
}
