import { describe, expect, test } from 'vitest'
import { everything } from '../cli/jackfield.ts'
import { model } from './model.ts'
import { missing, person } from './person.ts'

/** A server whose tool logs an error and answers once the file `finish` exists. */
const slowServer = `
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize')
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {}, logging: {} }, serverInfo: { name: 'slow', version: '1' } } })
  else if (method === 'tools/list') send({ id, result: { tools: [{ name: 'work', inputSchema: { type: 'object' } }] } })
  else if (method === 'tools/call') {
    send({ method: 'notifications/message', params: { level: 'error', data: 'The disk is full' } })
    const timer = setInterval(() => {
      if (!existsSync('finish')) return
      clearInterval(timer)
      send({ id, result: { content: [{ type: 'text', text: 'Finished.' }] } })
    }, 20)
  } else if (id !== undefined) send(method === 'ping' || method === 'logging/setLevel' ? { id, result: {} } : { id, error: { code: -32601, message: 'Method not found' } })
})
`

async function chatting(defaultVerdict: 'ask' | 'allow', server?: string) {
  const ann = person()
  const provider = await model()
  const [command, ...args] =
    server === undefined ? everything : [process.execPath, ann.write('server.mjs', server)]
  ann.write('.config/jackfield/config.json', {
    mcpServers: { demo: { command, args, roots: false } },
    jackfield: { defaultVerdict },
  })
  const terminal = ann.terminal(['chat'], provider.env)
  await terminal.until(/you › *$/m)
  return { ann, provider, terminal }
}

describe.skipIf(missing !== undefined)('work in progress in a conversation', { timeout: 60_000 }, () => {
  test('a notice is written above the line of a call, which is redrawn below it', async () => {
    const { ann, provider, terminal } = await chatting('allow', slowServer)
    terminal.type('work\r')
    const first = await provider.next()
    first.call('demo__work', {})
    await terminal.until(/^demo \[error\] The disk is full\n◌ \[1\] demo__work/m)
    ann.write('finish', '')
    await terminal.until(/^demo \[error\] The disk is full\n✓ \[1\] demo__work.*Finished\./m)
    expect(terminal.history()).not.toContain('◌')
  })

  test('a model without a response is shown with its name and the time, until text arrives', async () => {
    const { provider, terminal } = await chatting('ask')
    terminal.type('Hello\r')
    const first = await provider.next()
    await terminal.until(/^… waiting for \S*test {2}\d+ s · Ctrl\+C stops$/m)
    first.end('Hi.')
    await terminal.until(/Hi\.[\s\S]*you › *$/m)
    expect(terminal.history()).not.toContain('waiting for')
  })

  test.each([
    ['ctrl+c', 'cancelled'],
    ['escape', 'left for later'],
  ] as const)('an approval ended with %s prints "%s", not an answer', async (key, notice) => {
    const { provider, terminal } = await chatting('ask')
    terminal.type('add\r')
    const first = await provider.next()
    first.call('demo__get-sum', { a: 2, b: 3 })
    await terminal.until(/Allow this call\?[\s\S]*● No \[n\]/)
    terminal.press(key)
    await terminal.until(new RegExp(String.raw`Allow this call\?\n│ +${notice}$`, 'm'))
    if (key === 'ctrl+c') await terminal.until(/✗ \[1\] demo__get-sum.* cancelled[\s\S]*Stopped\./)
    expect(terminal.history()).not.toMatch(/✗.*failed/)
  })
})
