/** Bytes of one answer; what a provider says in one is far less, pictures in it too. */
const answerBytes = 64_000_000

/**
 * The `fetch` that providers of models are asked with. An answer is bounded, and no redirect is followed: the key of a
 * provider would be sent to whatever it leads to.
 */
export async function providerFetch(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(input, { ...init, redirect: 'manual' })
  return bounded(response, answerBytes)
}

/** A response whose body fails where it is larger. */
export function bounded(response: Response, maxBytes: number): Response {
  const { body, status, statusText, headers } = response
  if (body === null) return response
  let size = 0
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      size += chunk.byteLength
      if (size > maxBytes) throw new TooLarge(`it has more than ${maxBytes} bytes`)
      controller.enqueue(chunk)
    },
  })
  return new Response(body.pipeThrough(counted), { status, statusText, headers })
}

/** An answer was larger than any model's is. */
export class TooLarge extends Error {
  override readonly name: string = 'TooLarge'
}
