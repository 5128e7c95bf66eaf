import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import { encodeHeaderValue } from '../../../packages/sdk/src/protocol/headers.ts'
import { programFile } from '../../setup/program-file.ts'
import { RemoteMessages } from '../../setup/remote-messages.ts'
import type { Case, Era } from './cases.ts'

const program = programFile(new URL('./corpus-program.ts', import.meta.url))
const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 'hello',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'corpus', version: '1' } },
})
const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}'

/** The outcome of one message: the tool that ran, the code of an error, or `nothing`. */
export type Seen = string | number

/** A server in another process, reached in one way in one era. */
export interface Way {
  send(of: Case): Promise<Seen>
  /** The bodies that reached the server behind the proxy since this was last asked. */
  behind(): Promise<Buffer[]>
  close(): Promise<void>
}

/** Starts the servers of the corpus on standard streams. */
export async function overLines(era: Era): Promise<Way> {
  const child = start('stdio')
  const remote = new RemoteMessages()
  const answers: Record<string, unknown>[] = []
  let arrived: () => void = () => {}
  const lines = linesOf(child)
  lines.on('line', (line) => {
    const value: Record<string, unknown> = JSON.parse(line)
    remote.received(value)
    answers.push(value)
    arrived()
  })
  let probes = 0
  const write = (text: string | Buffer): void => {
    remote.sent(text.toString())
    child.stdin?.write(text)
    child.stdin?.write('\n')
  }
  const round = async (): Promise<void> => {
    const id = `probe ${++probes}`
    write(JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' }))
    while (!answers.some((answer) => answer['id'] === id)) {
      await new Promise<void>((resolve) => {
        arrived = resolve
      })
    }
  }
  if (era === 'session') {
    write(initialize)
    write(initialized)
  }
  await round()
  return {
    async send({ bytes }) {
      answers.length = 0
      write(bytes)
      await round()
      // A tool that runs answers a few turns after the probe did.
      await round()
      return seenIn(answers.filter(({ id }) => !String(id).startsWith('probe ')))
    },
    behind: async () => [],
    close: () => end(child),
  }
}

/** Starts the servers of the corpus behind HTTP, with or without a proxy of ours before them. */
export async function overHttp(way: 'http' | 'gateway', era: Era): Promise<Way> {
  const child = start(way)
  const [url]: string[] = await once(linesOf(child), 'line')
  const post = (body: Buffer | string, headers: Record<string, string>): Promise<Response> =>
    fetch(String(url), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: new Uint8Array(Buffer.from(body)),
    })
  const session: Record<string, string> = {}
  if (era === 'session') {
    const handshake = await post(initialize, {})
    session['mcp-session-id'] = handshake.headers.get('mcp-session-id') ?? ''
    session['mcp-protocol-version'] = '2025-11-25'
    await handshake.text()
    await (await post(initialized, session)).text()
  }
  return {
    async send({ bytes, headers: { method = 'tools/call', name = 'safe' } = {} }) {
      const about = {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': encodeHeaderValue(method),
        'mcp-name': encodeHeaderValue(name),
      }
      const response = await post(bytes, era === 'session' ? session : about)
      return seenIn(messagesIn(await response.text()))
    },
    async behind() {
      const seen: string[] = await (await fetch(new URL('/seen', String(url)))).json()
      return seen.map((one) => Buffer.from(one, 'base64'))
    },
    close: () => end(child),
  }
}

function start(way: string): ChildProcess {
  return spawn(process.execPath, ['--no-warnings', program, way], { stdio: ['pipe', 'pipe', 'inherit'] })
}

function linesOf({ stdout }: ChildProcess): Interface {
  if (stdout === null) throw new Error('The server has no output')
  return createInterface({ input: stdout })
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.stdin?.end()
  await ended
}

function messagesIn(text: string): unknown[] {
  if (text === '') return []
  if (text.startsWith('{') || text.startsWith('[')) return [JSON.parse(text)]
  return [...text.matchAll(/^data: (.+)$/gm)].map(([, data = '']) => JSON.parse(data))
}

function seenIn(messages: unknown[]): Seen {
  const seen = messages.flat().map((message) => {
    const { result, error } = Object(message)
    if (error !== undefined) return Number(error.code)
    const text = result?.content?.[0]?.text
    // A server may say in the result that the arguments do not fit.
    return result?.isError === true ? `refused: ${text}` : (text ?? JSON.stringify(message))
  })
  return seen.length < 2 ? (seen[0] ?? 'nothing') : seen.join(' and ')
}
