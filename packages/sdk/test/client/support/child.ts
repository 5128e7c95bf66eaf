import { stdio } from '@jackfield/sdk/client/stdio'

const prelude = `
import { createInterface } from 'node:readline'
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
const each = (handle) => createInterface({ input: process.stdin }).on('line', (line) => handle(JSON.parse(line)))
const info = { name: 'child', version: '1' }
const modern = ({ id }) => send({ id, result: { resultType: 'complete', supportedVersions: ['2026-07-28'],
  capabilities: { tools: {}, resources: { subscribe: true } }, ttlMs: 0, cacheScope: 'private' } })
const legacy = ({ id }) => send({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: info } })
const text = (value) => ({ content: [{ type: 'text', text: value }] })
const done = (value) => ({ resultType: 'complete', ...text(value) })
`

type Options = Partial<Parameters<typeof stdio>[0]>

/**
 * A hand-written stdio server: `code` is a module that can use send, each, modern, legacy, and for what a tool gives
 * text in a session, done on 2026-07-28.
 */
export function child(code: string, options: Options = {}) {
  return stdio({
    command: process.execPath,
    args: ['--input-type=module', '-e', prelude + code],
    ...options,
  })
}

/** Whether a process with this id is there. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
