import type { Server } from '@jackfield/sdk'
import type { HttpHandler } from '@jackfield/sdk/http'
import { z } from 'zod'
import { parseObject } from '../../../packages/sdk/src/auth/client/token-endpoint.ts'
import { defineServer, resource, template, tool } from '../../../packages/sdk/src/index.ts'
import { RpcError } from '../../../packages/sdk/src/jsonrpc/error.ts'
import { parseJson } from '../../../packages/sdk/src/jsonrpc/parse.ts'
import { encodeHeaderValue } from '../../../packages/sdk/src/protocol/headers.ts'
import { DuplexConnection } from '../../../packages/sdk/src/transports/server/duplex-connection.ts'
import { serveHttp } from '../../../packages/sdk/src/transports/server/http/index.ts'
import { isObject } from '../../setup/json.ts'
import type { Random } from '../random.ts'
import { Broken, isTyped, mustHold, never, type Target } from './fuzz-target.ts'
import { messages } from './fuzz-wire.ts'

const url = 'http://localhost:3000/mcp'
const callers = ['alice', 'bob'] as const

/** A server with all its parts: requests of two callers over HTTP, and the messages of one connection. */
export async function serverTargets(): Promise<Target[]> {
  const faults: unknown[] = []
  const server = defineServer({
    name: 'fuzzed',
    version: '1.0.0',
    onError: (error) => {
      // An error for a message that must not be answered is no fault of the server.
      if (!(error instanceof RpcError)) faults.push(error)
    },
    tools: {
      echo: tool({
        description: 'Says it again',
        input: z.looseObject({}),
        run: (given) => JSON.stringify(given),
      }),
      add: tool({ description: 'Says a secret', run: (_, ctx) => secretOf(String(ctx.peer.principal)) }),
    },
    resources: {
      readme: resource({ uri: 'file:///readme', read: () => 'text' }),
      files: template({ uriTemplate: 'file:///{path}', read: ({ path }) => String(path) }),
    },
  })
  const handler = serveHttp(server, {
    onWarning: () => {},
    keys: ['k'.repeat(32)],
    authenticate: async (request) => ({ principal: request.header('x-who') ?? 'nobody' }),
  })
  const sessions = [await sessionOf(handler, 'alice'), await sessionOf(handler, 'bob')] as const
  const withoutFault = (): void => {
    if (faults.length > 0) throw faults[0]
  }
  let connection: Connection | undefined
  return [
    {
      name: 'requests',
      share: 3,
      seeds: [...messages, 'tools/call\nadd\n2026-07-28\napplication/json\n*/*\nlocalhost\nhttp://localhost'],
      allows: never,
      async run(input, random) {
        await request(handler, input, sessions, random)
        withoutFault()
      },
    },
    {
      name: 'connections',
      share: 4,
      seeds: messages,
      allows: isTyped,
      async run(input, random) {
        if (connection === undefined || random.fraction() < 0.01) connection = new Connection(server)
        const value = parseJson(input.toString('utf8'))
        await connection.receive(value)
        withoutFault()
      },
    },
  ]
}

function secretOf(who: string): string {
  return `the secret of ${who}`
}

async function sessionOf(handler: HttpHandler, who: string): Promise<string> {
  const initialize = messages.find((text) => text.includes('"initialize"') && text.includes('2025-11-25'))
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'x-who': who,
  }
  const response = await handler.fetch(new Request(url, { method: 'POST', headers, body: initialize ?? '' }))
  await response.text()
  return response.headers.get('mcp-session-id') ?? ''
}

/** Sends one request of either person, as JSON or with headers that were mutated, and looks for the other's secret. */
async function request(
  handler: HttpHandler,
  input: Buffer,
  sessions: readonly [string, string],
  random: Random,
): Promise<void> {
  const me = random.between(0, 1)
  const headers = new Headers({
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'x-who': callers[me] ?? '',
  })
  const asJson = input.toString('latin1').trimStart().startsWith('{')
  const words = asJson ? [] : input.toString('latin1').split('\n')
  const names = [
    'mcp-method',
    'mcp-name',
    'mcp-protocol-version',
    'content-type',
    'accept',
    'host',
    'origin',
    'last-event-id',
  ]
  for (const [at, name] of names.entries()) if (words[at] !== undefined) set(headers, name, words[at])
  if (asJson && random.fraction() < 0.6) repeatInHeaders(input, headers)
  const foreign = random.fraction() < 0.2
  if (random.fraction() < 0.7) headers.set('mcp-session-id', sessions[foreign ? 1 - me : me] ?? '')
  const method = asJson || random.fraction() < 0.6 ? 'POST' : random.pick(['GET', 'DELETE', 'OPTIONS', 'PUT'])
  // A session that is ended is no more use to the trials after it.
  if (method === 'DELETE') headers.delete('mcp-session-id')
  const body =
    method === 'POST' ? new Uint8Array(asJson ? input : Buffer.from(random.pick(['{}', ...messages]))) : null
  const response = await handler.fetch(new Request(url, { method, headers, body }))
  const text = await beginning(response)
  mustHold(!text.includes(secretOf(callers[1 - me] ?? '')), 'a secret reached another caller')
  const inSession = foreign && headers.has('mcp-session-id') && headers.get('mcp-protocol-version') === null
  const isStateless = /2026-07-28|initialize/.test(Buffer.from(body ?? []).toString('latin1'))
  mustHold(
    !inSession || isStateless || !response.ok || method === 'OPTIONS',
    'a session serves another caller',
  )
  mustHold(response.status < 500, `status ${response.status}: ${text}`)
  mustHold(isAnswer(text), `an answer is neither JSON nor events: ${text}`)
}

/** Makes headers repeat the values of the message, as required. */
function repeatInHeaders(input: Buffer, headers: Headers): void {
  const message = parseObject(input.toString('utf8'))
  const params = isObject(message['params']) ? message['params'] : {}
  const meta = isObject(params['_meta']) ? params['_meta'] : {}
  const words = {
    'mcp-method': message['method'],
    'mcp-name': params['name'] ?? params['uri'],
    'mcp-protocol-version': meta['io.modelcontextprotocol/protocolVersion'],
  }
  for (const [name, word] of Object.entries(words)) {
    if (typeof word === 'string') set(headers, name, encodeHeaderValue(word))
  }
}

function set(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value)
  } catch {
    // `Headers` rejects invalid values before any server receives them.
  }
}

/** A whole body, or of an event stream what came first. */
async function beginning(response: Response): Promise<string> {
  if (response.headers.get('content-type') !== 'text/event-stream') return response.text()
  const reader = response.body?.getReader()
  const first = await Promise.race([reader?.read(), aFewTurns()])
  reader?.cancel().catch(() => {})
  return Buffer.from(first?.value ?? []).toString('utf8')
}

/** A quiet stream has nothing to say: what would come has come by then. */
async function aFewTurns(): Promise<undefined> {
  for (let left = 10; left > 0; left--) await new Promise((resolve) => setImmediate(resolve))
}

function isAnswer(text: string): boolean {
  if (text === '' || /^(?:id|event|data|retry|:)/.test(text)) return true
  const value: unknown = JSON.parse(text)
  const all: unknown[] = Array.isArray(value) ? value : [value]
  return all.every((one) => Object(one).jsonrpc === '2.0')
}

/** One connection of messages: each request is answered once, and nothing is answered that was not asked. */
class Connection {
  readonly #duplex: DuplexConnection
  readonly #answered: unknown[] = []

  constructor(server: Server) {
    this.#duplex = new DuplexConnection(server, (message) => {
      if (!('method' in message) && message.id !== undefined) this.#answered.push(message.id)
    })
  }

  async receive(value: unknown): Promise<void> {
    this.#answered.length = 0
    this.#duplex.receive(value)
    await new Promise<void>((resolve) => setImmediate(resolve))
    const asked = (Array.isArray(value) ? value : [value]).map((one) => Object(one).id)
    for (const id of this.#answered)
      if (!asked.includes(id)) throw new Broken(`an answer to ${JSON.stringify(id)}`)
    if (new Set(this.#answered).size < this.#answered.length && new Set(asked).size === asked.length)
      throw new Broken('a request is answered twice')
  }
}
