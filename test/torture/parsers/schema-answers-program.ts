import type { ProtocolVersion } from '@jackfield/sdk'
import { z } from 'zod'
import { defineServer, tool } from '../../../packages/sdk/src/index.ts'
import { protocolVersions } from '../../../packages/sdk/src/protocol/methods.ts'
import { DuplexConnection } from '../../../packages/sdk/src/transports/server/duplex-connection.ts'
import { checkWire } from '../../../packages/sdk/test/schema/wire.ts'
import { isObject } from '../../setup/json.ts'
import { changesOf, Differences, print } from './schema-differences.ts'
import { answers } from './schema-questions.ts'

// Changes every place of every answer that a client may give to a question of a server, in every revision, and prints where our
// server and the official schema of the revision do not agree on whether it can be used.

const stateless = '2026-07-28'
const given = new Differences('answer')
const form = z.object({ name: z.string().optional(), age: z.number().int(), sure: z.boolean() })
const server = defineServer({
  name: 'asking',
  version: '1.0.0',
  tools: {
    'elicitation-create': tool({
      run: async (_, ctx) => (await ctx.elicit({ message: 'm', schema: form })).action,
    }),
    'sampling-createMessage': tool({
      run: async (_, ctx) => (await ctx.sample({ messages: [], maxTokens: 9 })).model,
    }),
    'roots-list': tool({ run: async (_, ctx) => String((await ctx.roots()).length) }),
  },
})
const capabilities = { roots: {}, sampling: { tools: {} }, elicitation: { form: {} } }
const clientInfo = { name: 'n', version: '1' }
const meta = {
  'io.modelcontextprotocol/protocolVersion': stateless,
  'io.modelcontextprotocol/clientInfo': clientInfo,
  'io.modelcontextprotocol/clientCapabilities': capabilities,
}

/** A scripted client of a connection. */
class Hand {
  readonly #duplex: DuplexConnection
  readonly #received: unknown[] = []
  #wake: () => void = () => {}

  constructor() {
    this.#duplex = new DuplexConnection(server, (message) => {
      this.#received.push(JSON.parse(JSON.stringify(message)))
      this.#wake()
    })
  }

  send(message: object): void {
    this.#duplex.receive(JSON.parse(JSON.stringify({ jsonrpc: '2.0', ...message })))
  }

  /** The server's next response. */
  async next(): Promise<Record<string, unknown>> {
    for (;;) {
      const one = this.#received.shift()
      if (isObject(one)) return one
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  close(): Promise<void> {
    return this.#duplex.close()
  }
}

for (const revision of protocolVersions) {
  const hand = new Hand()
  if (revision !== stateless) {
    hand.send({
      id: 0,
      method: 'initialize',
      params: { protocolVersion: revision, capabilities, clientInfo },
    })
    await hand.next()
    hand.send({ method: 'notifications/initialized' })
  }
  for (const { method, result } of answers(revision)) {
    if (faults(revision, method, result).length > 0) continue
    for (const change of changesOf(result)) {
      const wrong = faults(revision, method, change.changed).length > 0
      const last =
        revision === stateless
          ? await retried(hand, toolOf(method), change.changed)
          : await answered(hand, toolOf(method), change.changed)
      const outcome = last['result']
      const refused = last['error'] !== undefined || (isObject(outcome) && outcome['isError'] === true)
      given.note(revision, method, change, { wrong, refused })
    }
  }
  await hand.close()
}
await print(given)
process.exit(0)

function faults(revision: ProtocolVersion, method: string, result: object): string[] {
  if (revision !== stateless) return checkWire(revision, 'client', { jsonrpc: '2.0', id: 1, result }, method)
  return checkWire(revision, 'client', {
    jsonrpc: '2.0',
    id: 1,
    ...callOf(toolOf(method), { q: result }, 's'),
  })
}

/** The tool that asks this. */
function toolOf(method: string): string {
  return method.replace('/', '-')
}

function callOf(name: string, inputResponses?: object, requestState?: unknown): object {
  return { method: 'tools/call', params: { name, arguments: {}, _meta: meta, inputResponses, requestState } }
}

/** In a session the question is a request of its own. */
async function answered(hand: Hand, name: string, result: object): Promise<Record<string, unknown>> {
  hand.send({ id: 1, method: 'tools/call', params: { name, arguments: {} } })
  const { id } = await hand.next()
  hand.send({ id, result })
  return hand.next()
}

/** Otherwise the call is made once more, with the answer. */
async function retried(hand: Hand, name: string, result: object): Promise<Record<string, unknown>> {
  hand.send({ id: 1, ...callOf(name) })
  const round = await hand.next()
  const asked = Object(round['result'])
  const [key = ''] = Object.keys(Object(asked.inputRequests))
  hand.send({ id: 2, ...callOf(name, { [key]: result }, asked.requestState) })
  return hand.next()
}
