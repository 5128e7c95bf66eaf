import { createHash } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { defineServer, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { expect, onTestFinished, test } from 'vitest'
import { bundle, manifest } from '../../../host/test/bundle/zips.ts'
import { corporateProxy } from './corporate-proxy.ts'
import { begin, jsonFile, runProcess, tempFolder } from './jackfield.ts'

const call = ['call', 'https://shop.example/mcp', 'echo', '--no-store']

test('a server is reached through the proxy from the environment, over https and http', async () => {
  const proxy = await corporateProxy()
  expect(await runProcess(call, proxy)).toEqual({ code: 0, stdout: 'through the proxy\n', stderr: '' })
  expect(new Set(proxy.asked)).toEqual(new Set(['shop.example:443']))
  const plain = await runProcess(['call', 'http://shop.example/mcp', 'echo', '--no-store'], proxy)
  expect(plain).toMatchObject({ code: 0, stdout: 'through the proxy\n' })
  expect(proxy.asked.at(-1)).toBe('http://shop.example/mcp')
})

test('a host in NO_PROXY, and a loopback address, is contacted directly', async () => {
  const proxy = await corporateProxy()
  const direct = await runProcess(call, { env: { ...proxy.env, NO_PROXY: 'other.example, .example' } })
  expect(direct).toMatchObject({ code: 3, stderr: expect.stringContaining('ENOTFOUND') })
  const handler = serveHttp(
    defineServer({ name: 'near', version: '1', tools: { echo: tool({ run: () => 'near' }) } }),
    { keys: [Buffer.alloc(32, 7)] },
  )
  const server = createServer(handler.node)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const near = await runProcess(['call', `http://127.0.0.1:${port}/mcp`, 'echo', '--no-store'], proxy)
  expect(near).toMatchObject({ code: 0, stdout: 'near\n' })
  expect(proxy.asked).toEqual([])
})

test('failures of the proxy are named, with advice', async () => {
  const locked = await corporateProxy({ credentials: 'ann:secret word' })
  const failed = async (env: Record<string, string>): Promise<string> => {
    const { code, stderr } = await runProcess(call, { env })
    expect(code).toBe(3)
    return stderr
  }
  expect(await failed(locked.env)).toContain(
    `The proxy ${locked.url} (HTTPS_PROXY) requires credentials (407). Write them into HTTPS_PROXY: http://USER:PASSWORD@`,
  )
  const { host } = new URL(locked.url)
  expect(await failed({ ...locked.env, HTTPS_PROXY: `http://ann:wrong-word@${host}` })).toMatch(
    /does not accept the credentials in HTTPS_PROXY \(407\)(?!.*wrong-word)/,
  )
  const given = { ...locked.env, HTTPS_PROXY: `http://ann:secret%20word@${host}` }
  expect(await runProcess(call, { env: given })).toMatchObject({ code: 0 })
  const unable = await corporateProxy({ status: 503 })
  expect(await failed(unable.env)).toContain('cannot connect to shop.example:443 (503)')
  const strict = await corporateProxy({ status: 403 })
  expect(await failed(strict.env)).toContain('refused to connect to shop.example:443 (403)')
  expect(await failed({ HTTPS_PROXY: 'http://127.0.0.1:9' })).toContain(
    'Could not reach the proxy http://127.0.0.1:9 (ECONNREFUSED), which HTTPS_PROXY names',
  )
  expect(await failed({ HTTPS_PROXY: 'socks5://127.0.0.1:9' })).toContain(
    'HTTPS_PROXY names a proxy of the kind socks5://',
  )
  const proxy = await corporateProxy()
  expect(await failed({ HTTPS_PROXY: proxy.url })).toMatch(
    /certificate of shop\.example is signed by an authority that is unknown here.*NODE_EXTRA_CA_CERTS/,
  )
})

test('doctor checks the proxy, connects through it, and skips the DNS step', async () => {
  const proxy = await corporateProxy()
  const { code, stdout } = await runProcess(['doctor', 'https://shop.example/mcp', '--no-store'], proxy)
  expect(stdout).toContain(`the proxy ${proxy.url} resolves the name`)
  expect(stdout).toContain(`port 443 is open through the proxy ${proxy.url} (HTTPS_PROXY)`)
  expect(stdout).toContain('No problems found.')
  expect(code).toBe(0)
  const refusing = await corporateProxy({ status: 503 })
  const ill = await runProcess(['doctor', 'https://shop.example/mcp', '--no-store'], refusing)
  expect(ill.code).toBe(3)
  expect(ill.stdout).toContain('cannot connect to shop.example:443 (503)')
  expect(ill.stdout).not.toContain('there is no host')
})

test('a login uses the proxy, which resolves the names of the authorization server', async () => {
  const proxy = await corporateProxy()
  const config = ['--config', jsonFile({ mcpServers: { shop: { url: 'https://shop.example/private' } } })]
  const env = { ...proxy.env, XDG_DATA_HOME: tempFolder(), JACKFIELD_KEY_FILE: join(tempFolder(), 'key') }
  const login = begin(['login', 'shop', '--no-browser', ...config], { env })
  await login.waitForOutput('code_challenge_method=S256')
  const page = new URL(/https:\S+\/authorize\S+/.exec(login.output())?.[0] ?? '')
  const there = new URL(`${proxy.url}/`)
  const seen = await fetch(new URL(`${page.pathname}${page.search}`, there), {
    redirect: 'manual',
  }).catch(() => undefined)
  expect(seen).toBeDefined()
  await fetch(seen?.headers.get('location') ?? '')
  expect(await login.ended).toMatchObject({ code: 0, stdout: 'Signed in. shop is ready, with 1 tool.\n' })
  expect(proxy.asked).toContain('auth.shop.example:443')
  const called = await runProcess(['call', 'shop', 'echo', ...config], { env })
  expect(called).toMatchObject({ code: 0, stdout: 'through the proxy\n' })
})

/** A model with the API of Chat Completions, which answers with one text, streamed or not. */
const completions: RequestListener = (_request, response) => {
  const chunk = {
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [
      { index: 0, delta: { role: 'assistant', content: 'Answered by the model.' }, finish_reason: 'stop' },
    ],
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`)
}

const chat = (env: Record<string, string>) =>
  runProcess(['chat', '--no-store', '--config', jsonFile({ mcpServers: {} })], {
    env: { OPENAI_COMPATIBLE_MODEL: 'm', ...env },
    stdin: 'Hello\n',
  })

test('a model is reached through the proxy, unless NO_PROXY lists its host; one on a loopback address directly', async () => {
  const proxy = await corporateProxy({ site: completions })
  const env = { ...proxy.env, OPENAI_COMPATIBLE_BASE_URL: 'https://shop.example/v1' }
  expect(await chat(env)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Answered by the model.'),
  })
  expect(new Set(proxy.asked)).toEqual(new Set(['shop.example:443']))
  const direct = await chat({ ...env, NO_PROXY: 'shop.example' })
  expect(direct.stdout + direct.stderr).toMatch(
    /cannot be reached: its provider does not answer \(ENOTFOUND|EAI_AGAIN/,
  )
  const local = createServer(completions)
  await new Promise<void>((resolve) => local.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    local.closeAllConnections()
    local.close()
  })
  const { port } = local.address() as AddressInfo
  const near = { ...proxy.env, OLLAMA_HOST: `127.0.0.1:${port}`, JACKFIELD_MODEL: 'ollama/m' }
  expect(await chat(near)).toMatchObject({ stdout: expect.stringContaining('Answered by the model.') })
  expect(new Set(proxy.asked)).toEqual(new Set(['shop.example:443']))
})

test('a model blocked by the proxy is a failure of the proxy, without a retry', async () => {
  const strict = await corporateProxy({ status: 403 })
  const { stdout, stderr } = await chat({
    ...strict.env,
    OPENAI_COMPATIBLE_BASE_URL: 'https://shop.example/v1',
  })
  expect(stdout + stderr).toContain(
    `compatible/m cannot be reached. The proxy ${strict.url} (HTTPS_PROXY) refused to connect to shop.example:443 (403)`,
  )
  expect(strict.asked).toEqual(['shop.example:443'])
})

test('the registry and the bundle of a published server are downloaded through the proxy', async () => {
  const bytes = bundle({
    ...manifest,
    user_config: {},
    server: { ...manifest.server, mcp_config: undefined },
  })
  const document = {
    name: 'io.github.ann/packed',
    version: '1.2.3',
    description: 'Packed',
    packages: [
      {
        registryType: 'mcpb',
        identifier: 'https://shop.example/files/packed.mcpb',
        fileSha256: createHash('sha256').update(bytes).digest('hex'),
      },
    ],
  }
  const asked: string[] = []
  const site: RequestListener = ({ url = '' }, response) => {
    asked.push(url)
    if (url.startsWith('/files/')) return response.writeHead(302, { location: '/moved/packed.mcpb' }).end()
    if (url.startsWith('/moved/')) return response.end(bytes)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(url.includes('/versions/') ? { server: document } : { servers: [] }))
  }
  const proxy = await corporateProxy({ site })
  const cwd = tempFolder()
  const env = { ...proxy.env, JACKFIELD_REGISTRY: 'https://shop.example', XDG_DATA_HOME: join(cwd, 'data') }
  const found = await runProcess(['registry', 'search', 'packed'], { cwd, env })
  expect(found).toMatchObject({ code: 0, stdout: expect.stringContaining('0 servers in') })
  const installed = await runProcess(['install', 'io.github.ann/packed', '--yes', '--no-start'], { cwd, env })
  expect(installed).toMatchObject({ code: 0, stdout: expect.stringContaining('packed') })
  expect(asked.at(-1)).toBe('/moved/packed.mcpb')
  expect(new Set(proxy.asked)).toEqual(new Set(['shop.example:443']))
  const strict = await corporateProxy({ status: 403 })
  const refused = await runProcess(['registry', 'search', 'packed'], { cwd, env: { ...env, ...strict.env } })
  expect(refused).toMatchObject({
    code: 3,
    stderr: expect.stringContaining(`The proxy ${strict.url} (HTTPS_PROXY) refused to connect`),
  })
})
