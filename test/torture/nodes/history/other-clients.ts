import { connect, http } from '@jackfield/sdk/client'
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import type { JsonObject } from '../../../../packages/sdk/src/jsonrpc/message.ts'
import { MetaKey } from '../../../../packages/sdk/src/protocol/meta.ts'
import { modern } from '../../../../packages/sdk/test/serve/http-support.ts'
import { meta } from '../../../../packages/sdk/test/serve/support.ts'
import { as } from '../../sessions/attacks.ts'
import { now, type Outcome, type Principal, questionIn } from './records.ts'
import { wait } from './service.ts'
import { direct, type Enter, type Load, outcomeOf, readEvents } from './session-client.ts'

/** A client of a library: calls one tool, and gives what its result was. */
interface Library {
  call(tool: string, args: JsonObject): Promise<unknown>
  close(): Promise<void>
}

/** @param id of the request, where the library shows it: an event that arrives twice is one question */
type Answer = (message: string, id?: unknown) => { action: 'accept'; content: { nonce: string } }
export type LibraryName = 'v1' | 'v2' | 'ours' | 'ours 2026-07-28'

/** A library does not send an answer again that was refused or lost, so its call may have to end by its own limit. */
const callLimitMs = 15_000
const capabilities = { elicitation: { form: {} } }

async function open(kind: LibraryName, load: Load, principal: Principal, answer: Answer): Promise<Library> {
  const { url, fetch } = load.service
  const requestInit = { headers: as(principal) }
  const timeout = callLimitMs
  switch (kind) {
    case 'v1': {
      const client = new ClientV1({ name: 'v1', version: '1' }, { capabilities })
      client.setRequestHandler(ElicitRequestSchema, ({ params }, { requestId }) =>
        answer(params.message, requestId),
      )
      await client.connect(new TransportV1(new URL(url), { fetch, requestInit }))
      const options = { timeout, onprogress: () => {} }
      return {
        call: (name, args) => client.callTool({ name, arguments: args }, undefined, options),
        close: () => client.close(),
      }
    }
    case 'v2': {
      const client = new ClientV2(
        { name: 'v2', version: '2' },
        { capabilities, versionNegotiation: { mode: 'legacy' } },
      )
      client.setRequestHandler('elicitation/create', ({ params }, { mcpReq }) =>
        answer(params.message, mcpReq.id),
      )
      await client.connect(new TransportV2(new URL(url), { fetch, requestInit }))
      const options = { timeout, onprogress: () => {} }
      return {
        call: (name, args) => client.callTool({ name, arguments: args }, options),
        close: () => client.close(),
      }
    }
    default: {
      const client = await connect(http(url, { fetch: (...to) => fetch(...to), headers: as(principal) }), {
        revisions: [kind === 'ours' ? '2025-11-25' : '2026-07-28'],
        onElicit: ({ message }) => answer(message),
      })
      return {
        call: (name, args) => client.call(name, args, { timeoutMs: timeout, onProgress: () => {} }),
        close: () => client.close(),
      }
    }
  }
}

/** A client of a library, which is replaced when its session is lost. */
export class LibraryClient {
  readonly name: string
  readonly #kind: LibraryName
  readonly #principal: Principal
  readonly #load: Load
  readonly #enter: Enter
  #library: Library | undefined
  #lastOp = 0

  constructor(load: Load, name: string, kind: LibraryName, principal: Principal) {
    this.name = name
    this.#kind = kind
    this.#principal = principal
    this.#load = load
    this.#enter = load.enter(name)
  }

  async begin(): Promise<void> {
    const until = now() + 4 * this.#load.limitMs
    for (;;) {
      try {
        this.#library = await open(this.#kind, this.#load, this.#principal, (message, id) => {
          const question = questionIn(message)
          const nonce = crypto.randomUUID()
          if (question !== undefined) {
            this.#enter({ type: 'question', ...question, id: String(id ?? crypto.randomUUID()) })
            this.#enter({ type: 'answered', ...question, nonce })
          }
          return { action: 'accept', content: { nonce } }
        })
        return
      } catch (error) {
        if (now() > until) throw error
        await wait(100)
      }
    }
  }

  async call(tool: string): Promise<void> {
    if (this.#library === undefined) await this.begin()
    const op = `op-${this.name}-${++this.#lastOp}`
    this.#enter({ type: 'invoked', op, principal: this.#principal, tool })
    let [outcome, text]: [Outcome, string] = ['unknown', '']
    try {
      ;[outcome, text] = outcomeOf({ result: Object(await this.#library?.call(tool, { op })) })
    } catch (error) {
      ;[outcome, text] = failureOf(error)
    }
    this.#enter({ type: 'received', principal: this.#principal, text })
    this.#enter({ type: 'completed', op, outcome, text, responses: 1 })
    // What these clients do with a session that is not found any more is a matter of theirs.
    if (outcome !== 'result') {
      await this.close()
      await this.begin()
    }
  }

  async close(): Promise<void> {
    await this.#library?.close().catch(() => {})
    this.#library = undefined
  }
}

function failureOf(error: unknown): [Outcome, string] {
  return [Object(Object(error).data).interrupted === true ? 'interrupted' : 'unknown', String(error)]
}

const _meta = meta({ [MetaKey.clientCapabilities]: { elicitation: { form: {} } } })

/** A client of 2026-07-28, written without an SDK: it answers a question on all nodes at once. */
export class StatelessClient {
  readonly name: string
  readonly #principal: Principal
  readonly #load: Load
  readonly #enter: Enter
  #lastOp = 0

  constructor(load: Load, name: string, principal: Principal) {
    this.name = name
    this.#principal = principal
    this.#load = load
    this.#enter = load.enter(name)
  }

  async call(tool: string): Promise<void> {
    const op = `op-${this.name}-${++this.#lastOp}`
    this.#enter({ type: 'invoked', op, principal: this.#principal, tool })
    let answer: JsonObject = {}
    for (let tries = 0; ; tries++) {
      const messages = await this.#send(tool, op, answer)
      const results = messages.filter((one) => 'result' in one)
      const [message] = results.length > 0 ? results : messages
      if (message === undefined) {
        // What had no response before any answer is made again, as it had no effect.
        if (Object.keys(answer).length === 0 && tries < 20 && tool !== 'effect' && tool !== 'steps') {
          await wait(100)
          continue
        }
        this.#complete(op, 'unknown', '', 1)
        return
      }
      const { requestState, inputRequests } = Object(message['result'])
      if (typeof requestState !== 'string') {
        const [outcome, text] = outcomeOf(message)
        this.#complete(op, outcome, text, Math.max(1, results.length))
        return
      }
      const [[key, request] = ['', {}]] = Object.entries(Object(inputRequests))
      const question = questionIn(String(Object(Object(request).params).message))
      if (question === undefined) return
      this.#enter({ type: 'question', ...question, id: `${op} ${question.nth}` })
      const nonce = crypto.randomUUID()
      this.#enter({ type: 'answered', ...question, nonce })
      answer = { requestState, inputResponses: { [key]: { action: 'accept', content: { nonce } } } }
    }
  }

  #complete(op: string, outcome: Outcome, text: string, responses: number): void {
    this.#enter({ type: 'completed', op, outcome, text, responses })
  }

  /** Makes a request: through the balancer, or with an answer on all nodes. Gives the responses that arrived. */
  async #send(tool: string, op: string, answer: JsonObject): Promise<JsonObject[]> {
    const params = { _meta, name: tool, arguments: { op }, ...answer }
    const { headers, body } = modern('tools/call', params, as(this.#principal))
    const init = {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name, String(value)])),
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(this.#load.limitMs),
    }
    const { service } = this.#load
    const isAnswer = Object.keys(answer).length > 0
    const responses = isAnswer
      ? await Promise.all(service.nodes.map(({ port }) => direct(port, init, init.signal)))
      : [await service.fetch(service.url, init).catch(() => undefined)]
    const found = await Promise.all(responses.map((response) => this.#message(response)))
    return found.filter((one) => one !== undefined)
  }

  async #message(response: Response | undefined): Promise<JsonObject | undefined> {
    if (response === undefined || response.status >= 500) {
      await response?.text().catch(() => '')
      return undefined
    }
    let found: JsonObject | undefined
    const receive = (text: string): void => {
      this.#enter({ type: 'received', principal: this.#principal, text })
      const message: JsonObject = JSON.parse(text)
      if ('result' in message || 'error' in message) found = message
    }
    if (response.headers.get('content-type')?.includes('event-stream')) {
      await readEvents(response, ({ data }) => {
        if (data !== '') receive(data)
      })
    } else {
      const text = await response.text().catch(() => '')
      if (text !== '') receive(text)
    }
    return found
  }
}
