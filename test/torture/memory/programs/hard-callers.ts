import type { ChildProcess } from 'node:child_process'
import { Agent, type IncomingMessage, request } from 'node:http'
import { createInterface } from 'node:readline'

// Clients without an SDK, one for each transport, which send only what the test passes.

export type Message = Record<string, unknown>

/** One call on its way. */
export interface CallState {
  /** The response, or undefined where the call was cancelled first. */
  readonly answer: Promise<Message | undefined>
  cancel(): void
}

/** Hears of one question, and may answer it as often as it likes, with anything. */
export type OnQuestion = (answer: (given: Message) => void) => void

/** One client of the server. */
export interface Caller {
  readonly name: string
  /** Calls a tool. On the stateless era questions come with the result. */
  call(params: Message, onQuestion?: OnQuestion): CallState
  /** Cancels the newest again: over HTTP a cancel may come before what it cancels, and then means nothing. */
  insist?(): void
  close(): void
}

/** Hears of all that is received, as text. */
export type OnText = (text: string) => void

const version = '2025-11-25'
const clientInfo = { name: 'hard', version: '1.0.0' }
const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {} }
const statelessMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': clientInfo,
  'io.modelcontextprotocol/clientCapabilities': capabilities,
  'io.modelcontextprotocol/logLevel': 'debug',
}
const accepted = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
}

let lastId = 0

function callOf(params: Message, stateless: boolean): Message & { id: number } {
  const id = ++lastId
  const _meta = { progressToken: id, ...(stateless ? statelessMeta : {}) }
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { ...params, _meta } }
}

function parse(text: string): Message {
  const message: Message = JSON.parse(text)
  return message
}

function isResponse(message: Message): boolean {
  return !('method' in message)
}

/** Reads a body: one message, or an event stream of several. Settles at its end, however it comes. */
async function readBody(
  response: IncomingMessage,
  onText: OnText,
  onMessage: (message: Message) => void,
): Promise<string | undefined> {
  let last: string | undefined
  let rest = ''
  const isStream = response.headers['content-type'] === 'text/event-stream'
  response.setEncoding('utf8')
  try {
    for await (const chunk of response) {
      onText(chunk)
      rest += chunk
      if (!isStream) continue
      const events = rest.split('\n\n')
      rest = events.pop() ?? ''
      for (const event of events) {
        last = /^id: (.*)$/m.exec(event)?.[1] ?? last
        const data = /^data: (.+)$/m.exec(event)?.[1]
        if (data !== undefined) onMessage(parse(data))
      }
    }
  } catch {
    return undefined
  }
  if (!isStream && rest !== '') onMessage(parse(rest))
  return last
}

/** HTTP with keep-alive. Gives how to break off the request, too. */
class Http {
  readonly #url: string
  readonly #agent = new Agent({ keepAlive: true })

  constructor(url: string) {
    this.#url = url
  }

  send(
    method: string,
    headers: Record<string, string>,
    body?: Message,
  ): { response: Promise<IncomingMessage | undefined>; cut(): void } {
    const sent = request(this.#url, { method, headers: { ...accepted, ...headers }, agent: this.#agent })
    const response = new Promise<IncomingMessage | undefined>((resolve) => {
      sent.once('response', (response: IncomingMessage) => {
        response.once('error', () => {})
        resolve(response)
      })
      sent.on('error', () => resolve(undefined))
      sent.once('close', () => resolve(undefined))
    })
    sent.end(body === undefined ? undefined : JSON.stringify(body))
    // After its end its connection may be another request's.
    let over = false
    response.then((got) =>
      got?.once('end', () => {
        over = true
      }),
    )
    const cut = (): void => {
      if (!over) sent.destroy()
    }
    return { response, cut }
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** The stateless era over HTTP: who hangs up cancels. */
export function statelessHttp(url: string, onText: OnText): Caller {
  const http = new Http(url)
  return {
    name: 'HTTP without sessions',
    call(params) {
      const message = callOf(params, true)
      const { response, cut } = http.send(
        'POST',
        {
          'Mcp-Protocol-Version': '2026-07-28',
          'Mcp-Method': 'tools/call',
          'Mcp-Name': String(params['name']),
        },
        message,
      )
      const answer = async (): Promise<Message | undefined> => {
        const got = await response
        let answered: Message | undefined
        if (got !== undefined) {
          await readBody(got, onText, (message) => {
            if (isResponse(message)) answered = message
          })
        }
        return answered
      }
      return { answer: answer(), cancel: cut }
    },
    close: () => http.close(),
  }
}

/** A session over HTTP, which resumes a stream that ends before the response. */
export async function sessionHttp(url: string, onText: OnText): Promise<Caller> {
  const http = new Http(url)
  const params = { protocolVersion: version, capabilities, clientInfo }
  const begun = await http.send('POST', {}, { jsonrpc: '2.0', id: 0, method: 'initialize', params }).response
  begun?.resume()
  const headers = {
    'Mcp-Session-Id': String(begun?.headers['mcp-session-id']),
    'Mcp-Protocol-Version': version,
  }
  const notify = async (message: Message): Promise<void> => {
    const got = await http.send('POST', headers, { jsonrpc: '2.0', ...message }).response
    got?.resume()
  }
  await notify({ method: 'notifications/initialized' })
  const newest: number[] = []
  const receive = (requestId: number): Promise<void> =>
    notify({ method: 'notifications/cancelled', params: { requestId, reason: 'enough' } })
  return {
    name: 'a session over HTTP',
    call(params, onQuestion) {
      const message = callOf(params, false)
      let cancelled = false
      let { response, cut } = http.send('POST', headers, message)
      const answer = async (): Promise<Message | undefined> => {
        let answered: Message | undefined
        let last: string | undefined
        while (answered === undefined && !cancelled) {
          const got = await response
          if (got === undefined) return undefined
          const newest = await readBody(got, onText, (received) => {
            const { id } = received
            if (isResponse(received)) answered = received
            else if (id !== undefined) onQuestion?.((given) => notify({ id, ...given }))
          })
          last = newest ?? last
          if (last === undefined || answered !== undefined || cancelled) return answered
          const again = http.send('GET', { ...headers, 'Last-Event-ID': last })
          response = again.response
          cut = again.cut
        }
        return answered
      }
      return {
        answer: answer(),
        cancel: () => {
          cancelled = true
          receive(message.id)
          cut()
          newest.push(message.id)
          if (newest.length > 1000) newest.shift()
        },
      }
    },
    insist: () => {
      for (const id of newest) receive(id)
    },
    close: () => http.close(),
  }
}

/** A mark in the server requests of one call, which on standard streams do not name their call. */
export function markOf(params: Message): string {
  return /"mark":"([^"]*)"/.exec(JSON.stringify(params))?.[1] ?? 'no mark'
}

/** The standard streams of a server, in one era. */
export function lines(child: ChildProcess, stateless: boolean, onText: OnText): Caller {
  const waiting = new Map<
    unknown,
    { resolve(message: Message | undefined): void; ask: OnQuestion; mark: string }
  >()
  const { stdin, stdout } = child
  if (stdin === null || stdout === null) throw new Error('The server has no streams')
  const write = (message: Message): void => {
    stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }
  const receive = (line: string): void => {
    onText(line)
    const message = parse(line)
    const { id } = message
    if (!isResponse(message)) {
      const asked = [...waiting.values()].find(({ mark }) => line.includes(mark))
      if (id !== undefined) asked?.ask((given) => write({ id, ...given }))
      return
    }
    waiting.get(id)?.resolve(message)
    waiting.delete(id)
  }
  const reader = createInterface({ input: stdout })
  reader.on('line', receive)
  if (!stateless) {
    write({
      id: 'first',
      method: 'initialize',
      params: { protocolVersion: version, capabilities, clientInfo },
    })
    write({ method: 'notifications/initialized' })
  }
  return {
    name: stateless ? 'standard streams without sessions' : 'a session on standard streams',
    call(params, ask = () => {}) {
      const message = callOf(params, stateless)
      const answer = new Promise<Message | undefined>((resolve) => {
        waiting.set(message.id, { resolve, ask, mark: markOf(params) })
      })
      write(message)
      return {
        answer,
        cancel: () => {
          write({ method: 'notifications/cancelled', params: { requestId: message.id, reason: 'enough' } })
          waiting.get(message.id)?.resolve(undefined)
          waiting.delete(message.id)
        },
      }
    },
    close: () => reader.off('line', receive),
  }
}
