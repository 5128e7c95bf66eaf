import { isObject } from '../../setup/json.ts'
import { type Form, inJson } from './mutate.ts'

/** The responses of one provider: JSON, and event streams. */
interface Replies {
  readonly whole: readonly [string, ...string[]]
  readonly streamed: readonly string[]
}

/** A JSON text as its value, an event stream as its lines with the JSON in them. */
export const inEventsOrJson: Form = {
  read: (text) => {
    if (text.startsWith('{')) return inJson.read(text)
    return text
      .split('\n')
      .map((line) => (line.startsWith('data: {') ? { data: JSON.parse(line.slice(6)) } : line))
  },
  write: (value) => {
    if (!Array.isArray(value)) return inJson.write(value)
    const written: unknown[] = value
    return written
      .map((line) =>
        isObject(line) && 'data' in line ? `data: ${JSON.stringify(line['data'])}` : String(line),
      )
      .join('\n')
  },
}

/** An event stream; each event is called by its type, where it has one. */
function events(...all: readonly Readonly<Record<string, unknown>>[]): string {
  return all
    .map((data) => {
      const name = data['type'] === undefined ? '' : `event: ${String(data['type'])}\n`
      return `${name}data: ${JSON.stringify(data)}\n\n`
    })
    .join('')
}

const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-1',
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 11, output_tokens: 7, cache_read_input_tokens: 1, cache_creation_input_tokens: 0 },
}
const response = {
  id: 'resp_1',
  object: 'response',
  created_at: 1_800_000_000,
  status: 'completed',
  model: 'gpt-1',
  incomplete_details: null,
  usage: {
    input_tokens: 11,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 0 },
  },
}
const reply = {
  id: 'msg_1',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'Hi', annotations: [] }],
}
const thought = {
  id: 'rs_1',
  type: 'reasoning',
  encrypted_content: 'e',
  summary: [{ type: 'summary_text', text: 's' }],
}
const called = {
  id: 'fc_1',
  type: 'function_call',
  call_id: 'c',
  name: 'get_weather',
  arguments: '{"a":1}',
  status: 'completed',
}
const completion = { id: 'chat_1', object: 'chat.completion', created: 1_800_000_000, model: 'local' }
const chunk = { ...completion, object: 'chat.completion.chunk' }
const counted = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }
const toolCall = {
  index: 0,
  id: 'c',
  type: 'function',
  function: { name: 'get_weather', arguments: '{"a":1}' },
}
const candidate = {
  content: {
    role: 'model',
    parts: [
      { text: 'Hm', thought: true, thoughtSignature: 's' },
      { text: 'Hi' },
      { functionCall: { name: 'get_weather', args: { a: 1 }, id: 'c' } },
      { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
    ],
  },
  finishReason: 'STOP',
  index: 0,
  safetyRatings: [{ category: 'HARM_CATEGORY_HARASSMENT', probability: 'LOW' }],
}
const generated = {
  candidates: [candidate],
  usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 },
  modelVersion: 'gemini-1',
  responseId: 'r',
}

/** By provider, what it replies when all is well, and when it is not. The first is a whole answer of text. */
export const modelReplies: Readonly<Record<string, Replies>> = {
  anthropic: {
    whole: [
      JSON.stringify({ ...message, content: [{ type: 'text', text: 'Hi' }] }),
      JSON.stringify({
        ...message,
        stop_reason: 'tool_use',
        content: [
          { type: 'thinking', thinking: 'Hm', signature: 's' },
          { type: 'redacted_thinking', data: 'AAAA' },
          { type: 'tool_use', id: 'c', name: 'get_weather', input: { a: 1 } },
        ],
      }),
      '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    ],
    streamed: [
      events(
        { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 's' } },
        { type: 'content_block_stop', index: 0 },
        { type: 'ping' },
        { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Hi' } },
        { type: 'content_block_stop', index: 1 },
        {
          type: 'content_block_start',
          index: 2,
          content_block: { type: 'tool_use', id: 'c', name: 'get_weather', input: {} },
        },
        { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"a":' } },
        { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '1}' } },
        { type: 'content_block_stop', index: 2 },
        {
          type: 'message_delta',
          delta: { stop_reason: 'tool_use', stop_sequence: null },
          usage: { output_tokens: 7 },
        },
        { type: 'message_stop' },
      ),
      events({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
    ],
  },
  openai: {
    whole: [
      JSON.stringify({ ...response, output: [reply] }),
      JSON.stringify({ ...response, output: [thought, called] }),
      JSON.stringify({
        ...response,
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        output: [{ ...reply, content: [{ type: 'refusal', refusal: 'No' }] }],
      }),
      '{"error":{"message":"Incorrect API key provided: sk-secret-of-the-person","type":"invalid_request_error","param":null,"code":"c"}}',
    ],
    streamed: [
      events(
        { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
        { type: 'response.output_item.added', output_index: 0, item: { ...thought, summary: [] } },
        {
          type: 'response.reasoning_summary_text.delta',
          item_id: 'rs_1',
          output_index: 0,
          summary_index: 0,
          delta: 'Hm',
        },
        { type: 'response.output_item.done', output_index: 0, item: thought },
        { type: 'response.output_item.added', output_index: 1, item: { ...reply, content: [] } },
        {
          type: 'response.output_text.delta',
          item_id: 'msg_1',
          output_index: 1,
          content_index: 0,
          delta: 'Hi',
        },
        { type: 'response.output_item.done', output_index: 1, item: reply },
        { type: 'response.output_item.added', output_index: 2, item: { ...called, arguments: '' } },
        {
          type: 'response.function_call_arguments.delta',
          item_id: 'fc_1',
          output_index: 2,
          delta: '{"a":1}',
        },
        { type: 'response.output_item.done', output_index: 2, item: called },
        { type: 'response.completed', response: { ...response, output: [] } },
      ),
      events({ type: 'error', code: 'c', message: 'm', param: null, sequence_number: 1 }),
    ],
  },
  compatible: {
    whole: [
      JSON.stringify({
        ...completion,
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
        usage: counted,
      }),
      JSON.stringify({
        ...completion,
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: null, reasoning_content: 'Hm', tool_calls: [toolCall] },
            finish_reason: 'tool_calls',
          },
        ],
        usage: { ...counted, prompt_tokens_details: { cached_tokens: 1 } },
      }),
      '{"error":{"message":"m","type":"t","param":null,"code":"c"}}',
    ],
    streamed: [
      `${events(
        {
          ...chunk,
          choices: [{ index: 0, delta: { role: 'assistant', content: 'H' }, finish_reason: null }],
        },
        { ...chunk, choices: [{ index: 0, delta: { reasoning_content: 'm', content: 'i' } }] },
        { ...chunk, choices: [{ index: 0, delta: { tool_calls: [toolCall] }, finish_reason: null }] },
        {
          ...chunk,
          choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: '' } }] } }],
        },
        { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: counted },
      )}data: [DONE]\n\n`,
    ],
  },
  google: {
    whole: [
      JSON.stringify({
        ...generated,
        candidates: [{ ...candidate, content: { role: 'model', parts: [{ text: 'Hi' }] } }],
      }),
      JSON.stringify(generated),
      JSON.stringify({
        promptFeedback: { blockReason: 'SAFETY' },
        usageMetadata: { promptTokenCount: 1 },
        modelVersion: 'm',
      }),
      '{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}',
    ],
    streamed: [
      events(
        { ...generated, candidates: [{ content: { role: 'model', parts: [{ text: 'H' }] }, index: 0 }] },
        generated,
      ),
    ],
  },
}
