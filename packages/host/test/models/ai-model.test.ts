import type { SamplingMessage } from '@jackfield/sdk'
import { describe, expect, test } from 'vitest'
import { ModelError, modelsFromEnvironment } from '../../src/models/index.ts'
import type { Model, ModelRequest } from '../../src/types/index.ts'
import { anthropic, chat, openai, type Provider, provider } from './provider.ts'

const hello: SamplingMessage[] = [{ role: 'user', content: { type: 'text', text: 'Hello' } }]
const weather = {
  name: 'weather__get.forecast/v2',
  description: 'Forecast for a city',
  inputSchema: { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] },
}

function claude(server: Provider): Model {
  return first({
    ANTHROPIC_API_KEY: 'key-a',
    ANTHROPIC_BASE_URL: server.url,
    JACKFIELD_MODEL: 'anthropic/claude-haiku-4-5',
  })
}

function gpt(server: Provider): Model {
  return first({
    OPENAI_API_KEY: 'key-o',
    OPENAI_BASE_URL: `${server.url}/v1`,
    JACKFIELD_MODEL: 'openai/gpt-test-1',
  })
}

function local(server: Provider): Model {
  return first({ OPENAI_COMPATIBLE_BASE_URL: `${server.url}/v1`, OPENAI_COMPATIBLE_MODEL: 'local-test-1' })
}

function first(env: Record<string, string>): Model {
  const [model] = modelsFromEnvironment(env)
  if (model === undefined) throw new Error('no model')
  return model
}

function request(more: Partial<ModelRequest> = {}): ModelRequest {
  return { messages: hello, maxTokens: 100, ...more }
}

describe('a text answer', () => {
  test('comes from Anthropic with its model, usage and stop reason', async () => {
    await using server = await provider(anthropic.message([{ type: 'text', text: 'Hi.' }]))
    const reply = await claude(server).generate(
      request({ system: 'Be short.', temperature: 0.5, stopSequences: ['END'] }),
    )
    expect(reply).toEqual({
      content: [{ type: 'text', text: 'Hi.' }],
      stopReason: 'endTurn',
      model: 'claude-test-1',
      usage: { inputTokens: 11, outputTokens: 7 },
    })
    expect(server.received[0]).toMatchObject({
      path: '/v1/messages',
      headers: { 'x-api-key': 'key-a' },
      body: {
        model: 'claude-haiku-4-5',
        max_tokens: 100,
        temperature: 0.5,
        stop_sequences: ['END'],
        messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
      },
    })
    expect(JSON.stringify(server.received[0]?.body.system)).toContain('Be short.')
  })

  test('comes from OpenAI, which is told not to store the conversation', async () => {
    await using server = await provider(openai.response([openai.text('Hi.')]))
    const reply = await gpt(server).generate(request({ system: 'Be short.' }))
    expect(reply).toMatchObject({
      content: [{ type: 'text', text: 'Hi.' }],
      stopReason: 'endTurn',
      model: 'gpt-test-1',
    })
    expect(server.received[0]).toMatchObject({
      path: '/v1/responses',
      headers: { authorization: 'Bearer key-o' },
      body: { model: 'gpt-test-1', max_output_tokens: 100, store: false },
    })
  })

  test('comes from a compatible server without a key', async () => {
    await using server = await provider(chat.completion({ content: 'Hi.' }))
    const reply = await local(server).generate(request())
    expect(reply).toMatchObject({ content: [{ type: 'text', text: 'Hi.' }], stopReason: 'endTurn' })
    expect(server.received[0]).toMatchObject({ path: '/v1/chat/completions', body: { max_tokens: 100 } })
    expect(server.received[0]?.headers.authorization).toBeUndefined()
  })

  test.each([
    ['Anthropic', claude, anthropic.stream(['He', 'llo', '!'])],
    ['OpenAI', gpt, openai.stream(['He', 'llo', '!'])],
    ['a compatible server', local, chat.stream(['He', 'llo', '!'])],
  ] as const)('streams from %s piece by piece and arrives whole', async (_, model, answer) => {
    await using server = await provider(answer)
    const heard: string[] = []
    const reply = await model(server).generate(request({ onText: (delta) => heard.push(delta) }))
    expect(heard).toEqual(['He', 'llo', '!'])
    expect(reply).toMatchObject({
      content: [{ type: 'text', text: 'Hello!' }],
      stopReason: 'endTurn',
      usage: { inputTokens: 11, outputTokens: 7 },
    })
    expect(server.received[0]?.body.stream).toBe(true)
  })
})

describe('stop reasons', () => {
  test.each([
    ['end_turn', 'endTurn'],
    ['stop_sequence', 'stopSequence'],
    ['max_tokens', 'maxTokens'],
  ])('Anthropic %s is %s', async (theirs, ours) => {
    await using server = await provider(anthropic.message([{ type: 'text', text: 'x' }], theirs))
    expect((await claude(server).generate(request())).stopReason).toBe(ours)
  })

  test('OpenAI running out of tokens is maxTokens', async () => {
    await using server = await provider(
      openai.response([openai.text('x')], {
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
      }),
    )
    expect((await gpt(server).generate(request())).stopReason).toBe('maxTokens')
  })

  test('text from a server that ignores the token limit is cut to it', async () => {
    await using server = await provider(chat.completion({ content: 'x'.repeat(1000) }, 'stop', 200))
    const reply = await local(server).generate(request({ maxTokens: 50 }))
    expect(reply.content).toEqual([{ type: 'text', text: 'x'.repeat(250) }])
    expect(reply.stopReason).toBe('maxTokens')
  })
})

describe('tools', () => {
  test('are offered under names every provider accepts, and called back under their own', async () => {
    await using server = await provider(
      anthropic.message(
        [
          { type: 'text', text: 'Looking.' },
          { type: 'tool_use', id: 'tu_1', name: 'weather__get_forecast_v2', input: { city: 'Barcelona' } },
        ],
        'tool_use',
      ),
    )
    const reply = await claude(server).generate(request({ tools: [weather], toolChoice: 'required' }))
    expect(server.received[0]?.body).toMatchObject({
      tools: [
        {
          name: 'weather__get_forecast_v2',
          description: 'Forecast for a city',
          input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      ],
      tool_choice: { type: 'any' },
    })
    expect(reply).toMatchObject({
      content: [
        { type: 'text', text: 'Looking.' },
        { type: 'tool_use', id: 'tu_1', name: 'weather__get.forecast/v2', input: { city: 'Barcelona' } },
      ],
      stopReason: 'toolUse',
    })
  })

  test('are called in a streamed answer too', async () => {
    await using server = await provider(
      anthropic.stream(['Looking.'], {
        tool: { id: 'tu_1', name: 'weather__get_forecast_v2', json: ['{"city":', '"Oslo"}'] },
      }),
    )
    const reply = await claude(server).generate(request({ tools: [weather], onText: () => {} }))
    expect(reply).toMatchObject({
      content: [
        { type: 'text' },
        { type: 'tool_use', name: 'weather__get.forecast/v2', input: { city: 'Oslo' } },
      ],
      stopReason: 'toolUse',
    })
  })

  const exchange: SamplingMessage[] = [
    ...hello,
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'tu_1', name: 'weather__get.forecast/v2', input: { city: 'Oslo' } }],
    },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          toolUseId: 'tu_1',
          content: [
            { type: 'text', text: 'Snow.' },
            { type: 'image', data: 'AAAA', mimeType: 'image/png' },
          ],
        },
      ],
    },
  ]

  test('give results that Anthropic gets with their images', async () => {
    await using server = await provider(anthropic.message([{ type: 'text', text: 'ok' }]))
    await claude(server).generate(request({ messages: exchange, tools: [weather] }))
    expect(server.received[0]?.body.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'tu_1', name: 'weather__get_forecast_v2' }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'tu_1',
            content: [
              { type: 'text', text: 'Snow.' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
            ],
          },
        ],
      },
    ])
  })

  test('give failures that the model can tell from results', async () => {
    await using server = await provider(anthropic.message([{ type: 'text', text: 'ok' }]))
    const failed = structuredClone(exchange)
    failed[2] = {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          toolUseId: 'tu_1',
          content: [{ type: 'text', text: 'No such city.' }],
          isError: true,
        },
      ],
    }
    await claude(server).generate(request({ messages: failed, tools: [weather] }))
    expect(server.received[0]?.body.messages).toMatchObject([
      {},
      {},
      { content: [{ type: 'tool_result', is_error: true, content: 'No such city.' }] },
    ])
  })

  test('give results that OpenAI gets as function call outputs', async () => {
    await using server = await provider(openai.response([openai.text('ok')]))
    await gpt(server).generate(request({ messages: exchange, tools: [weather] }))
    expect(server.received[0]?.body.input).toMatchObject([
      { role: 'user' },
      {
        type: 'function_call',
        call_id: 'tu_1',
        name: 'weather__get_forecast_v2',
        arguments: '{"city":"Oslo"}',
      },
      { type: 'function_call_output', call_id: 'tu_1' },
    ])
  })

  test('carry the thinking before a call back to Anthropic unchanged, and never into the answer', async () => {
    await using server = await provider(
      anthropic.message(
        [
          { type: 'thinking', thinking: 'Which city?', signature: 'sig-1' },
          { type: 'tool_use', id: 'tu_1', name: 'weather__get_forecast_v2', input: { city: 'Oslo' } },
        ],
        'tool_use',
      ),
      anthropic.message([{ type: 'text', text: 'ok' }]),
    )
    const model = claude(server)
    const reply = await model.generate(request({ tools: [weather] }))
    expect(JSON.stringify(reply)).not.toContain('Which city?')
    await model.generate(request({ messages: exchange, tools: [weather] }))
    expect(server.received[1]?.body.messages).toMatchObject([
      {},
      {
        content: [
          { type: 'thinking', thinking: 'Which city?', signature: 'sig-1' },
          { type: 'tool_use', id: 'tu_1' },
        ],
      },
      {},
    ])
  })
})

test('what Gemini marks a call with goes back to it, and to nobody else', async () => {
  const part = {
    functionCall: { name: 'weather__get_forecast_v2', args: { city: 'Oslo' } },
    thoughtSignature: 'sig-g',
  }
  const answer = (parts: unknown[]) => ({
    json: {
      candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 },
      modelVersion: 'gemini-test-1',
    },
  })
  await using server = await provider(answer([part]), answer([{ text: 'Snow.' }]))
  const model = first({
    GEMINI_API_KEY: 'key-g',
    GOOGLE_GENERATIVE_AI_BASE_URL: `${server.url}/v1beta`,
    JACKFIELD_MODEL: 'google/gemini-3-flash',
  })
  const reply = await model.generate(request({ tools: [weather] }))
  expect(JSON.stringify(reply)).not.toContain('sig-g')
  const [use] = Array.isArray(reply.content) ? reply.content : [reply.content]
  if (use?.type !== 'tool_use') throw new Error('no tool use')
  expect(use).toMatchObject({ name: 'weather__get.forecast/v2', input: { city: 'Oslo' } })
  await model.generate(
    request({
      tools: [weather],
      messages: [
        ...hello,
        { role: 'assistant', content: reply.content },
        {
          role: 'user',
          content: [{ type: 'tool_result', toolUseId: use.id, content: [{ type: 'text', text: 'Snow' }] }],
        },
      ],
    }),
  )
  expect(server.received[0]).toMatchObject({
    path: '/v1beta/models/gemini-3-flash:generateContent',
    headers: { 'x-goog-api-key': 'key-g' },
    body: { generationConfig: { maxOutputTokens: 100 } },
  })
  expect(JSON.stringify(server.received[1]?.body.contents)).toContain('"thoughtSignature":"sig-g"')
})

test('an image in a message reaches the provider as an image', async () => {
  await using server = await provider(anthropic.message([{ type: 'text', text: 'A dot.' }]))
  await claude(server).generate(
    request({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image', data: 'AAAA', mimeType: 'image/png' },
          ],
        },
      ],
    }),
  )
  expect(server.received[0]?.body.messages).toMatchObject([
    {
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
      ],
    },
  ])
})

test('aborting ends the request at the provider and rejects with the reason', async () => {
  await using server = await provider(anthropic.stream(['He'], { hang: true }))
  const stop = new AbortController()
  const reason = new Error('the person pressed Ctrl+C')
  const answer = claude(server).generate(request({ signal: stop.signal, onText: () => stop.abort(reason) }))
  await expect(answer).rejects.toBe(reason)
  await server.abandoned
})

describe('failures say what happened and what to do', () => {
  test.each([
    [
      401,
      'authentication_error',
      'invalid x-api-key',
      'key',
      /refused the API key \(HTTP 401\).*invalid x-api-key/,
    ],
    [
      404,
      'not_found_error',
      'model: claude-test-1',
      'unknown-model',
      /not known to its provider.*JACKFIELD_MODEL/,
    ],
    [
      400,
      'invalid_request_error',
      'prompt is too long',
      'request',
      /rejected the request \(HTTP 400\).*too long/,
    ],
  ] as const)('HTTP %i', async (status, type, message, kind, words) => {
    await using server = await provider(anthropic.error(status, type, message))
    const failure = await claude(server)
      .generate(request())
      .catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(ModelError)
    expect(failure).toMatchObject({
      kind,
      message: expect.stringMatching(words),
      model: 'anthropic/claude-haiku-4-5',
    })
    expect(String(failure)).not.toContain('key-a')
  })

  test('a provider that is briefly out of order is asked again', async () => {
    await using server = await provider(
      anthropic.error(529, 'overloaded_error', 'Overloaded', { 'retry-after-ms': '1' }),
      anthropic.message([{ type: 'text', text: 'Hi.' }]),
    )
    expect(await claude(server).generate(request())).toMatchObject({ stopReason: 'endTurn' })
    expect(server.received).toHaveLength(2)
  })

  test('a provider that stays out of order is named', async () => {
    await using server = await provider(
      anthropic.error(529, 'overloaded_error', 'Overloaded', { 'retry-after-ms': '1' }),
    )
    await expect(claude(server).generate(request())).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/out of order.*529.*Overloaded/),
    })
  })

  test('a stream that breaks off is no answer', async () => {
    const whole = anthropic.stream(['He', 'llo'])
    const answer = 'events' in whole ? { events: whole.events.slice(0, 3) } : whole
    await using server = await provider(answer)
    await expect(claude(server).generate(request({ onText: () => {} }))).rejects.toBeInstanceOf(ModelError)
  })

  test('nobody listening at the address is said', async () => {
    const server = await provider()
    await server[Symbol.asyncDispose]()
    const model = first({ OPENAI_COMPATIBLE_BASE_URL: server.url, OPENAI_COMPATIBLE_MODEL: 'x' })
    await expect(model.generate(request())).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/cannot be reached.*ECONNREFUSED/),
    })
  }, 20_000)
})
