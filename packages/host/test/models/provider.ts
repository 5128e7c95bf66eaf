import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One request as it arrived. */
export interface Received {
  path: string
  headers: IncomingMessage['headers']
  body: Record<string, unknown>
}

/** What the provider answers: JSON, or server-sent events written one after another. With a `path`, for that path only. */
export type Answer = { path?: string } & (
  | { status?: number; headers?: Record<string, string>; json: unknown }
  | { events: { event?: string; data: unknown }[]; betweenMs?: number; hang?: true; cut?: true }
  | { body: string; type: string }
)

export interface Provider extends AsyncDisposable {
  url: string
  received: Received[]
  /** Resolves when a client closed the connection during a response. */
  abandoned: Promise<void>
}

/** A provider of models on 127.0.0.1 that gives the answers in turn. */
export async function provider(...answers: Answer[]): Promise<Provider> {
  const received: Received[] = []
  const abandoned = Promise.withResolvers<void>()
  const server = createServer(async (req, res) => {
    let text = ''
    for await (const chunk of req) text += chunk
    received.push({ path: req.url ?? '', headers: req.headers, body: text === '' ? {} : JSON.parse(text) })
    const own = answers.filter(({ path }) => path === req.url)
    const here = own.length > 0 ? own : answers.filter(({ path }) => path === undefined)
    const isHere = (path: string): boolean =>
      own.length > 0 ? path === req.url : !answers.some((one) => one.path === path)
    const count = received.filter(({ path }) => isHere(path)).length
    const answer = here[Math.min(count, here.length) - 1]
    if (answer === undefined) return res.writeHead(500).end()
    if ('json' in answer) {
      res.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers })
      return res.end(JSON.stringify(answer.json))
    }
    if ('body' in answer) {
      res.writeHead(200, { 'content-type': answer.type })
      return res.end(answer.body)
    }
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.on('close', () => {
      if (!res.writableEnded) abandoned.resolve()
    })
    for (const { event, data } of answer.events) {
      res.write(
        `${event === undefined ? '' : `event: ${event}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`,
      )
    }
    // What was written has left this process before the connection is destroyed.
    if (answer.cut === true) return setImmediate(() => res.destroy())
    if (answer.hang !== true) res.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    abandoned: abandoned.promise,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Anthropic's Messages API. */
export const anthropic = {
  message(content: unknown[], stop = 'end_turn', extra: Record<string, unknown> = {}): Answer {
    return {
      json: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude-test-1',
        content,
        stop_reason: stop,
        stop_sequence: null,
        usage: { input_tokens: 11, output_tokens: 7 },
        ...extra,
      },
    }
  },
  stream(
    deltas: string[],
    options: { tool?: { id: string; name: string; json: string[] }; stop?: string; hang?: true } = {},
  ): Answer {
    const { tool, stop = tool === undefined ? 'end_turn' : 'tool_use' } = options
    const toolEvents =
      tool === undefined
        ? []
        : [
            {
              event: 'content_block_start',
              data: {
                type: 'content_block_start',
                index: 1,
                content_block: { type: 'tool_use', id: tool.id, name: tool.name, input: {} },
              },
            },
            ...tool.json.map((partial_json) => ({
              event: 'content_block_delta',
              data: {
                type: 'content_block_delta',
                index: 1,
                delta: { type: 'input_json_delta', partial_json },
              },
            })),
            { event: 'content_block_stop', data: { type: 'content_block_stop', index: 1 } },
          ]
    const events = [
      {
        event: 'message_start',
        data: {
          type: 'message_start',
          message: {
            id: 'msg_1',
            type: 'message',
            role: 'assistant',
            model: 'claude-test-1',
            content: [],
            stop_reason: null,
            stop_sequence: null,
            usage: { input_tokens: 11, output_tokens: 1 },
          },
        },
      },
      {
        event: 'content_block_start',
        data: { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      },
      ...deltas.map((text) => ({
        event: 'content_block_delta',
        data: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
      })),
    ]
    if (options.hang) return { events, hang: true }
    return {
      events: [
        ...events,
        { event: 'content_block_stop', data: { type: 'content_block_stop', index: 0 } },
        ...toolEvents,
        {
          event: 'message_delta',
          data: {
            type: 'message_delta',
            delta: { stop_reason: stop, stop_sequence: null },
            usage: { output_tokens: 7 },
          },
        },
        { event: 'message_stop', data: { type: 'message_stop' } },
      ],
    }
  },
  error(status: number, type: string, message: string, headers: Record<string, string> = {}): Answer {
    return { status, headers, json: { type: 'error', error: { type, message } } }
  },
}

/** OpenAI's Responses API. */
export const openai = {
  response(output: unknown[], extra: Record<string, unknown> = {}): Answer {
    return {
      json: {
        id: 'resp_1',
        object: 'response',
        created_at: 1_800_000_000,
        status: 'completed',
        model: 'gpt-test-1',
        output,
        incomplete_details: null,
        usage: {
          input_tokens: 11,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens: 7,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 18,
        },
        ...extra,
      },
    }
  },
  text(text: string): unknown {
    return {
      id: 'msg_1',
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text, annotations: [] }],
    }
  },
  stream(deltas: string[]): Answer {
    const base = { id: 'resp_1', object: 'response', created_at: 1_800_000_000, model: 'gpt-test-1' }
    const item = { id: 'msg_1', type: 'message', role: 'assistant' }
    const events: Record<string, unknown>[] = [
      { type: 'response.created', response: { ...base, status: 'in_progress', output: [] } },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...item, status: 'in_progress', content: [] },
      },
      ...deltas.map((delta) => ({
        type: 'response.output_text.delta',
        item_id: 'msg_1',
        output_index: 0,
        content_index: 0,
        delta,
      })),
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: {
          ...item,
          status: 'completed',
          content: [{ type: 'output_text', text: deltas.join(''), annotations: [] }],
        },
      },
      {
        type: 'response.completed',
        response: {
          ...base,
          status: 'completed',
          output: [],
          incomplete_details: null,
          usage: {
            input_tokens: 11,
            input_tokens_details: { cached_tokens: 0 },
            output_tokens: 7,
            output_tokens_details: { reasoning_tokens: 0 },
            total_tokens: 18,
          },
        },
      },
    ]
    return {
      events: events.map((data, n) => ({ event: String(data.type), data: { ...data, sequence_number: n } })),
    }
  },
}

/** Google's Gemini API. */
export const google = {
  answer(parts: unknown[]): Answer {
    return {
      json: {
        candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
        usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 },
        modelVersion: 'gemini-test-1',
      },
    }
  },
}

/** Ollama's own API. */
export const ollama = {
  show(capabilities: string[]): Answer {
    return { path: '/api/show', json: { details: { family: 'test' }, capabilities } }
  },
}

/** The Chat Completions API of compatible servers. */
export const chat = {
  completion(message: Record<string, unknown>, finish = 'stop', outputTokens = 7): Answer {
    return {
      json: {
        id: 'chat_1',
        object: 'chat.completion',
        created: 1_800_000_000,
        model: 'local-test-1',
        choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
        usage: { prompt_tokens: 11, completion_tokens: outputTokens, total_tokens: 11 + outputTokens },
      },
    }
  },
  stream(deltas: string[]): Answer {
    const chunk = (delta: unknown, finish: string | null, usage?: unknown): { data: unknown } => ({
      data: {
        id: 'chat_1',
        object: 'chat.completion.chunk',
        created: 1_800_000_000,
        model: 'local-test-1',
        choices: [{ index: 0, delta, finish_reason: finish }],
        ...(usage !== undefined && { usage }),
      },
    })
    return {
      events: [
        ...deltas.map((content) => chunk({ role: 'assistant', content }, null)),
        chunk({}, 'stop', { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }),
        { data: '[DONE]' },
      ],
    }
  },
}
