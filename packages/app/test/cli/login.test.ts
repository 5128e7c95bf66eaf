import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { protectedServer } from '../../../sdk/test/client-auth/support/protected-server.ts'
import { json, listen } from '../../../sdk/test/client-auth/support/server.ts'
import { begin, jsonFile, run, tempFolder } from './jackfield.ts'

/** Goes to a page as a person does who agrees to everything. */
async function openPage(page: string): Promise<void> {
  const { headers } = await fetch(page, { redirect: 'manual' })
  await fetch(new URL(headers.get('location') ?? '', page))
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
}

test('a user logs in once, every later command uses it, and a logout ends it', {
  timeout: 120_000,
}, async () => {
  const shop = await protectedServer()
  shop.as.metadata = { revocation_endpoint: `${shop.as.issuer}/revoke` }
  const config = ['--config', jsonFile({ mcpServers: { shop: { url: shop.url } } })]
  const data = tempFolder()
  const env = { XDG_DATA_HOME: data, JACKFIELD_KEY_FILE: join(tempFolder(), 'key') }

  const refused = await run(['call', 'shop', 'x', ...config], { env })
  expect(refused).toMatchObject({ code: 3, stdout: '' })
  expect(refused.stderr).toContain('It requires a sign-in at')
  expect(refused.stderr).toContain('Sign in to shop: jackfield login shop')
  const inJson = await run(['call', 'shop', 'x', '--json', ...config], { env })
  expect(JSON.parse(inJson.stderr)).toMatchObject({
    error: { code: 'UNAUTHORIZED', fixes: [{ action: 'sign-in', server: 'shop' }] },
  })
  expect(inJson.stderr).not.toContain('jackfield login')

  const servers = await run(['servers', ...config], { env })
  expect(servers.code).toBe(3)
  expect(servers.stdout).toMatch(/shop +▲ needs sign-in/)
  expect(servers.stdout).toContain('Sign in to shop: jackfield login shop')

  const login = begin(['login', 'shop', '--no-browser', ...config], { env })
  let output = ''
  login.child.stderr?.on('data', (chunk) => {
    output += chunk
  })
  await login.waitForOutput('code_challenge_method=S256')
  await openPage(/http:\S+\/authorize\S+/.exec(output)?.[0] ?? '')
  expect(await login.ended).toMatchObject({ code: 0, stdout: 'Signed in. shop is ready, with 1 tool.\n' })

  const looked = await run(['doctor', 'shop', ...config], { env })
  expect(looked.stdout).toContain('the stored login is accepted')
  expect(looked.code).toBe(0)
  const called = await run(['call', 'shop', 'x', ...config], { env })
  expect(called).toMatchObject({ code: 0, stdout: 'done\n' })
  expect((await run(['login', 'shop', ...config], { env })).stdout).toContain('no sign-in is needed')
  expect(shop.as.at('/authorize')).toHaveLength(1)
  for (const bytes of filesIn(data)) expect(bytes).not.toMatch(/(access|refresh)-\d+-secret/)

  expect(await run(['logout', 'shop', ...config], { env })).toMatchObject({
    code: 0,
    stdout: 'Signed out of shop. The tokens are revoked.\n',
  })
  expect(shop.as.at('/revoke').map(({ params }) => params.get('token_type_hint'))).toEqual([
    'refresh_token',
    'access_token',
  ])
  expect((await run(['call', 'shop', 'x', ...config], { env })).code).toBe(3)
  expect((await run(['logout', 'shop', ...config], { env })).stdout).toBe('No user was signed in at shop.\n')
})

test('reports that no login is possible', { timeout: 60_000 }, async () => {
  const config = ['--config', jsonFile({ mcpServers: { local: { command: 'true' } } })]
  const program = await run(['login', 'local', ...config])
  expect(program).toMatchObject({ code: 2, stderr: 'local is a program and has no sign-in.\n' })
  expect((await run(['login', ...config])).stderr).toContain('Which server?')
  const shop = await protectedServer()
  const key = { JACKFIELD_KEY_FILE: join(tempFolder(), 'key'), XDG_DATA_HOME: tempFolder() }
  const header = await run(['logout', 'http://127.0.0.1:1/mcp', '--json'], { env: key })
  expect(header.code).toBe(0)
  const tools = await run(['tools', shop.url], { env: key })
  expect(tools).toMatchObject({ code: 3, stderr: expect.stringContaining(`jackfield login ${shop.url}`) })
  expect(tools.stderr).toContain("--header 'Authorization: Bearer <token>'")
  shop.as.metadata = { authorization_endpoint: undefined }
  const broken = await run(['login', shop.url], { env: key })
  expect(broken.code).not.toBe(0)
  expect(broken.stderr).toContain('names no authorization endpoint')
  // A server without an entry in a configuration is named by its URL in every suggested command.
  expect(broken.stderr).toContain(`jackfield login ${shop.url}`)
  const diagnosis = await run(['doctor', shop.url], { env: key })
  expect(diagnosis.stdout).toContain('a sign-in fails:')
  expect(diagnosis.stdout).toContain('names no authorization endpoint')
})

test('a login is only suggested where it can work: otherwise a token, or a client, has to be configured', async () => {
  const open = await listen(({ url, res }) => json(res, {}, url.pathname === '/mcp' ? 401 : 404))
  onTestFinished(() => open.close())
  const closed = await protectedServer()
  closed.as.metadata = { registration_endpoint: undefined }
  const config = [
    '--config',
    jsonFile({ mcpServers: { token: { url: `${open.origin}/mcp` }, client: { url: closed.url } } }),
  ]
  const env = { XDG_DATA_HOME: tempFolder(), JACKFIELD_KEY_FILE: join(tempFolder(), 'key') }
  for (const [server, why, fix] of [
    ['token', 'names no authorization server', 'Check the "headers" of token in its configuration.'],
    ['client', 'does not support dynamic client registration', '"auth": { "issuer", "clientId" }'],
  ] as const) {
    for (const command of ['tools', 'login']) {
      const { code, stderr } = await run([command, server, ...config], { env })
      expect({ command, code, stderr }).toEqual({ command, code: 3, stderr: expect.stringContaining(why) })
      expect(stderr).toContain(fix)
      expect(stderr).not.toContain('client.registered')
      expect(stderr).not.toContain('jackfield login')
    }
  }
  const unpublished = await listen(({ url, res }) =>
    url.pathname === '/.well-known/oauth-protected-resource/mcp'
      ? json(res, {
          resource: `${unpublished.origin}/mcp`,
          authorization_servers: [`${unpublished.origin}/none`],
        })
      : json(res, {}, url.pathname === '/mcp' ? 401 : 404),
  )
  onTestFinished(() => unpublished.close())
  const none = await run(['tools', `${unpublished.origin}/mcp`], { env })
  expect(none.stderr).toContain('which publishes no metadata')
  expect(none.stderr).not.toContain('jackfield login')
  const rejected = await run(['tools', `${open.origin}/mcp`, '--header', 'Authorization: x'], { env })
  expect(rejected.stderr).toContain('It did not accept the one of --header.')
  const { stderr } = await run(['tools', `${open.origin}/mcp`], { env })
  expect(stderr).toContain("If you have a token, add: --header 'Authorization: Bearer <token>'")
  expect(stderr).not.toContain('jackfield login')
})

test('the doctor suggests first what fits the server: a login, a client, or a token', async () => {
  const refusing = await listen(({ url, res }) => json(res, {}, url.pathname === '/mcp' ? 401 : 404))
  onTestFinished(() => refusing.close())
  const shop = await protectedServer()
  const closed = await protectedServer()
  closed.as.metadata = { registration_endpoint: undefined }
  const mcpServers = {
    shop: { url: shop.url },
    closed: { url: closed.url },
    refusing: { url: `${refusing.origin}/mcp` },
    expired: { url: shop.url, headers: { Authorization: 'Bearer old' } },
    disabled: { url: shop.url, auth: false },
  }
  const env = { XDG_DATA_HOME: tempFolder(), JACKFIELD_KEY_FILE: join(tempFolder(), 'key') }
  const { stdout } = await run(['doctor', '--config', jsonFile({ mcpServers })], { env })
  const token = `put it into "headers": { "Authorization": "Bearer \${secret:NAME}" } and set that secret.`
  const suggestions = stdout
    .split(/^(?=\w+$)/m)
    .map((part) => [part.split('\n', 1)[0], ...Array.from(part.matchAll(/→ (.*)/g), ([, line]) => line)])
  const option = suggestions.find(([name]) => name === 'shop')?.[1] ?? ''
  expect(option).toMatch(/^Sign in to shop: jackfield login shop --config /)
  expect(suggestions).toEqual([
    ['shop', option, `Or, if you have a token: ${token}`],
    [
      'closed',
      'Register a client at the authorization server and name it in the configuration of closed: "auth": { "issuer", "clientId" }.',
      `Or, if you have a token: ${token}`,
    ],
    ['refusing', `Get a token from its operator and ${token}`],
    ['expired', 'Check the "headers" of expired in its configuration.'],
    ['disabled', `Get a token from its operator and ${token}`],
  ])
  // A server without an entry in a configuration has no "headers" either.
  const typed = await run(['doctor', `${refusing.origin}/mcp`, '--header', 'Authorization: x'], { env })
  expect(typed.stdout).toContain("→ Give a valid token: --header 'Authorization: Bearer <token>'")
  expect((await run(['doctor', shop.url], { env })).stdout).toMatch(
    /→ Sign in to .*\n +→ Or, if you have a token: --header 'Authorization: Bearer <token>'/,
  )
})
