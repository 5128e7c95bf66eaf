/** One message a server sent, and the method of the request it answers. */
export interface Tapped {
  message: Record<string, unknown>
  answers: string | undefined
}

/** A `fetch` that keeps a copy of every JSON-RPC message a server sends over it. */
export class Wiretap {
  readonly heard: Tapped[] = []
  readonly #methods = new Map<unknown, string>()

  readonly fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    if (typeof init?.body === 'string') {
      const sent = JSON.parse(init.body)
      if (typeof sent.method === 'string') this.#methods.set(sent.id, sent.method)
    }
    const response = await fetch(url, init)
    const { body } = response
    if (body === null) return response
    const [shown, kept] = body.tee()
    void this.#keep(kept, response.headers.get('content-type') ?? '')
    return new Response(shown, response)
  }

  async #keep(body: ReadableStream<Uint8Array>, type: string): Promise<void> {
    const decoder = new TextDecoder()
    let text = ''
    try {
      for await (const chunk of body) {
        text += decoder.decode(chunk, { stream: true })
        if (type.includes('text/event-stream')) text = this.#events(text)
      }
    } catch {
      // The client let go of the stream.
    }
    if (type.includes('application/json')) this.#keepMessage(text)
  }

  /** Keeps every whole event and gives back what is left. */
  #events(text: string): string {
    const events = text.split('\n\n')
    const rest = events.pop() ?? ''
    for (const event of events) {
      const data = event
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).trimStart())
        .join('\n')
      if (data !== '') this.#keepMessage(data)
    }
    return rest
  }

  #keepMessage(text: string): void {
    if (text === '') return
    const message = JSON.parse(text)
    const answers = 'method' in message ? undefined : this.#methods.get(message.id)
    this.heard.push({ message, answers })
  }
}
