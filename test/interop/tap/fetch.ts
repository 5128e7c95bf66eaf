import type { Tap } from './tap.ts'

type Fetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>

/** A `fetch` that shows a tap every JSON-RPC message of both sides, and changes nothing. */
export function tappedFetch(tap: Tap): Fetch {
  return async (url, init) => {
    if (typeof init?.body === 'string') tap.text('client', init.body)
    if (new Headers(init?.headers).has('last-event-id')) tap.resumed++
    const response = await fetch(url, init)
    const { body } = response
    const type = response.headers.get('content-type') ?? ''
    const show = type.includes('text/event-stream')
      ? events(tap)
      : type.includes('json')
        ? whole(tap)
        : undefined
    if (body === null || show === undefined) return response
    const shown = new Response(body.pipeThrough(show), response)
    Object.defineProperty(shown, 'url', { value: response.url })
    return shown
  }
}

function whole(tap: Tap): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder()
  let text = ''
  return new TransformStream({
    transform(chunk, controller) {
      text += decoder.decode(chunk, { stream: true })
      controller.enqueue(chunk)
    },
    flush: () => tap.text('server', text),
  })
}

function events(tap: Tap): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder()
  let text = ''
  return new TransformStream({
    transform(chunk, controller) {
      text += decoder.decode(chunk, { stream: true })
      const blocks = text.split(/\r?\n\r?\n/)
      text = blocks.pop() ?? ''
      for (const block of blocks) tapEvent(tap, block)
      controller.enqueue(chunk)
    },
  })
}

function tapEvent(tap: Tap, block: string): void {
  const lines = block.split(/\r?\n/)
  const name =
    lines
      .find((line) => line.startsWith('event:'))
      ?.slice(6)
      .trim() ?? 'message'
  const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trimStart())
  if (name === 'message') tap.text('server', data.join('\n'))
}
