import type { JsonObject } from '../../../../packages/sdk/src/jsonrpc/message.ts'
import { EventReader, type ServerSentEvent } from '../../../../packages/sdk/src/jsonrpc/sse.ts'
import type { Random } from '../../random.ts'
import { type ClientRecord, now, type Outcome, type Principal, questionIn } from './records.ts'
import { type Service, wait } from './service.ts'

type Entered<T> = T extends unknown ? Omit<T, 'at' | 'client'> : never
/** What a client enters into the history. */
export type Enter = (record: Entered<ClientRecord>) => void

/** What the clients of a run share. */
export interface Load {
  readonly service: Service
  readonly random: Random
  readonly limitMs: number
  readonly enter: (client: string) => Enter
  /** Sessions and events that are in use, which the hostile client tries to use. */
  readonly known: Map<string, { session: string; event: string | undefined; question: string | undefined }>
}

/** Gives the events of a response, until it ends or breaks. */
export async function readEvents(
  response: Response,
  onEvent: (event: ServerSentEvent) => void,
): Promise<void> {
  const reader = new EventReader({ onEvent })
  try {
    for await (const chunk of response.body ?? []) reader.push(chunk)
  } catch {
    // The connection broke, or was dropped.
  }
}

/** A request to one node, past the balancer; undefined where the node does not respond. */
export async function direct(
  port: number,
  init: RequestInit,
  signal: AbortSignal = AbortSignal.timeout(2_000),
): Promise<Response | undefined> {
  return fetch(`http://127.0.0.1:${port}/mcp`, { ...init, signal }).catch(() => undefined)
}

/** One POST of requests, until each has its response. */
interface Post {
  /** The operations by the ids of their requests. */
  readonly ops: ReadonlyMap<number, string>
  readonly reader: string
  readonly responses: Map<number, JsonObject[]>
  readonly received: { id: string; data: string }[]
  /** Whether every event had an id. */
  allHaveIds: boolean
  isCancelled: boolean
}

export interface CallWays {
  /** Breaks the connection off after the first event, and resumes the stream. */
  readonly drop?: boolean
  /** Answers each question twice at the same time, through different nodes. */
  readonly twice?: boolean
  /** Reads the events again after the response. */
  readonly retrieve?: boolean
}

/** A client of 2024-11-05 to 2025-11-25, written without an SDK: it records every event, closes streams and resumes them. */
export class SessionClient {
  readonly name: string
  readonly principal: Principal
  readonly #load: Load
  readonly #version: string
  readonly #enter: Enter
  #session = ''
  /** The session that this client is ending. */
  #ending: string | undefined
  #since = 0
  #lastId = 0
  #lastOp = 0
  #beginning: Promise<void> | undefined
  #isOver = false

  constructor(load: Load, name: string, principal: Principal, version = '2025-11-25') {
    this.#load = load
    this.name = name
    this.principal = principal
    this.#version = version
    this.#enter = load.enter(name)
  }

  get session(): string {
    return this.#session
  }

  /** Begins a session, as often as that takes. */
  begin(): Promise<void> {
    this.#beginning ??= this.#begin().finally(() => {
      this.#beginning = undefined
    })
    return this.#beginning
  }

  async call(tool: string, ways: CallWays = {}, args: JsonObject = {}): Promise<void> {
    await this.#post([{ tool, args }], ways)
  }

  async batch(tools: readonly string[]): Promise<void> {
    await this.#post(
      tools.map((tool) => ({ tool, args: {} })),
      {},
    )
  }

  /** Has a resource change. */
  async touch(uri: string): Promise<void> {
    const from = now()
    const body = this.#request(++this.#lastId, 'tools/call', { name: 'touch', arguments: { uri } })
    const response = await this.#send({ body })
    if (response?.status !== 200) return
    if (!(await response.text()).includes('touched')) return
    this.#enter({ type: 'touched', uri, from })
  }

  /** Ends the session, checks that it does not exist on any node, and begins another one. */
  async end(): Promise<void> {
    const ended = this.#session
    this.#ending = ended
    const response = await this.#send({ method: 'DELETE' })
    if (response?.status === 204) await this.probe(ended, 'ended')
    this.#session = ''
    await this.begin()
  }

  /** Uses a session that this client must not be able to use, on all nodes. */
  async probe(session: string, of: 'foreign' | 'ended'): Promise<void> {
    const body = JSON.stringify(this.#request('probe', 'tools/list', {}))
    const headers = { ...this.#headers('POST'), 'mcp-session-id': session }
    const ports = this.#load.service.nodes.filter(({ isReady }) => isReady).map(({ port }) => port)
    await Promise.all(
      ports.map(async (port) => {
        const response = await direct(port, { method: 'POST', headers, body })
        if (response === undefined) return
        this.#received(await response.text().catch(() => ''))
        this.#enter({ type: 'probe', of, status: response.status, what: 'tools/list' })
      }),
    )
  }

  /** Tries to read, answer and end what belongs to another client. */
  async attack(): Promise<void> {
    const others = [...this.#load.known].filter(([name]) => name !== this.name).map(([, one]) => one)
    const [first, ...rest] = others
    if (first === undefined) return
    const { session, event, question } = this.#load.random.pick([first, ...rest])
    await this.probe(session, 'foreign')
    const ended = await this.#load.service
      .fetch(this.#load.service.url, {
        method: 'DELETE',
        headers: { ...this.#headers('DELETE'), 'mcp-session-id': session },
      })
      .catch(() => undefined)
    if (ended !== undefined)
      this.#enter({ type: 'probe', of: 'foreign', status: ended.status, what: 'DELETE' })
    if (event !== undefined) {
      const leaving = new AbortController()
      const stream = await this.#send({
        method: 'GET',
        headers: { 'last-event-id': event },
        signal: leaving.signal,
      })
      if (stream !== undefined) {
        this.#enter({ type: 'probe', of: 'foreign', status: stream.status, what: 'Last-Event-ID' })
        const timer = setTimeout(() => leaving.abort(), 200)
        await readEvents(stream, ({ data }) => this.#received(data))
        clearTimeout(timer)
      }
    }
    if (question !== undefined) {
      await this.#send({
        body: { jsonrpc: '2.0', id: question, result: { action: 'accept', content: { nonce: 'hostile' } } },
      })
    }
  }

  /** Subscribes to resources, and records their changes until `stop` is called. */
  async listen(uris: readonly string[]): Promise<() => void> {
    const leaving = new AbortController()
    await this.#subscribe(uris)
    const run = async (): Promise<void> => {
      let last: string | undefined
      let connections = 0
      while (!leaving.signal.aborted) {
        const before = this.#session
        const response = await this.#send({
          method: 'GET',
          headers: last === undefined ? {} : { 'last-event-id': last },
          signal: leaving.signal,
        })
        if (this.#session !== before) {
          last = undefined
          await this.#subscribe(uris)
          continue
        }
        if (response?.status !== 200) {
          // A node may have the other stream still, or the event was lost.
          if (response?.status === 400) last = undefined
          await wait(50)
          continue
        }
        if (last === undefined) connections++
        const reader = `${this.name} listening ${connections}`
        const session = this.#session
        await readEvents(response, ({ id, data }) => {
          if (id !== undefined) {
            last = id
            this.#enter({ type: 'event', reader, session, id })
          }
          if (data === '') return
          this.#received(data)
          const { method, params }: JsonObject = JSON.parse(data)
          const uri = Object(params).uri
          if (method === 'notifications/resources/updated') this.#enter({ type: 'changed', session, uri })
        })
        await wait(20)
      }
    }
    run().catch(() => {})
    return () => leaving.abort()
  }

  /** No requests are made again after this. */
  close(): void {
    this.#isOver = true
    this.#load.known.delete(this.name)
  }

  async #subscribe(uris: readonly string[]): Promise<void> {
    await Promise.all(
      uris.map(async (uri) => {
        for (let tries = 0; tries < 20; tries++) {
          const session = this.#session
          const body = this.#request(++this.#lastId, 'resources/subscribe', { uri })
          const response = await this.#send({ body })
          if (response?.status === 200 && 'result' in Object(await response.json().catch(() => ({})))) {
            this.#enter({ type: 'subscribed', session, uri })
            return
          }
          await wait(100)
        }
      }),
    )
  }

  async #post(calls: readonly { tool: string; args: JsonObject }[], ways: CallWays): Promise<void> {
    const ops = new Map<number, string>()
    const bodies = calls.map(({ tool, args }) => {
      const id = ++this.#lastId
      const op = `op-${this.name}-${++this.#lastOp}`
      ops.set(id, op)
      this.#enter({ type: 'invoked', op, principal: this.principal, tool })
      const _meta = { progressToken: id }
      return this.#request(id, 'tools/call', { _meta, name: tool, arguments: { op, ...args } })
    })
    const [first = ''] = ops.values()
    const post: Post = {
      ops,
      reader: first,
      responses: new Map(),
      received: [],
      allHaveIds: true,
      isCancelled: false,
    }
    const from = now()
    const session = this.#session
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(), this.#load.limitMs)
    const body = bodies.length === 1 ? bodies[0] : bodies
    const otherwise = await this.#conduct(post, body, calls[0]?.tool === 'wait', ways, limit.signal)
    clearTimeout(timer)
    for (const [id, op] of ops) {
      const responses = post.responses.get(id) ?? []
      const [response] = responses
      const [outcome, text] =
        response === undefined
          ? [limit.signal.aborted ? ('hung' as const) : otherwise, '']
          : outcomeOf(response)
      this.#enter({ type: 'completed', op, outcome, text, responses: responses.length })
    }
    const isWhole = post.allHaveIds && post.responses.size === ops.size && session === this.#session
    if (ways.retrieve === true && isWhole && post.received.length > 1) await this.#retrieve(post, from)
  }

  /** Makes the requests of a POST, and resumes its stream until all have responses. Returns the outcome of those without. */
  async #conduct(
    post: Post,
    body: unknown,
    cancels: boolean,
    ways: CallWays,
    limit: AbortSignal,
  ): Promise<Outcome> {
    let drops = ways.drop === true ? 1 : 0
    let headers: Record<string, string> = {}
    for (let tries = 0; !limit.aborted; tries++) {
      const last = post.received.at(-1)?.id
      if (tries > 0 && last === undefined) return post.isCancelled ? 'cancelled' : 'unknown'
      if (last !== undefined) headers = { 'last-event-id': last }
      const leaving = new AbortController()
      const signal = AbortSignal.any([limit, leaving.signal])
      const isPost = last === undefined
      const response = await this.#send(isPost ? { body, signal } : { method: 'GET', headers, signal })
      if (response === undefined) {
        if (isPost) return 'unknown'
        await wait(100)
        continue
      }
      if (response.status === 404) return 'refused'
      if (response.status === 400 && !isPost) return 'unknown'
      if (response.status !== 200) {
        if (isPost) return 'refused'
        await wait(100)
        continue
      }
      if (!response.headers.get('content-type')?.includes('event-stream')) {
        const text = await response.text().catch(() => undefined)
        if (text === undefined) return 'unknown'
        this.#received(text)
        this.#receive(post, JSON.parse(text), ways)
        return 'unknown'
      }
      await readEvents(response, ({ id, data }) => {
        if (id !== undefined) {
          this.#enter({ type: 'event', reader: post.reader, session: this.#session, id })
          post.received.push({ id, data })
          this.#load.known.set(this.name, { ...this.#share(), event: id })
        } else if (data !== '') post.allHaveIds = false
        if (data !== '') {
          this.#received(data)
          this.#receive(post, JSON.parse(data), ways)
        }
        if (cancels && !post.isCancelled) {
          post.isCancelled = true
          const [requestId] = post.ops.keys()
          const params = { requestId, reason: 'not wanted any more' }
          this.#send({ body: { jsonrpc: '2.0', method: 'notifications/cancelled', params } })
        }
        if (drops > 0 && id !== undefined) {
          drops--
          leaving.abort()
        }
      })
      if (post.responses.size === post.ops.size) return 'result'
      if (post.isCancelled) return 'cancelled'
      if (!leaving.signal.aborted) await wait(50)
    }
    return post.isCancelled ? 'cancelled' : 'hung'
  }

  #receive(post: Post, message: unknown, ways: CallWays): void {
    if (Array.isArray(message)) {
      for (const one of message) this.#receive(post, one, ways)
      return
    }
    const { id, method, params, ...rest } = Object(message)
    if (method === 'elicitation/create') {
      const question = questionIn(String(Object(params).message))
      if (question === undefined) return
      this.#enter({ type: 'question', ...question, id })
      this.#load.known.set(this.name, { ...this.#share(), question: id })
      for (let answers = ways.twice === true ? 2 : 1; answers > 0; answers--) {
        const nonce = crypto.randomUUID()
        this.#enter({ type: 'answered', ...question, nonce })
        this.#answer(id, nonce)
      }
    } else if (method === undefined && post.ops.has(id)) {
      post.responses.set(id, [...(post.responses.get(id) ?? []), rest])
    }
  }

  async #answer(id: string, nonce: string): Promise<void> {
    const body = { jsonrpc: '2.0', id, result: { action: 'accept', content: { nonce } } }
    // An answer that may have been lost is sent again: the first one counts.
    for (let tries = 0; tries < 20; tries++) {
      const response = await this.#send({ body })
      if (response !== undefined) return
      await wait(100)
    }
  }

  async #retrieve(post: Post, from: number): Promise<void> {
    const [op = ''] = post.ops.values()
    const [first, ...later] = post.received
    const again: string[] = []
    const response = await this.#send({
      method: 'GET',
      headers: { 'last-event-id': first?.id ?? '' },
      signal: AbortSignal.timeout(this.#load.limitMs),
    })
    if (response?.status !== 200) {
      const isAbsent = response?.status === 400 || response?.status === 404
      this.#enter({ type: 'retrieved', op, from, how: isAbsent ? 'absent' : 'unavailable' })
      return
    }
    await readEvents(response, ({ id, data }) => again.push(`${id} ${data}`))
    const expected = later.map(({ id, data }) => `${id} ${data}`)
    const isSame = again.length === expected.length && again.every((one, at) => one === expected[at])
    // A connection that broke has fewer.
    const isPart = again.every((one, at) => one === expected[at])
    this.#enter({ type: 'retrieved', op, from, how: isSame ? 'equal' : isPart ? 'unavailable' : 'different' })
  }

  async #begin(): Promise<void> {
    while (!this.#isOver) {
      const params = {
        protocolVersion: this.#version,
        capabilities: { elicitation: {} },
        clientInfo: { name: this.name, version: '1' },
      }
      const response = await this.#load.service
        .fetch(this.#load.service.url, {
          method: 'POST',
          headers: this.#headers('POST'),
          body: JSON.stringify(this.#request('begin', 'initialize', params)),
        })
        .catch(() => undefined)
      const session = response?.headers.get('mcp-session-id')
      await response?.text().catch(() => '')
      if (response?.status === 200 && session) {
        this.#session = session
        this.#since = now()
        this.#load.known.set(this.name, { session, event: undefined, question: undefined })
        const initialized = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
        const headers = { ...this.#headers('POST'), 'mcp-session-id': session }
        const { service } = this.#load
        await service.fetch(service.url, { method: 'POST', headers, body: initialized }).catch(() => {})
        return
      }
      await wait(100)
    }
  }

  /** Sends a request in the session; undefined where the connection broke. Waits while the nodes cannot read sessions. */
  async #send(ask: {
    method?: string
    headers?: Record<string, string>
    body?: unknown
    signal?: AbortSignal
  }): Promise<Response | undefined> {
    const { method = 'POST', headers = {}, body, signal } = ask
    const until = now() + this.#load.limitMs
    let isRepeated = false
    while (now() < until) {
      const session = this.#session
      const response = await this.#load.service
        .fetch(this.#load.service.url, {
          method,
          headers: { ...this.#headers(method), 'mcp-session-id': session, ...headers },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          ...(signal === undefined ? {} : { signal }),
        })
        .catch(() => undefined)
      if (response?.status === 503) {
        await response.text().catch(() => '')
        await wait(100)
        isRepeated = true
        continue
      }
      // The balancer's words for a node that closed the connection.
      if (response?.status === 502 || response?.status === 504) return undefined
      // It was ended by this client: its other requests meanwhile, and a repeated deletion, are refused.
      const isEnded = session === this.#ending && (method !== 'DELETE' || isRepeated)
      if (response?.status === 404 && session === this.#session && !isEnded) {
        this.#enter({ type: 'gone', since: this.#since, session })
        await this.begin()
      }
      return response
    }
    return undefined
  }

  #share() {
    return (
      this.#load.known.get(this.name) ?? { session: this.#session, event: undefined, question: undefined }
    )
  }

  #received(text: string): void {
    this.#enter({ type: 'received', principal: this.principal, text })
  }

  #request(id: number | string, method: string, params: JsonObject): JsonObject {
    return { jsonrpc: '2.0', id, method, params }
  }

  #headers(method: string): Record<string, string> {
    const accept = method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream'
    return {
      authorization: `Bearer ${this.principal}`,
      'content-type': 'application/json',
      accept,
      ...(this.#session === '' ? {} : { 'mcp-protocol-version': this.#version }),
    }
  }
}

export function outcomeOf({ result, error }: JsonObject): [Outcome, string] {
  if (error !== undefined) {
    const { message, data } = Object(error)
    return [Object(data).interrupted === true ? 'interrupted' : 'refused', String(message)]
  }
  const { content, isError } = Object(result)
  const text = String(content?.[0]?.text)
  return [isError === true ? 'refused' : 'result', text]
}
