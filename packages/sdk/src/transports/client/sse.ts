import { excerpt, McpError, messageOf } from '../../jsonrpc/error.ts'
import type { ServerSentEvent } from '../../jsonrpc/sse.ts'
import { limits } from '../../request/limits.ts'
import { type Channel, type ChannelEvents, DuplexTransport } from './duplex.ts'
import { Endpoint, type HttpTransportOptions } from './http-request.ts'
import { discard, failureOf, mediaType, readEvents } from './http-response.ts'
import type { ClientTransportFactory } from './transport.ts'

/**
 * A client transport for HTTP+SSE of 2024-11-05: the server sends on one event stream and receives at a second URL, which
 * its `endpoint` event names. `http` falls back to it automatically. The stream cannot be resumed, so losing it closes the
 * connection.
 */
export function sse(url: string | URL, options: HttpTransportOptions = {}): ClientTransportFactory {
  const endpoint = new Endpoint(url, options)
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
    throw await failureError(response, endpoint, signal)
  }
  const postEndpoint = await new Promise<Endpoint>((resolve, reject) => {
    let isNamed = false
    const onEvent = ({ event = 'message', data }: ServerSentEvent): boolean => {
      if (event === 'message' && data !== '') {
        events.text(data)
        return true
      }
      // Only the first one counts.
      if (event === 'endpoint' && isNamed) events.warning(`Ignored another endpoint event: ${excerpt(data)}`)
      else if (event === 'endpoint') resolve(resolveEndpoint(data, response, endpoint))
      isNamed ||= event === 'endpoint'
      return false
    }
    readEvents(response, maxBytes, signal, endpoint.url, onEvent, () => events.unreadable(0))
      .then(ended, broken)
      .then((lost) => {
        reject(lost)
        events.lost(lost)
      })
  })
  return {
    async send(text) {
      const sent = await postEndpoint.send('POST', { 'content-type': 'application/json' }, text, signal)
      if (!sent.ok) throw await failureError(sent, endpoint, signal)
      discard(sent)
    },
    close: async () => {},
  }
}

async function failureError(response: Response, endpoint: Endpoint, signal: AbortSignal): Promise<McpError> {
  const failure = await failureOf(response, signal, endpoint.url)
  if (failure instanceof McpError) return failure
  const { status } = response
  return new McpError('HTTP', `${endpoint.url.origin} responded with status ${status}: ${failure.message}`, {
    details: { status, code: failure.code },
  })
}

const notResumable = 'a stream of the HTTP+SSE transport cannot be resumed, so connect again'

function ended(): McpError {
  return new McpError('CONNECTION_CLOSED', `The server closed its event stream; ${notResumable}`)
}

function broken(error: unknown): McpError {
  if (error instanceof McpError && error.code !== 'CONNECTION_CLOSED') return error
  const reason = messageOf(error)
  return new McpError('CONNECTION_CLOSED', `The event stream broke (${reason}); ${notResumable}`, {
    cause: error,
  })
}

/** @throws McpError 'PROTOCOL' for a URL on another origin, where this client's credentials must not be sent */
function resolveEndpoint(data: string, { url: responseUrl }: Response, endpoint: Endpoint): Endpoint {
  const base = responseUrl === '' ? endpoint.url : responseUrl
  const url = URL.canParse(data, base) ? new URL(data, base) : undefined
  const { origin } = endpoint.url
  if (url?.origin === origin && url.username === '' && url.password === '') return endpoint.at(url)
  throw new McpError('PROTOCOL', `The endpoint event of ${origin} names another origin: ${excerpt(data)}`)
}
