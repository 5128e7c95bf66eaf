import { type Caller, type ClientCapabilities, type JsonObject, MetaKey, type Server } from '@jackfield/sdk'
import { isObject } from '../../../../../test/setup/json.ts'
import { localCaller } from '../../../src/request/exchange.ts'
import { DuplexConnection } from '../../../src/transports/server/duplex-connection.ts'

export const tasksId = 'io.modelcontextprotocol/tasks'

export const able: ClientCapabilities = {
  elicitation: { form: {} },
  sampling: {},
  extensions: { [tasksId]: {} },
}

/** A caller as a transport with authorization would name it. */
export function caller(principal: string | null, scopes: string[] = []): Caller {
  return { principal, scopes: new Set(scopes), claims: {} }
}

/** A client that sends raw messages of one revision. */
export interface Raw {
  /** The whole response to one request. */
  send(method: string, params?: JsonObject): Promise<JsonObject>
  /** The result of one request; throws the error it was answered with. */
  ask(method: string, params?: JsonObject): Promise<JsonObject>
  /** Begins a request, and gives its id with its response. */
  open(method: string, params?: JsonObject): { readonly id: number; readonly response: Promise<JsonObject> }
  /** Sends any message. */
  post(message: JsonObject): void
  /** Everything the server sent, in order. */
  readonly received: JsonObject[]
  close(): Promise<void>
}

export interface RawOptions {
  caller?: Caller
  capabilities?: ClientCapabilities
  /** Answers what the server asks, by its method (2025-11-25). */
  onRequest?: (message: JsonObject) => JsonObject | undefined
}

class Wire {
  readonly received: JsonObject[] = []
  readonly #waiting = new Map<number, (message: JsonObject) => void>()
  #last = 0

  receive(message: JsonObject): void {
    this.received.push(message)
    const { id } = message
    if (typeof id === 'number' && !('method' in message)) this.#waiting.get(id)?.(message)
  }

  open(): { id: number; response: Promise<JsonObject> } {
    const id = ++this.#last
    return { id, response: new Promise((resolve) => this.#waiting.set(id, resolve)) }
  }
}

function connection(server: Server, options: RawOptions, paramsOf: (params: JsonObject) => JsonObject): Raw {
  const wire = new Wire()
  const link = new DuplexConnection(
    server,
    (message) => {
      const plain: unknown = JSON.parse(JSON.stringify(message))
      if (!isObject(plain)) return
      wire.receive(plain)
      const answer = 'method' in plain && 'id' in plain ? options.onRequest?.(plain) : undefined
      if (answer !== undefined)
        queueMicrotask(() => link.receive({ jsonrpc: '2.0', id: plain['id'], ...answer }))
    },
    { caller: options.caller ?? localCaller, keys: ['k'.repeat(32)] },
  )
  const open: Raw['open'] = (method, params = {}) => {
    const opened = wire.open()
    link.receive({ jsonrpc: '2.0', id: opened.id, method, params: paramsOf(params) })
    return opened
  }
  const send: Raw['send'] = (method, params) => open(method, params).response
  return {
    open,
    send,
    async ask(method, params) {
      const response = await send(method, params)
      if (isObject(response['result'])) return response['result']
      throw Object.assign(new Error(`${method}: ${JSON.stringify(response['error'])}`), response['error'])
    },
    post: (message) => link.receive(message),
    received: wire.received,
    close: () => link.close(),
  }
}

/** A client of 2026-07-28. */
export function modern(server: Server, options: RawOptions = {}): Raw {
  const { capabilities = able } = options
  return connection(server, options, (params) => ({
    ...params,
    _meta: {
      ...(isObject(params['_meta']) ? params['_meta'] : {}),
      [MetaKey.protocolVersion]: '2026-07-28',
      [MetaKey.clientCapabilities]: capabilities,
    },
  }))
}

/** A client of a revision with sessions, initialized. */
export async function session(
  server: Server,
  options: RawOptions & { version?: string } = {},
): Promise<Raw & { readonly initializeResult: JsonObject }> {
  const raw = connection(server, options, (params) => params)
  const { capabilities = { elicitation: { form: {} } }, version = '2025-11-25' } = options
  const initializeResult = await raw.ask('initialize', {
    protocolVersion: version,
    capabilities,
    clientInfo: { name: 'tester', version: '1' },
  })
  raw.post({ jsonrpc: '2.0', method: 'notifications/initialized' })
  return Object.assign(raw, { initializeResult })
}

/** The id in the answer to a call that became a task, of either revision. */
export function idIn(created: JsonObject): string {
  const task = isObject(created['task']) ? created['task'] : created
  if (typeof task['taskId'] !== 'string') throw new Error(`No task: ${JSON.stringify(created)}`)
  return task['taskId']
}

/** Looks at a task until it has this status. */
export async function reached(raw: Raw, taskId: string, status: string, ms = 10_000): Promise<JsonObject> {
  const end = Date.now() + ms
  for (;;) {
    const task = await raw.ask('tasks/get', { taskId })
    if (task['status'] === status) return task
    if (Date.now() > end) throw new Error(`The task is not ${status} but ${JSON.stringify(task)}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Keys of the questions a task waits with. */
export function keysIn(task: JsonObject): string[] {
  return Object.keys(isObject(task['inputRequests']) ? task['inputRequests'] : {})
}

/** The text of a result's first content block. */
export function textIn(result: unknown): string {
  const content: unknown = isObject(result) ? result['content'] : undefined
  const first: unknown = Array.isArray(content) ? content[0] : undefined
  return isObject(first) ? String(first['text']) : ''
}

/** A promise with its handles. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}
