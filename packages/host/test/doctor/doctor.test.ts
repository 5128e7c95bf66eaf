// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are written so in configurations.
import { chmodSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { nowhere } from '../../../../test/setup/ports.ts'
import type { ServerConfig } from '../../src/types/index.ts'
import { everything, folder, hostOf, rough } from '../fixtures/hosts.ts'
import { statelessServer } from '../fixtures/stateless-server.ts'
import { certificate, key } from './certificate.ts'

async function examined(config: ServerConfig) {
  const reported: string[] = []
  const host = hostOf({ servers: { s: config } })
  const report = await host.diagnose('s', { onStep: ({ step }) => reported.push(step) })
  expect(reported).toEqual(report.steps.map(({ step }) => step))
  const failed = report.steps.find(({ outcome }) => outcome === 'failed')
  expect(report.healthy).toBe(failed === undefined)
  return {
    ...report,
    failed,
    outcomes: Object.fromEntries(report.steps.map(({ step, outcome }) => [step, outcome])),
  }
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())))
  const address = server.address()
  return isAddress(address) ? address.port : 0
}

function isAddress(address: string | AddressInfo | null): address is AddressInfo {
  return typeof address === 'object' && address !== null
}

/** The address of a server that answers so. */
async function site(answer: RequestListener, path = '/mcp'): Promise<ServerConfig> {
  const http = createServer((request, response) => {
    response.setHeader('connection', 'close')
    answer(request, response)
  })
  return { url: `http://127.0.0.1:${await listening(http)}${path}`, connectTimeoutMs: 3_000 }
}

function script(text: string, mode = 0o755): ServerConfig {
  const file = join(folder(), 'server.sh')
  writeFileSync(file, text)
  chmodSync(file, mode)
  return { command: file, connectTimeoutMs: 3_000 }
}

const node = (code: string): ServerConfig => ({
  command: process.execPath,
  args: ['-e', code],
  connectTimeoutMs: 3_000,
})

const noisy = `
  console.log('listening on stdio')
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method } = JSON.parse(line)
    const info = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'noisy', version: '1' } }
    if (method === 'initialize') console.log(JSON.stringify({ jsonrpc: '2.0', id, result: info }))
    else if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'unknown' } }))
  })`

describe('the doctor', () => {
  it.each<[string, () => ServerConfig | Promise<ServerConfig>, string, string]>([
    ['a command that does not exist', () => ({ command: 'no-such-program-xyz' }), 'command', 'Install it'],
    ['a path that does not exist', () => ({ command: '/no/such/file' }), 'command', 'Correct "command"'],
    [
      'a folder that does not exist',
      () => ({ command: 'node', cwd: '/no/such/folder' }),
      'command',
      'Correct "cwd"',
    ],
    ['a file that may not be executed', () => script('#!/bin/sh\n', 0o644), 'executable', 'chmod +x'],
    ['an interpreter that is missing', () => script('#!/no/such/interpreter\n'), 'executable', 'Install it'],
    [
      'a crash at the start',
      () => ({ ...rough('exit'), connectTimeoutMs: 20_000 }),
      'start',
      'Its output on stderr says why',
    ],
    [
      'text on stdout of a program that is no server',
      () => ({ ...node("console.log('hello'); setInterval(() => {}, 1000)"), connectTimeoutMs: 600 }),
      'output',
      'stderr',
    ],
    [
      'silence',
      () => ({ ...rough('silent'), connectTimeoutMs: 600 }),
      'handshake',
      'It runs but does not respond',
    ],
    ['a list that fails', () => rough('list-fails-at-first'), 'lists', 'Report it to its author'],
    [
      'an unset variable',
      () => ({ command: '${NOPE}', from: { file: '/x/c.json', layer: 'user' } }),
      'variables',
      'Follow this message',
    ],
    ['an unknown host', () => ({ url: 'https://no-such-host.invalid/mcp' }), 'dns', 'address'],
    ['a closed port', () => ({ url: `http://${nowhere}/mcp` }), 'tcp', 'Start the server'],
    ['a certificate that signed itself', selfSigned, 'tls', 'NODE_EXTRA_CA_CERTS'],
    [
      'a login',
      () => site((_, to) => to.writeHead(401, { 'www-authenticate': 'Bearer' }).end()),
      'auth',
      'Authorization',
    ],
    ['a refusal', () => site((_, to) => to.writeHead(403).end()), 'auth', 'Ask its operator'],
    ['a wrong path', () => site((_, to) => to.writeHead(404).end()), 'http', 'Correct the path'],
    ['a server that fails', () => site((_, to) => to.writeHead(502).end()), 'http', 'operator'],
    [
      'another protocol',
      () => site((_, to) => to.socket?.end('220 smtp ready\r\n')),
      'http',
      'Correct the port',
    ],
    [
      'broken JSON',
      () => site((_, to) => to.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc')),
      'handshake',
      'author',
    ],
  ])('reports %s at the right step', async (_what, config, step, advice) => {
    const { failed, steps } = await examined(await config())
    expect(failed).toMatchObject({ step, outcome: 'failed', advice: expect.stringContaining(advice) })
    const after = steps.slice(steps.findIndex((found) => found.step === step) + 1)
    expect(after.filter(({ outcome }) => outcome !== 'skipped')).toEqual([])
  })

  it('notes text on stdout of a server that works, and goes on', async () => {
    const { outcomes, steps } = await examined(node(noisy))
    expect(outcomes).toMatchObject({ output: 'note', handshake: 'ok' })
    const output = steps.find(({ step }) => step === 'output')
    expect(output?.message).toContain('listening on stdio')
    expect(output?.advice).toContain('stderr')
  })

  it('names the replacement of HTTP+SSE if a server supports only that', async () => {
    const { outcomes, steps } = await examined(
      await site((request, to) => {
        if (request.method === 'POST') to.writeHead(404).end()
        else
          to.writeHead(200, { 'content-type': 'text/event-stream' }).write(
            'event: endpoint\ndata: /messages\n\n',
          )
        onTestFinished(() => {
          to.destroy()
        })
      }, '/sse'),
    )
    expect(outcomes['http']).toBe('note')
    expect(steps.find(({ step }) => step === 'http')?.message).toContain('HTTP+SSE')
  })

  it('reports nothing for a working program', async () => {
    const { healthy, steps } = await examined(everything)
    expect(healthy).toBe(true)
    expect(steps.map(({ step, outcome }) => `${step} ${outcome}`)).toEqual([
      'variables ok',
      'environment ok',
      'command ok',
      'executable ok',
      'start ok',
      'output ok',
      'handshake ok',
      'lists ok',
    ])
    expect(steps.at(-1)?.message).toMatch(/^\d+ tools, \d+ prompts/)
  })

  it('reports nothing for a working URL', async () => {
    const server = await statelessServer()
    onTestFinished(() => server.stop())
    const { healthy, outcomes } = await examined({ url: server.url })
    expect(healthy).toBe(true)
    expect(outcomes).toEqual({
      variables: 'ok',
      address: 'ok',
      dns: 'ok',
      tcp: 'ok',
      tls: 'skipped',
      http: 'ok',
      auth: 'ok',
      handshake: 'ok',
      lists: 'ok',
    })
  })

  it('starts nothing without consent', async () => {
    const file = join(folder(), '.mcp.json')
    const { failed } = await examined({ ...everything, from: { file, layer: 'project' } })
    expect(failed).toMatchObject({
      step: 'variables',
      message: expect.stringContaining('you have not agreed yet'),
      fixes: [{ action: 'approve', server: 's' }],
    })
  })
})

async function selfSigned(): Promise<ServerConfig> {
  const server = createTlsServer({ key, cert: certificate }, (_, to) => to.end())
  return { url: `https://localhost:${await listening(server)}/mcp` }
}
