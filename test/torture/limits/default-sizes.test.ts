import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Server } from 'node:http'
import { PassThrough } from 'node:stream'
import { defineServer } from '@jackfield/sdk'
import { connect } from '@jackfield/sdk/client'
import { serveHttp } from '@jackfield/sdk/http'
import { serveStdio } from '@jackfield/sdk/stdio'
import { expect, it, onTestFinished } from 'vitest'
import { child } from '../../../packages/sdk/test/client/support/child.ts'
import { begun, result, scripted, sse } from '../../../packages/sdk/test/client/support/http.ts'
import { open, text } from '../../../packages/sdk/test/links/opened.ts'
import { initialize, initialized, until } from '../../../packages/sdk/test/serve/support.ts'

const frameBytes = 4_194_304
const watchdogMs = 20_000

it('a listening server has default timeouts of 60 s for headers and 300 s for requests', async () => {
  const seen: Server[] = []
  const note = (message: unknown): void => {
    seen.push(Object(message).server)
  }
  subscribe('http.server.request.start', note)
  onTestFinished(() => {
    unsubscribe('http.server.request.start', note)
  })
  const handler = serveHttp(defineServer({ name: 'default', version: '1.0.0' }), { onWarning: () => {} })
  const { url, close } = await handler.listen()
  onTestFinished(close)
  await (await fetch(url, { method: 'DELETE' })).text()
  expect(seen.map(({ headersTimeout, requestTimeout }) => ({ headersTimeout, requestTimeout }))).toEqual([
    { headersTimeout: 60_000, requestTimeout: 300_000 },
  ])
})

it('a client returns event ids of up to 8192 characters, and none longer', async () => {
  const given: (string | undefined)[] = []
  const ids = ['a'.repeat(8192), 'b'.repeat(8193)]
  const server = await scripted((one) => {
    if (begun(one, 'session')) return
    if (one.message.method === 'tools/list') return result(one, { tools: [] })
    const id = one.headers['last-event-id']
    if (one.method === 'GET' && id === undefined) return void one.res.writeHead(405).end()
    if (one.method === 'GET') {
      given.push(String(id))
      const call = server.of('tools/call').find(({ message }) => message.params.name === String(id)[0])
      sse(one.res)({ id: 'c', data: { jsonrpc: '2.0', id: call?.message.id, result: text('resumed') } })
      return void one.res.end()
    }
    sse(one.res)({ id: ids.find((id) => id.startsWith(one.message.params.name)) ?? '', retry: 1 })
    one.res.end()
  })
  const client = await open(server.url)
  await expect(client.call('a')).resolves.toMatchObject(text('resumed'))
  await expect(client.call('b')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  expect(given).toEqual([ids[0]])
})

it('a server accepts a line of 4 MiB on its standard input, and none of a byte more', async () => {
  const [input, output] = [new PassThrough(), new PassThrough()]
  let printed = ''
  output.on('data', (chunk) => {
    printed += chunk
  })
  const served = serveStdio(defineServer({ name: 'default', version: '1.0.0' }), { input, output })
  onTestFinished(() => served.close())
  input.write(`${JSON.stringify(initialize())}\n${JSON.stringify(initialized)}\n`)
  const answers = (): { id?: unknown; error?: { code: number } }[] =>
    printed
      .split('\n')
      .slice(1, -1)
      .map((line) => JSON.parse(line))
  for (const size of [frameBytes, frameBytes + 1]) {
    const ping = JSON.stringify({ jsonrpc: '2.0', id: size, method: 'ping', params: { _meta: { more: '' } } })
    const before = answers().length
    input.write(`${ping.replace('"more":""', `"more":"${'x'.repeat(size - ping.length)}"`)}\n`)
    await until(() => answers().length > before || printed.split('\n').length > before + 2, watchdogMs)
  }
  expect(answers()).toEqual([
    { jsonrpc: '2.0', id: frameBytes, result: {} },
    {
      jsonrpc: '2.0',
      error: { code: -32600, message: 'Invalid request: a message may have at most 4194304 bytes' },
    },
  ])
})

it('a client accepts a line of 4 MiB of a child process, and ends the connection at a byte more', async () => {
  const client = await connect(
    child(`each((message) => {
      if (message.method === 'server/discover') return modern(message)
      const size = Number(message.params.name)
      const line = (text) => JSON.stringify({ jsonrpc: '2.0', id: message.id, result: done(text) })
      process.stdout.write(line('x'.repeat(size - line('').length)) + '\\n')
    })`),
  )
  onTestFinished(() => client.close())
  await expect(client.call(String(frameBytes))).resolves.toMatchObject({ content: [{ type: 'text' }] })
  await expect(client.call(String(frameBytes + 1))).rejects.toMatchObject({ code: 'LIMIT' })
})
