import { Agent, request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'

/** Attacks on the memory of a server, each by one principal. They end when all is sent, and leave their connections open. */

const MiB = 1024 * 1024
const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'attacker', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { roots: {} },
}

export interface Target {
  readonly port: number
  /** Which credentials to show, and which address to come from. */
  readonly headers: Readonly<Record<string, string>>
}

function messageOf(method: string, params: object, id: number | string = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

/** A call of 2026-07-28 as the text of an HTTP request. */
function rawCall(target: Target, name: string, more: object = {}, method = 'tools/call'): string {
  const params = method === 'tools/call' ? { name, arguments: {}, ...more } : more
  const body = messageOf(method, { ...params, _meta: meta })
  return raw(target, 'POST', body, {
    'MCP-Protocol-Version': '2026-07-28',
    'Mcp-Method': method,
    ...(method === 'tools/call' ? { 'Mcp-Name': name } : {}),
  })
}

function raw(target: Target, method: string, body: string, more: Record<string, string>): string {
  const headers = {
    Host: '127.0.0.1',
    ...json,
    ...target.headers,
    'Content-Length': String(Buffer.byteLength(body)),
    ...more,
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} /mcp HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

/** A connection that reads nothing unless asked to; it settles when what was written is out, or refused. */
async function dial({ port }: Target, text: string, reads = false): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  if (reads) socket.resume()
  else socket.pause()
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(resolve, 2000)
    socket.once('close', done)
    socket.once('connect', () => socket.write(text, done))
  })
  return socket
}

const agent = new Agent({ keepAlive: true, maxSockets: 32 })

interface Reply {
  readonly status: number
  readonly session: string | undefined
  readonly text: string
}

function post(
  target: Target,
  body: string,
  more: Record<string, string> = {},
  method = 'POST',
): Promise<Reply> {
  return new Promise((resolve) => {
    const request = httpRequest(
      {
        host: '127.0.0.1',
        port: target.port,
        path: '/mcp',
        method,
        agent,
        headers: { ...json, ...target.headers, ...more },
      },
      (response) => {
        let text = ''
        response.on('data', (chunk) => {
          text += chunk
        })
        const { statusCode = 0, headers } = response
        const session = headers['mcp-session-id']
        const done = (): void =>
          resolve({ status: statusCode, session: typeof session === 'string' ? session : undefined, text })
        response.on('end', done)
        response.on('error', done)
      },
    )
    request.on('error', () => resolve({ status: 0, session: undefined, text: '' }))
    request.end(body)
  })
}

async function begin(target: Target, more: object = {}): Promise<string | undefined> {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'a', version: '1' },
    ...more,
  }
  const { session } = await post(target, messageOf('initialize', params))
  if (session === undefined) return undefined
  await post(target, JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }), {
    'Mcp-Session-Id': session,
  })
  return session
}

/** Runs work for each number, some at once. */
async function each(count: number, atOnce: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const line = async (): Promise<void> => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: atOnce }, line))
}

export type Attack = (target: Target, count: number) => Promise<void>

export const attacks: Readonly<Record<string, Attack>> = {
  'replays of an ended stream that are not read': async (target, count) => {
    const session = await begin(target)
    if (session === undefined) return
    const { text } = await post(target, messageOf('tools/call', { name: 'events', arguments: {} }), {
      'Mcp-Session-Id': session,
    })
    const id = /^id: (.*)$/m.exec(text)?.[1] ?? ''
    const get = raw(target, 'GET', '', { 'Mcp-Session-Id': session, 'Last-Event-ID': id })
    await each(count, 50, () => dial(target, get))
  },
  'pipelined requests whose answers are not read': async (target, count) => {
    const text = rawCall(target, 'stubborn') + rawCall(target, 'large').repeat(50)
    await each(count, 50, () => dial(target, text))
  },
  'large answers that are not read': async (target, count) => {
    await each(count, 50, () => dial(target, rawCall(target, 'large')))
  },
  'sessions that begin with a large title': async (target, count) => {
    const clientInfo = { name: 'a', version: '1', title: 'x'.repeat(4_000_000) }
    await each(count, 4, () => begin(target, { clientInfo }))
  },
  'subscriptions to long addresses': async (target, count) => {
    for (let at = 0; at < count; at += 1024) {
      const session = await begin(target)
      if (session === undefined) return
      await each(Math.min(1024, count - at), 16, (index) =>
        post(target, messageOf('resources/subscribe', { uri: `note://one?${index}=${'x'.repeat(8000)}` }), {
          'Mcp-Session-Id': session,
        }),
      )
    }
  },
  'bodies that do not end': async (target, count) => {
    const whole = raw(target, 'POST', 'x'.repeat(4 * MiB - 1000), {})
    await each(count, 20, () => dial(target, whole.slice(0, -10)))
  },
  'calls with large arguments that take long': async (target, count) => {
    const call = rawCall(target, 'stubborn', { arguments: { ms: 60_000, more: 'x'.repeat(4_000_000) } })
    await each(count, 20, () => dial(target, call))
  },
  'calls with arguments of many small values': async (target, count) => {
    const more = JSON.parse(`[${'{},'.repeat(200_000)}{}]`)
    const call = rawCall(target, 'stubborn', { arguments: { ms: 60_000, more } })
    await each(count, 20, () => dial(target, call))
  },
  'subscriptions with a large filter': async (target, count) => {
    const notifications = { toolsListChanged: true, resourceSubscriptions: [], more: 'x'.repeat(4_000_000) }
    const listen = rawCall(target, '', { notifications }, 'subscriptions/listen')
    await each(count, 20, () => dial(target, listen))
  },
  'handlers that outlive their sessions': async (target, count) => {
    const call = messageOf('tools/call', { name: 'stubborn', arguments: { ms: 60_000 } })
    await each(Math.ceil(count / 256), 1, async () => {
      const session = await begin(target)
      if (session === undefined) return
      const headers = { 'Mcp-Session-Id': session }
      const sent = Array.from({ length: 8 }, () =>
        dial(
          target,
          Array.from({ length: 32 }, (_, index) =>
            raw(target, 'POST', call.replace('"id":1', `"id":"${Math.random()}-${index}"`), headers),
          ).join(''),
          true,
        ),
      )
      const sockets = await Promise.all(sent)
      await post(target, '', headers, 'DELETE')
      for (const socket of sockets) socket.destroy()
    })
  },
  'questions that are asked and answered': async (target, count) => {
    const headers = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'asks' }
    await each(count, 16, async () => {
      const { text } = await post(
        target,
        messageOf('tools/call', { name: 'asks', arguments: {}, _meta: meta }),
        headers,
      )
      const result = text === '' ? undefined : JSON.parse(text).result
      if (result?.requestState === undefined) return
      const inputResponses = Object.fromEntries(
        Object.keys(result.inputRequests).map((key) => [key, { roots: [] }]),
      )
      const again = {
        name: 'asks',
        arguments: {},
        inputResponses,
        requestState: result.requestState,
        _meta: meta,
      }
      await post(target, messageOf('tools/call', again), headers)
    })
  },
}
