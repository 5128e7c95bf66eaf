import type { ConfigEnvironment } from '../config/variables.ts'
import { fetchIn } from '../servers/network/fetch.ts'

/** Maximum bytes of one response; real ones are far smaller, even with pictures. */
const maxResponseBytes = 64_000_000

/**
 * The `fetch` for model providers, through the proxy that the environment sets. Responses have a size limit, and redirects are
 * not followed, because they would receive the provider's key.
 * @throws WebPage if a successful response is a web page; the body fails with `CutOff` if the connection ends too early
 */
export function providerFetch(env: ConfigEnvironment): typeof fetch {
  const send = fetchIn(env)
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const response = await send(url, { ...init, redirect: 'manual' })
    if (
      response.ok &&
      /^\s*(?:text\/html|application\/xhtml)/i.test(response.headers.get('content-type') ?? '')
    ) {
      await response.body?.cancel()
      throw new WebPageError('it is a web page')
    }
    return limitResponse(response, maxResponseBytes)
  }
}

/** A response whose body fails beyond the size limit. */
export function limitResponse(response: Response, maxBytes: number): Response {
  const { body, status, statusText, headers } = response
  if (body === null) return response
  let size = 0
  const reader = body.getReader()
  const limitedBody = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw isAbort(error) ? error : new ConnectionCutError('the connection ended', { cause: error })
      })
      if (done) return controller.close()
      size += value.byteLength
      if (size > maxBytes) {
        const tooLarge = new ResponseTooLargeError(`it has more than ${maxBytes} bytes`)
        await reader.cancel(tooLarge)
        throw tooLarge
      }
      controller.enqueue(value)
    },
    cancel: (reason) => reader.cancel(reason),
  })
  return new Response(limitedBody, { status, statusText, headers })
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')
}

/** The connection ended before the response was complete. */
export class ConnectionCutError extends Error {
  override readonly name: string = 'ConnectionCutError'
}

/** The response is a web page, such as the login page of a proxy. */
export class WebPageError extends Error {
  override readonly name: string = 'WebPageError'
}

/** A response exceeded the size limit. */
export class ResponseTooLargeError extends Error {
  override readonly name: string = 'ResponseTooLargeError'
}
