import { spawn } from 'node:child_process'
import { connect as connectSocket, createServer } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import type { Readable, Writable } from 'node:stream'

/*
 * The least that a host can do for a call, as a limit for the measured ones: a line of JSON in, the request to the server, its
 * answer back, and one row of a log, written in batches. No policy, no checks, no limits, no redaction, no messages in the log.
 */

/** Interval in milliseconds at which rows are written, as in the log of a host. */
const flushMs = 200

type Json = Record<string, unknown>
type Call = (params: Json) => Promise<unknown>

/** Starts a server on stdio and calls its tools, with a row for each call in a store. */
export async function plainHost(
  { command, args }: { command: string; args: readonly string[] },
  store: string,
): Promise<Call> {
  const { stdin, stdout } = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const request = requests(stdout, stdin)
  await request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'plain', version: '1' },
  })
  stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
  const log = plainLog(store)
  return async (params) => {
    const at = Date.now()
    const result = await request('tools/call', params)
    log(at, String(params['name']), JSON.stringify(params), JSON.stringify(result))
    return result
  }
}

/** Calls over a socket: a line of JSON for the call, and one for its result. */
export async function plainClient(path: string): Promise<Call> {
  const stream = connectSocket(path)
  const request = requests(stream, stream)
  return (params) => request('tools/call', params)
}

/** Serves calls on a socket: JSON-RPC lines, of which `initialize` and `tools/call` have an answer. */
export async function servePlain(call: Call, path: string): Promise<void> {
  const server = createServer((stream) => {
    lines(stream, ({ id, method, params }) => {
      if (id === undefined) return
      const answer = (rest: Json): void =>
        void stream.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...rest })}\n`)
      if (method === 'tools/call') call(Object(params)).then((result) => answer({ result }))
      else if (method === 'initialize')
        answer({
          result: {
            protocolVersion: '2025-11-25',
            capabilities: { tools: {} },
            serverInfo: { name: 'plain', version: '1' },
          },
        })
      else answer({ error: { code: -32_601, message: 'Method not found' } })
    })
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
}

/** Sends requests and matches responses by id. */
function requests(from: Readable, to: Writable): (method: string, params: Json) => Promise<unknown> {
  const open = new Map<unknown, (result: unknown) => void>()
  let last = 0
  lines(from, ({ id, result, error }) => {
    open.get(id)?.(result ?? error)
    open.delete(id)
  })
  return (method, params) =>
    new Promise((resolve) => {
      last += 1
      open.set(last, resolve)
      to.write(`${JSON.stringify({ jsonrpc: '2.0', id: last, method, params })}\n`)
    })
}

function lines(from: Readable, onMessage: (message: Json) => void): void {
  let rest = ''
  from.setEncoding('utf8')
  from.on('data', (text: string) => {
    const parts = (rest + text).split('\n')
    rest = parts.pop() ?? ''
    for (const part of parts) onMessage(JSON.parse(part))
  })
}

/** A table with a row for each call, written in one transaction per interval. */
function plainLog(store: string): (...row: [number, string, string, string]) => void {
  const database = new DatabaseSync(store)
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE call (at, tool, params, result)')
  const insert = database.prepare('INSERT INTO call VALUES (?, ?, ?, ?)')
  const waiting: [number, string, string, string][] = []
  setInterval(() => {
    if (waiting.length === 0) return
    database.exec('BEGIN')
    for (const row of waiting.splice(0)) insert.run(...row)
    database.exec('COMMIT')
  }, flushMs).unref()
  return (...row) => waiting.push(row)
}
