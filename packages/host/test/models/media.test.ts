import type { ContentBlock, SamplingMessage } from '@jackfield/sdk'
import { describe, expect, test } from 'vitest'
import { toMessages } from '../../src/resources/contents.ts'
import type { Model } from '../../src/types/index.ts'
import { claude, firstModel, gpt, greeting, local, request, weather } from './asked-models.ts'
import { type Answer, anthropic, chat, google, ollama, openai, type Provider, provider } from './provider.ts'

const png = Buffer.alloc(120_000, 7).toString('base64')
const wav = Buffer.alloc(40_000, 8).toString('base64')
const pdf = Buffer.alloc(60_000, 9).toString('base64')
/** A part of each, to find the bytes wherever they are in a request. */
const bytes = [png, wav, pdf].map((data) => data.slice(100, 140))

const result: ContentBlock[] = [
  { type: 'text', text: 'Three things.' },
  { type: 'image', data: png, mimeType: 'image/png' },
  { type: 'audio', data: wav, mimeType: 'audio/wav' },
  { type: 'resource', resource: { uri: 'file:///a.pdf', mimeType: 'application/pdf', blob: pdf } },
]

function withResult(content: ContentBlock[] = result, isError = false): SamplingMessage[] {
  return [
    ...greeting,
    {
      role: 'assistant',
      content: [
        { type: 'tool_use', id: 'tu_1', name: weather.name, input: {} },
        { type: 'tool_use', id: 'tu_2', name: weather.name, input: {} },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', toolUseId: 'tu_1', content, isError }] },
    {
      role: 'user',
      content: [{ type: 'tool_result', toolUseId: 'tu_2', content: [{ type: 'text', text: 'Second.' }] }],
    },
  ]
}

const messages: SamplingMessage[] = [
  {
    role: 'user',
    content: [
      { type: 'text', text: 'What is this?' },
      { type: 'image', data: png, mimeType: 'image/png' },
      { type: 'audio', data: wav, mimeType: 'audio/wav' },
    ],
  },
]

const gemini = (server: Provider, model = 'gemini-3-flash'): Model =>
  firstModel({
    GEMINI_API_KEY: 'key-g',
    GOOGLE_GENERATIVE_AI_BASE_URL: `${server.url}/v1beta`,
    JACKFIELD_MODEL: `google/${model}`,
  })

const llama = (server: Provider): Model => firstModel({ OLLAMA_HOST: server.url, OLLAMA_MODEL: 'm' })

const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } }
const refusal: Answer = { status: 400, json: { error: { message: 'image input is not supported' } } }

/** Every string of a value, with the key it is under. */
function strings(value: unknown, key = ''): { key: string; text: string }[] {
  if (typeof value === 'string') return [{ key, text: value }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => strings(inner, name))
}

/** What a model reads as text. */
function textsOf(body: unknown): string {
  const texts = strings(body).filter(({ key, text }) => ['text', 'content', 'output'].includes(key) && text)
  return texts.map(({ text }) => text).join('\n')
}

function expectNoBytesAsText(body: unknown): void {
  for (const part of bytes) expect(textsOf(body)).not.toContain(part)
}

describe('a PDF attached to a message', () => {
  const contents = [{ uri: 'file:///a.pdf', mimeType: 'application/pdf', blob: pdf }]
  const attached = [...toMessages(contents), ...greeting]

  test('reaches Anthropic, OpenAI and Google as a document, named by its resource', async () => {
    await using one = await provider(anthropic.message([{ type: 'text', text: 'ok' }]))
    await claude(one).generate(request({ messages: attached }))
    await using two = await provider(openai.response([openai.text('ok')]))
    await gpt(two).generate(request({ messages: attached }))
    await using three = await provider(google.answer([{ text: 'ok' }]))
    await gemini(three).generate(request({ messages: attached }))
    const bodies = [one, two, three].map((server) => server.received[0]?.body)
    const sent = (body: unknown): string => JSON.stringify(body)
    expect(sent(bodies[0])).toContain(
      `"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"${pdf.slice(0, 40)}`,
    )
    expect(sent(bodies[1])).toContain(`"file_data":"data:application/pdf;base64,${pdf.slice(0, 40)}`)
    expect(sent(bodies[2])).toContain('"mimeType":"application/pdf"')
    for (const body of bodies) {
      expect(sent(body)).toContain('[resource file:///a.pdf]')
      expectNoBytesAsText(body)
    }
  })

  test('is replaced by a note if a model accepts no documents', async () => {
    await using server = await provider(ollama.show(['completion']), chat.completion({ content: 'ok' }))
    await llama(server).generate(request({ messages: attached }))
    const body = server.received.at(-1)?.body
    expect(textsOf(body)).toContain(
      '[a file of 60 kB (application/pdf) was left out: this model accepts text only]',
    )
    expectNoBytesAsText(body)
  })
})

describe('a tool result with an image, audio and a document', () => {
  test('reaches Anthropic with the image and the document; a note replaces the audio', async () => {
    await using server = await provider(anthropic.message([{ type: 'text', text: 'ok' }]))
    await claude(server).generate(request({ messages: withResult(), tools: [weather] }))
    const { body } = server.received[0] ?? {}
    expect(body?.messages).toMatchObject([
      {},
      {},
      {
        content: [
          {
            type: 'tool_result',
            content: [
              { type: 'text', text: 'Three things.' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
              {
                type: 'text',
                text: '[audio of 40 kB (audio/wav) was left out: this model does not accept audio]',
              },
              { type: 'document', source: { media_type: 'application/pdf', data: pdf } },
            ],
          },
          { type: 'tool_result' },
        ],
      },
    ])
    expectNoBytesAsText(body)
  })

  test('reaches OpenAI with the image and the document; a note replaces the audio', async () => {
    await using server = await provider(openai.response([openai.text('ok')]))
    await gpt(server).generate(request({ messages: withResult(), tools: [weather] }))
    const { body } = server.received[0] ?? {}
    expect(body?.input).toMatchObject([
      {},
      {},
      {},
      {
        type: 'function_call_output',
        output: [
          { type: 'input_text', text: 'Three things.' },
          { type: 'input_image', image_url: `data:image/png;base64,${png}` },
          { type: 'input_text', text: expect.stringContaining('audio of 40 kB (audio/wav) was left out') },
          { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` },
        ],
      },
      { type: 'function_call_output', output: 'Second.' },
    ])
    expectNoBytesAsText(body)
  })

  test.each(['gemini-3-flash', 'gemini-2.5-flash'])('reaches Google completely: %s', async (model) => {
    await using server = await provider(google.answer([{ text: 'ok' }]))
    await gemini(server, model).generate(request({ messages: withResult(), tools: [weather] }))
    const { body } = server.received[0] ?? {}
    for (const [mimeType, data] of [
      ['image/png', png],
      ['audio/wav', wav],
      ['application/pdf', pdf],
    ]) {
      expect(JSON.stringify(body?.contents)).toContain(JSON.stringify({ inlineData: { mimeType, data } }))
    }
    // One response for each call, whatever the results contain.
    expect(JSON.stringify(body?.contents).match(/"functionResponse":/g)).toHaveLength(2)
    expectNoBytesAsText(body)
  })

  test('reaches a compatible server in a user message after all results of the turn', async () => {
    await using server = await provider(chat.completion({ content: 'ok' }))
    await local(server).generate(request({ messages: withResult(), tools: [weather] }))
    const { body } = server.received[0] ?? {}
    expect(body?.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant' },
      { role: 'tool', tool_call_id: 'tu_1', content: expect.stringContaining('Three things.') },
      { role: 'tool', tool_call_id: 'tu_2', content: 'Second.' },
      {
        role: 'user',
        content: [
          { type: 'text' },
          image,
          { type: 'text' },
          { type: 'input_audio', input_audio: { data: wav, format: 'wav' } },
          { type: 'text' },
          { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` } },
        ],
      },
    ])
    expectNoBytesAsText(body)
  })

  test('that failed keeps its image, and the failure is marked for the model', async () => {
    await using server = await provider(anthropic.message([{ type: 'text', text: 'ok' }]))
    const messages = withResult(
      [result[0], result[1]].filter((block) => block !== undefined),
      true,
    )
    await claude(server).generate(request({ messages, tools: [weather] }))
    const sent = JSON.stringify(server.received[0]?.body.messages)
    expect(sent).toContain('"is_error":true')
    expect(sent).toContain(`"data":"${png}"`)
    expectNoBytesAsText(server.received[0]?.body)
  })

  test('of an image alone has a text too, and text in bytes is decoded', async () => {
    await using server = await provider(chat.completion({ content: 'ok' }))
    const csv = Buffer.from('city,snow\nOslo,yes').toString('base64')
    const messages = withResult([
      { type: 'image', data: png, mimeType: 'image/jpg' },
      {
        type: 'resource',
        resource: { uri: 'file:///a.csv', mimeType: 'text/csv; charset=utf-8', blob: csv },
      },
      { type: 'resource', resource: { uri: 'file:///a.bin', blob: png } },
    ])
    await local(server).generate(request({ messages, tools: [weather] }))
    const sent = JSON.stringify(server.received[0]?.body.messages)
    expect(sent).toContain('data:image/jpeg;base64,')
    expect(sent).toContain('city,snow\\nOslo,yes')
    expect(sent).toContain('a file of 120 kB (application/octet-stream) was left out')
    expectNoBytesAsText(server.received[0]?.body)
  })
})

describe('an image and audio sent by the user', () => {
  test.each([
    ['Anthropic', claude, anthropic.message([{ type: 'text', text: 'ok' }]), false],
    ['OpenAI', gpt, openai.response([openai.text('ok')]), false],
    ['Google', gemini, google.answer([{ text: 'ok' }]), true],
    ['a compatible server', local, chat.completion({ content: 'ok' }), true],
  ] as const)('reach %s, or a note names what was left out', async (_, model, answer, acceptsAudio) => {
    await using server = await provider(answer)
    await model(server).generate(request({ messages: messages }))
    expect(server.received).toHaveLength(1)
    const sent = JSON.stringify(server.received[0]?.body)
    expect(sent).toContain(png)
    expect(sent.includes(wav)).toBe(acceptsAudio)
    if (!acceptsAudio)
      expect(sent).toContain('audio of 40 kB (audio/wav) was left out: this model does not accept audio')
    expectNoBytesAsText(server.received[0]?.body)
  })

  test('of an unsupported type are replaced by a note', async () => {
    await using server = await provider(anthropic.message([{ type: 'text', text: 'ok' }]))
    const messages: SamplingMessage[] = [
      { role: 'user', content: { type: 'image', data: png, mimeType: 'image/tiff' } },
    ]
    await claude(server).generate(request({ messages }))
    expect(textsOf(server.received[0]?.body)).toContain(
      'an image of 120 kB (image/tiff) was left out: this model accepts images of these types only: image/jpeg, image/png, image/gif, image/webp',
    )
  })
})

describe('media accepted by a model of Ollama are queried from Ollama', () => {
  test('images, if the model has vision', async () => {
    await using server = await provider(
      ollama.show(['completion', 'tools', 'vision']),
      chat.completion({ content: 'ok' }),
    )
    await llama(server).generate(request({ messages: withResult(), tools: [weather] }))
    const body = server.received.at(-1)?.body
    expect(server.received.map(({ path }) => path)).toEqual(['/api/show', '/v1/chat/completions'])
    expect(JSON.stringify(body)).toContain(JSON.stringify(image))
    expect(textsOf(body)).toContain(
      'audio of 40 kB (audio/wav) was left out: this model does not accept audio',
    )
    expectNoBytesAsText(body)
  })

  test('text only, if it has none', async () => {
    await using server = await provider(
      ollama.show(['completion', 'tools']),
      chat.completion({ content: 'ok' }),
    )
    const model = llama(server)
    await model.generate(request({ messages: withResult(), tools: [weather] }))
    const body = server.received.at(-1)?.body
    expect(textsOf(body)).toContain(
      '[an image of 120 kB (image/png) was left out: this model accepts text only]',
    )
    for (const data of [png, wav, pdf]) expect(JSON.stringify(body)).not.toContain(data.slice(0, 40))
    await model.generate(request({ messages: messages }))
    await model.generate(request())
    expect(server.received.filter(({ path }) => path === '/api/show')).toHaveLength(1)
  })
})

describe('a compatible server that rejects an image', () => {
  test('gets the request again with a note instead, and later requests directly so', async () => {
    await using server = await provider(refusal, chat.completion({ content: 'ok' }))
    const model = local(server)
    const image: SamplingMessage[] = [
      { role: 'user', content: { type: 'image', data: png, mimeType: 'image/png' } },
    ]
    expect(await model.generate(request({ messages: image }))).toMatchObject({ stopReason: 'endTurn' })
    await model.generate(request({ messages: image }))
    expect(server.received).toHaveLength(3)
    for (const { body } of server.received.slice(1)) {
      expect(textsOf(body)).toContain('an image of 120 kB (image/png) was left out: this model refused it')
      expect(JSON.stringify(body)).not.toContain(png.slice(0, 40))
    }
  })

  test('keeps its images if it rejects audio and documents only', async () => {
    await using server = await provider(
      { status: 400, json: { error: { message: 'input_audio is not supported' } } },
      chat.completion({ content: 'ok' }),
    )
    await local(server).generate(request({ messages: messages }))
    expect(JSON.stringify(server.received[1]?.body)).toContain(JSON.stringify(image))
    expect(textsOf(server.received[1]?.body)).toContain('audio of 40 kB (audio/wav) was left out')
  })

  test('gets no second request if the request itself is invalid', async () => {
    await using server = await provider({ status: 400, json: { error: { message: 'bad tools' } } })
    await expect(local(server).generate(request())).rejects.toMatchObject({ kind: 'request' })
    expect(server.received).toHaveLength(1)
  })
})

describe('Anthropic gets cache points', () => {
  const ephemeral = { type: 'ephemeral' }

  test('for the tools, the system prompt, the end of this request and of the one before', async () => {
    await using server = await provider(anthropic.message([{ type: 'text', text: 'ok' }]))
    const tools = [{ ...weather, name: 'first' }, weather]
    await claude(server).generate(request({ system: 'Be short.', messages: withResult(), tools }))
    const { body } = server.received[0] ?? {}
    expect(body?.system).toMatchObject([{ text: 'Be short.', cache_control: ephemeral }])
    const marked = (list: unknown): boolean[] =>
      (Array.isArray(list) ? list : []).map((one) => JSON.stringify(one).includes('"cache_control"'))
    expect(marked(body?.tools)).toEqual([false, true])
    expect(marked(body?.messages)).toEqual([true, false, true])
    expect(JSON.stringify(body).match(/"cache_control"/g)).toHaveLength(4)
  })

  test('no other provider gets cache points', async () => {
    await using server = await provider(chat.completion({ content: 'ok' }))
    await local(server).generate(request({ system: 'Be short.', messages: withResult(), tools: [weather] }))
    expect(JSON.stringify(server.received[0]?.body)).not.toContain('cache')
  })
})
