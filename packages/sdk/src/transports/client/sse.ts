import { excerpt, McpError } from '../../jsonrpc/error.ts'
import type { ServerSentEvent } from '../../jsonrpc/sse.ts'
import { limits } from '../../request/limits.ts'
import { type Channel, type ChannelEvents, DuplexTransport } from './duplex.ts'
import { Endpoint, type HttpOptions } from './http-request.ts'
import { discard, eachEvent, failureOf, mediaType } from './http-response.ts'
import type { ClientTransportFactory } from './transport.ts'

/**
 * A server behind a URL that speaks the HTTP+SSE transport of 2024-11-05: one event stream for everything it says, and
 * a second URL, which it names there, for everything it is told. `http` falls back to this by itself. The transport
 * has no way to take up a lost stream, so losing it ends the connection.
 */
export function sse(url: string | URL, options: HttpOptions = {}): ClientTransportFactory {
  const endpoint = Endpoint.from(url, options)
  const maxBytes = options.maxMessageBytes ?? limits.messageBytes
  return () => new DuplexTransport('sse', (events, signal) => open(endpoint, maxBytes, events, signal))
}

async function open(
  endpoint: Endpoint,
  maxBytes: number,
  events: ChannelEvents,
  signal: AbortSignal,
): Promise<Channel> {
  const response = await endpoint.send('GET', { accept: 'text/event-stream' }, undefined, signal)
  if (!response.ok || mediaType(response) !== 'text/event-stream') {
    throw await refusal(response, endpoint, signal)
  }
  const inbox = await new Promise<Endpoint>((resolve, reject) => {
    const take = oneInbox((data) => resolve(inboxAt(data, response, endpoint)), events)
    eachEvent(response, maxBytes, signal, endpoint.url, take, () => events.unreadable(0))
      .then(ended, broken)
      .then((lost) => {
        reject(lost)
        events.lost(lost)
      })
  })
  return {
    async send(text) {
      const sent = await inbox.send('POST', { 'content-type': 'application/json' }, text, signal)
      if (!sent.ok) throw await refusal(sent, endpoint, signal)
      discard(sent)
    },
    close: async () => {},
  }
}

/** Hands on what the server says. The first `endpoint` is the one that counts. The channel itself counts invalid messages. */
function oneInbox(name: (data: string) => void, events: ChannelEvents): (event: ServerSentEvent) => boolean {
  let named = false
  return ({ event = 'message', data }) => {
    if (event === 'message' && data !== '') {
      events.text(data)
      return true
    }
    if (event === 'endpoint') {
      if (named) events.warning(`Ignored another place to send messages to: ${excerpt(data)}`)
      else name(data)
      named = true
    }
    return false
  }
}

/** Why a request was refused, as a failure of that request alone. */
async function refusal(response: Response, endpoint: Endpoint, signal: AbortSignal): Promise<McpError> {
  const failure = await failureOf(response, signal, endpoint.url)
  if (failure instanceof McpError) return failure
  const { status } = response
  return new McpError('HTTP', `${endpoint.url.origin} answered with status ${status}: ${failure.message}`, {
    details: { status, code: failure.code },
  })
}

const goneForGood = 'a stream of the HTTP+SSE transport cannot be taken up again, so connect anew'

function ended(): McpError {
  return new McpError('CONNECTION_CLOSED', `The server closed its event stream; ${goneForGood}`)
}

function broken(error: unknown): McpError {
  if (error instanceof McpError && error.code !== 'CONNECTION_CLOSED') return error
  const why = error instanceof Error ? error.message : String(error)
  return new McpError('CONNECTION_CLOSED', `The event stream broke off (${why}); ${goneForGood}`, {
    cause: error,
  })
}

/** @throws McpError 'PROTOCOL' for a place on another origin, where this client's credentials must not go */
function inboxAt(data: string, { url: asked }: Response, endpoint: Endpoint): Endpoint {
  const base = asked === '' ? endpoint.url : asked
  const url = URL.canParse(data, base) ? new URL(data, base) : undefined
  const { origin } = endpoint.url
  if (url?.origin === origin && url.username === '' && url.password === '') return endpoint.at(url)
  throw new McpError('PROTOCOL', `${origin} wants messages sent to another origin: ${excerpt(data)}`)
}
