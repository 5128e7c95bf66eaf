import { limits } from '../core/limits.ts'
import { McpError } from '../jsonrpc/error.ts'
import { type Channel, type ChannelEvents, DuplexLink } from './duplex.ts'
import { discard, eachEvent, failureOf, mediaType } from './http-answer.ts'
import { Endpoint, type HttpOptions } from './http-request.ts'
import type { LinkFactory } from './link.ts'

/**
 * A server behind a URL that speaks the HTTP+SSE transport of 2024-11-05: one event stream for everything it says, and
 * a second URL, which it names there, for everything it is told. `http` falls back to this by itself.
 */
export function sse(url: string | URL, options: HttpOptions = {}): LinkFactory {
  const endpoint = Endpoint.from(url, options)
  const maxBytes = options.maxMessageBytes ?? limits.messageBytes
  return () => new DuplexLink('sse', (events, signal) => open(endpoint, maxBytes, events, signal))
}

async function open(
  endpoint: Endpoint,
  maxBytes: number,
  events: ChannelEvents,
  signal: AbortSignal,
): Promise<Channel> {
  const response = await endpoint.send('GET', { accept: 'text/event-stream' }, undefined, signal)
  if (!response.ok || mediaType(response) !== 'text/event-stream') {
    const failure = await failureOf(response, signal, endpoint.url)
    throw failure instanceof McpError ? failure : new McpError('HTTP', failure.message)
  }
  const inbox = await new Promise<Endpoint>((resolve, reject) => {
    let named = false
    eachEvent(response, maxBytes, signal, endpoint.url, ({ event = 'message', data }) => {
      if (event === 'message' && data !== '') events.text(data)
      if (event !== 'endpoint' || named) return
      named = true
      resolve(inboxAt(data, endpoint))
    })
      .then(() => new McpError('CONNECTION_CLOSED', `${endpoint.url.origin} closed its event stream`))
      .catch((error) => asLoss(error, signal))
      .then((lost) => {
        reject(lost)
        events.lost(lost)
      })
  })
  return {
    async send(text) {
      const sent = await inbox.send('POST', { 'content-type': 'application/json' }, text, signal)
      if (sent.ok) return discard(sent)
      const failure = await failureOf(sent, signal, endpoint.url)
      throw failure instanceof McpError ? failure : new McpError('HTTP', failure.message)
    },
    close: async () => {},
  }
}

function asLoss(error: unknown, signal: AbortSignal): McpError {
  if (error instanceof McpError) return error
  return new McpError('CONNECTION_CLOSED', 'The event stream broke off', { cause: signal.reason ?? error })
}

/** @throws McpError 'PROTOCOL' for a place on another origin, where this client's credentials must not go */
function inboxAt(data: string, endpoint: Endpoint): Endpoint {
  const url = URL.canParse(data, endpoint.url) ? new URL(data, endpoint.url) : undefined
  if (url?.origin === endpoint.url.origin) return endpoint.at(url)
  throw new McpError('PROTOCOL', `${endpoint.url.origin} wants messages sent to another origin: ${data}`)
}
