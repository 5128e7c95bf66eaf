import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { nowhere } from '../../../../test/setup/ports.ts'
import { withRetries } from '../../src/models/ai-model.ts'
import { findOllama } from '../../src/models/environment.ts'
import { ModelError } from '../../src/models/model-error.ts'
import type { Model, ModelRequest, ModelWait } from '../../src/types/index.ts'
import { firstModel, greeting } from './asked-models.ts'
import { type Answer, anthropic, chat, openai, type Provider, provider } from './provider.ts'

const weather = {
  name: 'weather',
  inputSchema: { type: 'object' as const, properties: { city: { type: 'string' } } },
}

/** How each provider is reached, and what it answers in its own form. */
const providers: Record<
  string,
  {
    env(server: Provider): Record<string, string>
    text: Answer
    stream: Answer
    limited(headers: Record<string, string>): Answer
    calls: Answer
  }
> = {
  anthropic: {
    env: ({ url }) => ({ ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: url }),
    text: anthropic.message([{ type: 'text', text: 'Hi.' }]),
    stream: anthropic.stream(['H', 'i.']),
    limited: (headers) => anthropic.error(429, 'rate_limit_error', 'Slow down', headers),
    calls: anthropic.message(
      [
        { type: 'tool_use', id: 'a', name: 'weather', input: { city: 'Oslo' } },
        { type: 'tool_use', id: 'b', name: 'weather', input: { city: 'Bergen' } },
      ],
      'tool_use',
    ),
  },
  openai: {
    env: ({ url }) => ({ OPENAI_API_KEY: 'k', OPENAI_BASE_URL: `${url}/v1` }),
    text: openai.response([openai.text('Hi.')]),
    stream: openai.stream(['H', 'i.']),
    limited: (headers) => ({
      status: 429,
      headers,
      json: { error: { message: 'Slow down', type: 'requests' } },
    }),
    calls: openai.response(
      ['Oslo', 'Bergen'].map((city, n) => ({
        ...{
          type: 'function_call',
          id: `fc_${n}`,
          call_id: `call_${n}`,
          name: 'weather',
          status: 'completed',
        },
        arguments: JSON.stringify({ city }),
      })),
    ),
  },
  google: {
    env: ({ url }) => ({ GEMINI_API_KEY: 'k', GOOGLE_GENERATIVE_AI_BASE_URL: `${url}/v1beta` }),
    text: { json: gemini([{ text: 'Hi.' }]) },
    stream: { events: [{ data: gemini([{ text: 'H' }], false) }, { data: gemini([{ text: 'i.' }]) }] },
    limited: (headers) => ({
      status: 429,
      headers,
      json: { error: { code: 429, message: 'Slow down', status: 'RESOURCE_EXHAUSTED' } },
    }),
    calls: {
      json: gemini(['Oslo', 'Bergen'].map((city) => ({ functionCall: { name: 'weather', args: { city } } }))),
    },
  },
  compatible: {
    env: ({ url }) => ({ OPENAI_COMPATIBLE_BASE_URL: `${url}/v1`, OPENAI_COMPATIBLE_MODEL: 'm' }),
    text: chat.completion({ content: 'Hi.' }),
    stream: chat.stream(['H', 'i.']),
    limited: (headers) => ({ status: 429, headers, json: { error: { message: 'Slow down' } } }),
    calls: chat.completion(
      {
        content: null,
        tool_calls: ['Oslo', 'Bergen'].map((city, n) => ({
          ...{ id: `call_${n}`, type: 'function' },
          function: { name: 'weather', arguments: JSON.stringify({ city }) },
        })),
      },
      'tool_calls',
    ),
  },
}

function gemini(parts: unknown[], last = true): object {
  return {
    candidates: [{ content: { role: 'model', parts }, index: 0, ...(last && { finishReason: 'STOP' }) }],
    usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 },
    modelVersion: 'gemini-test-1',
  }
}

function ask(model: Model, more: Partial<ModelRequest> = {}) {
  const waits: ModelWait[] = []
  const onWait = (wait: ModelWait): void => void waits.push(wait)
  const reply = model.generate({ messages: greeting, maxTokens: 100, onWait, ...more })
  return { reply, waits }
}

describe.each(Object.entries(providers))('%s', (_, { env, text, stream, limited, calls }) => {
  test('streams its text as it arrives', async () => {
    await using server = await provider(stream)
    const deltas: string[] = []
    const { reply } = ask(firstModel(env(server)), { onText: (delta) => deltas.push(delta) })
    expect(await reply).toMatchObject({ content: [{ type: 'text', text: 'Hi.' }], stopReason: 'endTurn' })
    expect(deltas.join('')).toBe('Hi.')
    expect(deltas.length).toBeGreaterThan(1)
  })

  test('requests several calls at once', async () => {
    await using server = await provider(calls)
    const { reply } = ask(firstModel(env(server)), { tools: [weather] })
    expect(await reply).toMatchObject({
      stopReason: 'toolUse',
      content: [
        { type: 'tool_use', name: 'weather', input: { city: 'Oslo' } },
        { type: 'tool_use', name: 'weather', input: { city: 'Bergen' } },
      ],
    })
  })

  test('over its limit is retried when it says, and the wait is reported', async () => {
    await using server = await provider(limited({ 'retry-after': '0' }), text)
    const { reply, waits } = ask(firstModel(env(server)))
    expect(await reply).toMatchObject({ content: [{ text: 'Hi.' }] })
    expect(waits).toMatchObject([{ forMs: 0, attempt: 1, attempts: 4 }])
    expect(waits[0]?.reason).toMatch(/over its limit \(HTTP 429\).*Slow down/)
  })

  test('is not awaited longer than a minute', async () => {
    await using server = await provider(limited({ 'retry-after': '600' }), text)
    const { reply, waits } = ask(firstModel(env(server)))
    await expect(reply).rejects.toMatchObject({
      kind: 'limit',
      message: expect.stringContaining('again in 10 min'),
    })
    expect(waits).toEqual([])
    expect(server.received).toHaveLength(1)
  })

  test('cuts its stream off, which is a failure and never a complete reply', async () => {
    const events = 'events' in stream ? stream.events : []
    await using server = await provider({ events: events.slice(0, events.length > 2 ? -2 : -1) })
    const { reply } = ask(firstModel(env(server)), { onText: () => {} })
    await expect(reply).rejects.toBeInstanceOf(ModelError)
  })

  test('sends invalid JSON in its stream, which is a failure', async () => {
    await using server = await provider({ events: [{ data: '{"choices": [' }, { data: 'garbage' }] })
    const { reply } = ask(firstModel(env(server)), { onText: () => {} })
    await expect(reply).rejects.toBeInstanceOf(ModelError)
  })
})

describe('a retry', () => {
  const overloaded = new ModelError('unavailable', 'm', 'm is out of order.')
  const failure = (error: unknown): ModelError =>
    error instanceof ModelError ? error : new ModelError('other', 'm', String(error))

  test('waits longer each time, at most four times', async () => {
    const slept: number[] = []
    const sleep = async (ms: number): Promise<void> => void slept.push(ms)
    const work = async (): Promise<never> => {
      throw overloaded
    }
    await expect(withRetries({}, work, failure, { sleep })).rejects.toBe(overloaded)
    expect(slept).toEqual([1_000, 2_000, 4_000])
  })

  test('ends at once when the user stops it', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const stop = new AbortController()
    const onWait = (): void => stop.abort(new Error('stopped'))
    const work = async (): Promise<never> => {
      throw overloaded
    }
    await expect(withRetries({ signal: stop.signal, onWait }, work, failure)).rejects.toThrow('stopped')
  })

  test('does not happen after a part of the reply was shown', async () => {
    let asked = 0
    const work = async (onText: ModelRequest['onText']): Promise<never> => {
      asked += 1
      onText?.('Hel')
      throw overloaded
    }
    await expect(withRetries({ onText: () => {} }, work, failure)).rejects.toBe(overloaded)
    expect(asked).toBe(1)
  })

  test('does not happen if the result would be the same', async () => {
    let asked = 0
    const work = async (): Promise<never> => {
      asked += 1
      throw new ModelError('key', 'm', 'The key is wrong.')
    }
    await expect(withRetries({}, work, failure)).rejects.toThrow('The key is wrong.')
    expect(asked).toBe(1)
  })
})

describe('an Ollama', () => {
  test('that responds is found with its models, the latest first', async () => {
    await using server = await provider({
      json: {
        models: [
          { name: 'old:1b', modified_at: '2025-01-01T00:00:00Z' },
          { name: 'new:7b', modified_at: '2026-01-01T00:00:00Z' },
          { nonsense: true },
        ],
      },
    })
    expect(await findOllama({ OLLAMA_HOST: server.url })).toEqual({
      host: server.url,
      models: ['new:7b', 'old:1b'],
    })
  })

  test.each([{ json: { models: [] } }, { json: 'no' }, { status: 500, json: {} }])(
    'without models is ignored: %j',
    async (answer) => {
      await using server = await provider(answer)
      expect(await findOllama({ OLLAMA_HOST: server.url })).toBeUndefined()
    },
  )

  test('at a closed port, or without an address, is ignored', async () => {
    expect(await findOllama({ OLLAMA_HOST: `http://${nowhere}` })).toBeUndefined()
    expect(await findOllama({ OLLAMA_HOST: 'http://' })).toBeUndefined()
  })
})
