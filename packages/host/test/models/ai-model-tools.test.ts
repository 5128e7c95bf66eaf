import type { SamplingMessage } from '@jackfield/sdk'
import { describe, expect, test } from 'vitest'
import { claude, firstModel, gpt, greeting, local, request, weather } from './asked-models.ts'
import { anthropic, chat, google, openai, provider } from './provider.ts'

describe('tools', () => {
  test('are offered under names that every provider accepts, and mapped back', async () => {
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

  test('are called in a streamed reply too', async () => {
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
    ...greeting,
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

  test.each(['{"city":', '[1]', '"Oslo"'])(
    'are marked if their arguments are invalid: %s',
    async (written) => {
      const call = { id: 'a', type: 'function', function: { name: 'weather', arguments: written } }
      await using server = await provider(chat.completion({ tool_calls: [call] }, 'tool_calls'))
      const tools = [{ ...weather, name: 'weather' }]
      const reply = await local(server).generate(request({ tools }))
      expect(reply.content).toEqual([{ type: 'tool_use', id: 'a', name: 'weather', input: {} }])
      expect(reply.unreadable).toEqual({ a: expect.stringContaining(written.slice(1, 5)) })
    },
  )

  test('are marked in a streamed reply of Anthropic too', async () => {
    const written = '{"city": Oslo'
    const called = { tool: { id: 'a', name: 'weather', json: [written] } }
    const tools = [{ ...weather, name: 'weather' }]
    await using one = await provider(anthropic.stream([], called))
    const onText = (): void => {}
    expect(await claude(one).generate(request({ tools, onText }))).toMatchObject({
      content: [{ type: 'tool_use', id: 'a', name: 'weather', input: {} }],
      unreadable: { a: written },
    })
  })

  test('return results that Anthropic gets with their images', async () => {
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

  test('return failures that the model can distinguish from results', async () => {
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

  test('return results that OpenAI gets as function call outputs', async () => {
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

  test('return the reasoning before a call to Anthropic unchanged, and never show it', async () => {
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

test("return Gemini's call signature to it, and to no other provider", async () => {
  const part = {
    functionCall: { name: 'weather__get_forecast_v2', args: { city: 'Oslo' } },
    thoughtSignature: 'sig-g',
  }
  await using server = await provider(google.answer([part]), google.answer([{ text: 'Snow.' }]))
  const model = firstModel({
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
        ...greeting,
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
