import { expect, test } from 'vitest'
import { run } from './jackfield.ts'

/** A server whose tool sends the same warning three times, and one notification as often. */
const grumbling = [
  process.execPath,
  '-e',
  `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method } = JSON.parse(line)
    if (id === undefined) return
    const send = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }))
    const log = (level, data) => send({ method: 'notifications/message', params: { level, data } })
    if (method === 'tools/call') for (let n = 0; n < 3; n++) { log('warning', 'The disk is full'); log('notice', 'Step') }
    const result = {
      initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {}, logging: {} }, serverInfo: { name: 'g', version: '1' } },
      'tools/list': { tools: [{ name: 'go', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: 'gone' }] },
      'logging/setLevel': {},
    }[method]
    send(result ? { id, result } : { id, error: { code: -32601, message: 'unknown' } })
  })`,
]

test('a program that prints its help and exits, at both attempts to connect: every line is shown once', async () => {
  const lines = ['Usage: shop', '--port', '--file', '--help', '--version']
  const program = [process.execPath, '-e', `console.log(${JSON.stringify(lines.join('\n'))})`]
  const { code, stderr } = await run(['tools', '--', ...program])
  expect(code).toBe(3)
  for (const line of lines) expect(stderr.split(`: ${line}\n`)).toHaveLength(2)
  expect(stderr).toContain(`${lines.length} of these lines were repeated.`)
})

test('a command shows a repeated warning once, and at its end how often it occurred', async () => {
  const { code, stdout, stderr } = await run(['call', 'go', '--', ...grumbling])
  expect({ code, stdout: stdout.trim() }).toEqual({ code: 0, stdout: 'gone' })
  const lines = stderr.trim().split('\n')
  expect(lines.filter((line) => line.includes('disk'))).toEqual([
    '[warning] The disk is full',
    '[warning] The disk is full (repeated 2 times)',
  ])
  expect(lines.at(-1)).toContain('repeated 2 times')
  expect(lines.filter((line) => line.includes('Step'))).toHaveLength(3)
})
