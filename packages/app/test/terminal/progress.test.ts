import { expect, test } from 'vitest'
import { travel } from '../cli/jackfield.ts'
import { missing, person } from './person.ts'

test.skipIf(missing !== undefined)(
  'the progress line is hidden for a question',
  { timeout: 60_000 },
  async () => {
    const trip = ['destination=Barcelona', 'departure=2099-06-15', 'returnDate=2099-06-22']
    const terminal = person().terminal(['call', 'bookVacation', ...trip, '--', ...travel()])
    await terminal.until(/Confirm booking[\s\S]*└/)
    expect(terminal.history()).toContain('flights $')
    expect(terminal.history()).not.toMatch(/[█░]|60%/)
  },
)

/** A server whose tool reports progress and sends a log message. */
const reporting = [
  process.execPath,
  '-e',
  `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    if (id === undefined) return
    const send = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }))
    if (method === 'tools/call') {
      const { progressToken } = params._meta
      send({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 3 } })
      send({ method: 'notifications/message', params: { level: 'notice', data: 'One step' } })
      return setTimeout(() => send({ id, result: { content: [{ type: 'text', text: 'gone' }] } }), 50)
    }
    const result = {
      initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {}, logging: {} }, serverInfo: { name: 'r', version: '1' } },
      'tools/list': { tools: [{ name: 'go', inputSchema: { type: 'object' } }] },
      'logging/setLevel': {},
    }[method]
    send(result ? { id, result } : { id, error: { code: -32601, message: 'unknown' } })
  })`,
]

test.skipIf(missing !== undefined)(
  'a log message replaces the progress line',
  { timeout: 60_000 },
  async () => {
    const terminal = person().terminal(['call', 'go', '--', ...reporting])
    expect(await terminal.exited).toBe(0)
    expect(terminal.history()).toMatch(/^\[notice\] One step/m)
  },
)
