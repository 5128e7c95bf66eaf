import { spawnSync } from 'node:child_process'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import type { FetchServer } from '@jackfield/server-fetch'
import { Client as OfficialV2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'
import { Client as OfficialV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { builtProgram } from '../../../test/setup/built-program.ts'
import { article, clientOf, contentOf, refusal, revisions, siteOf, textOf } from './fixture.ts'

const main = builtProgram('fetch')

function run(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [main, ...args], { encoding: 'utf8' })
}

describe('the fetch server as a process', () => {
  test.each(revisions)('fetches on %s', async (revision) => {
    const site = await siteOf({ '/': article('<p>Over <b>stdio</b></p>') })
    const client = await connect<FetchServer>(
      stdio({ command: process.execPath, args: [main, '--allow-private', site.place, '--timeout', '60'] }),
      { revisions: [revision] },
    )
    onTestFinished(() => client.close())
    const result = await client.call('fetch', { url: site.url })
    expect(textOf(result)).toContain('Over **stdio**')
    expect(client.server.revision).toBe(revision)
  })

  test('is used by the official client v1, which validates structured results', async () => {
    const site = await siteOf({
      '/': article('<p>For v1</p>'),
      '/a.json': { type: 'application/json', body: '{}' },
    })
    const client = new OfficialV1({ name: 'test', version: '1.0.0' })
    const args = [main, '--allow-private', site.place]
    await client.connect(new StdioV1({ command: process.execPath, args, stderr: 'ignore' }))
    onTestFinished(() => client.close())
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['fetch'])
    const result = await client.callTool({ name: 'fetch', arguments: { url: site.url } })
    expect(JSON.stringify(result.content)).toContain('For v1')
    expect(result['structuredContent']).toMatchObject({ status: 200 })
    const { messages } = await client.getPrompt({ name: 'fetch', arguments: { url: `${site.url}/a.json` } })
    expect(JSON.stringify(messages)).toContain('{}')
  })

  test.each(revisions)('is used by the official client v2 on %s', async (revision) => {
    const site = await siteOf({ '/': article('<p>For v2</p>') })
    const client = new OfficialV2(
      { name: 'test', version: '1.0.0' },
      revision === '2026-07-28'
        ? { versionNegotiation: { mode: { pin: revision } } }
        : { versionNegotiation: { mode: 'legacy' }, supportedProtocolVersions: [revision] },
    )
    const args = [main, '--allow-private', site.place]
    await client.connect(new StdioV2({ command: process.execPath, args, stderr: 'ignore' }))
    onTestFinished(() => client.close())
    expect(client.getNegotiatedProtocolVersion()).toBe(revision)
    const result = await client.callTool({ name: 'fetch', arguments: { url: site.url } })
    expect(JSON.stringify(result.content)).toContain('For v2')
    const refused = await client.callTool({ name: 'fetch', arguments: { url: 'http://10.0.0.1/' } })
    expect(refused.isError).toBe(true)
  })
})

describe('the command line', () => {
  test('describes its options', () => {
    expect(run('--version')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
    const { status, stdout, stderr } = run('--help')
    expect(status).toBe(0)
    const options = ['--allow-private', '--port', '--ignore-robots', '--user-agent', '--timeout', '--http']
    for (const word of [...options, 'NODE_USE_ENV_PROXY']) expect(stdout).toContain(word)
    expect(stderr).toBe('')
  })

  test.each([
    [['--http', 'soon'], '--http needs a whole number'],
    [['--http', '70000'], '--http needs a port'],
    [['--port', '0'], 'is not a port'],
    [['--timeout', '-1'], 'timeout'],
    [['--allow-private', 'a/b'], 'is not a host'],
    [['--allow-private', '169.254.169.254'], 'cannot be allowed'],
    [['--colour'], "Unknown option '--colour'"],
  ])('reports %j in one line', (args, message) => {
    const { status, stdout, stderr } = run(...args)
    expect(status).toBe(1)
    expect(stdout).toBe('')
    expect(stderr).toContain(message)
    expect(stderr).not.toMatch(/^\s+at /m)
  })
})

/** A proxy that forwards every request for plain HTTP to one port of this machine. */
async function proxyTo(port: number): Promise<{ url: string; seen: string[] }> {
  const seen: string[] = []
  const server = createServer((incoming, outgoing) => {
    seen.push(incoming.url ?? '')
    const { pathname } = new URL(incoming.url ?? '')
    const onward = request({ host: '127.0.0.1', port, path: pathname }, (response) => {
      outgoing.writeHead(response.statusCode ?? 500, response.headers)
      response.pipe(outgoing)
    })
    onward.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

describe('a proxy of the environment', () => {
  test('is used if Node is configured for it, and resolves the names', async () => {
    const site = await siteOf({ '/page': article('<p>Through the proxy</p>') })
    const proxy = await proxyTo(site.port)
    const lookup = () => Promise.reject(new Error('must not be resolved'))
    const env = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy.url, NO_PROXY: 'direct.example.org' }
    const client = await clientOf({ env, lookup })
    expect(await contentOf(client, 'http://site.example.org/page')).toContain('Through the proxy')
    expect(proxy.seen).toEqual(['http://site.example.org/robots.txt', 'http://site.example.org/page'])
    expect(await refusal(client, 'http://10.0.0.1/')).toContain('private network')
    expect(await refusal(client, 'http://intranet.corp/')).toContain('private network')
    expect(await refusal(client, 'http://direct.example.org/')).toContain('cannot be resolved')
    expect(proxy.seen).toHaveLength(2)
  })

  test('is not used otherwise', async () => {
    const proxy = await proxyTo(1)
    const client = await clientOf({ env: { HTTP_PROXY: proxy.url }, lookup: async () => ['10.0.0.1'] })
    expect(await refusal(client, 'http://site.example.org/')).toContain('private network')
    expect(proxy.seen).toEqual([])
  })
})
