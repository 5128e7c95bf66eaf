import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { nowhere } from '../../../../test/setup/ports.ts'
import { aiModel } from '../../src/models/ai-model.ts'
import { ModelError } from '../../src/models/model-error.ts'
import { claude, firstModel, gpt, local, request } from './asked-models.ts'
import { anthropic, chat, openai, provider } from './provider.ts'

describe('a text reply', () => {
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

  test('comes from OpenAI, with the option not to store the conversation', async () => {
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
  ] as const)('streams from %s piece by piece and is complete', async (_, model, answer) => {
    await using server = await provider(answer)
    const deltas: string[] = []
    const reply = await model(server).generate(request({ onText: (delta) => deltas.push(delta) }))
    expect(deltas).toEqual(['He', 'llo', '!'])
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

  test('the OpenAI token limit is maxTokens', async () => {
    await using server = await provider(
      openai.response([openai.text('x')], {
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
      }),
    )
    expect((await gpt(server).generate(request())).stopReason).toBe('maxTokens')
  })

  test('text from a server that ignores the token limit is cut', async () => {
    await using server = await provider(chat.completion({ content: 'x'.repeat(1000) }, 'stop', 200))
    const reply = await local(server).generate(request({ maxTokens: 50 }))
    expect(reply.content).toEqual([{ type: 'text', text: 'x'.repeat(250) }])
    expect(reply.stopReason).toBe('maxTokens')
  })
})

test('aborting cancels the request at the provider and rejects with the reason', async () => {
  await using server = await provider(anthropic.stream(['He'], { hang: true }))
  const stop = new AbortController()
  const reason = new Error('the person pressed Ctrl+C')
  const answer = claude(server).generate(request({ signal: stop.signal, onText: () => stop.abort(reason) }))
  await expect(answer).rejects.toBe(reason)
  await server.abandoned
})

describe('failures have a reason and a fix', () => {
  test('a "load" that returns no language model', async () => {
    const model = aiModel({ id: 'mine/one', load: async () => JSON.parse('{ "modelId": "one" }') })
    const failed = model.generate(request())
    await expect(failed).rejects.toBeInstanceOf(ModelError)
    await expect(failed).rejects.toThrow('"load" gave no language model')
  })

  test('a "load" that failed is run again by the next request', async () => {
    const results = [Promise.reject(new Error('not there yet')), Promise.resolve(JSON.parse('{}'))]
    const model = aiModel({ id: 'mine/one', load: async () => results.shift() })
    await expect(model.generate(request())).rejects.toThrow('not there yet')
    await expect(model.generate(request())).rejects.toThrow('"load" gave no language model')
  })

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
      /not known to its provider.*model: claude-test-1/,
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
      fixes: status === 404 ? [{ action: 'choose-model' }] : [],
    })
    expect(String(failure)).not.toContain('key-a')
  })

  test('a temporarily failing provider is retried', async () => {
    await using server = await provider(
      anthropic.error(529, 'overloaded_error', 'Overloaded', { 'retry-after-ms': '1' }),
      anthropic.message([{ type: 'text', text: 'Hi.' }]),
    )
    expect(await claude(server).generate(request())).toMatchObject({ stopReason: 'endTurn' })
    expect(server.received).toHaveLength(2)
  })

  test('a provider that keeps failing is named', async () => {
    await using server = await provider(
      anthropic.error(529, 'overloaded_error', 'Overloaded', { 'retry-after-ms': '1' }),
    )
    await expect(claude(server).generate(request())).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/failed at its provider.*529.*Overloaded/),
    })
  })

  test('a stream that breaks off is a failure', async () => {
    const whole = anthropic.stream(['He', 'llo'])
    const answer = 'events' in whole ? { events: whole.events.slice(0, 3) } : whole
    await using server = await provider(answer)
    await expect(claude(server).generate(request({ onText: () => {} }))).rejects.toBeInstanceOf(ModelError)
  })

  test('a closed port at the address is reported', async () => {
    const model = firstModel({
      OPENAI_COMPATIBLE_BASE_URL: `http://${nowhere}`,
      OPENAI_COMPATIBLE_MODEL: 'x',
    })
    await expect(model.generate(request())).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/cannot be reached.*ECONNREFUSED/),
    })
  }, 20_000)

  test('an unreadable response is not mistaken for a refusal', async () => {
    await using server = await provider({ json: { type: 'message', content: 'Hi.' } })
    await expect(claude(server).generate(request())).rejects.toMatchObject({
      kind: 'other',
      message: expect.stringContaining("answered with something that is not a model's answer"),
    })
  })

  test.each([false, true])('an endless response is cut off (streamed: %s)', async (streams) => {
    const piece = Buffer.alloc(1_000_000, ' ')
    const type = streams ? 'text/event-stream' : 'application/json'
    let sent = 0
    const server = createServer((_, response) => {
      const more = (): void => {
        while (!response.destroyed) {
          sent += piece.length
          if (!response.write(piece)) break
        }
      }
      response.writeHead(200, { 'content-type': type }).on('drain', more)
      more()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const model = firstModel({
      OPENAI_COMPATIBLE_BASE_URL: `http://127.0.0.1:${port}/v1`,
      OPENAI_COMPATIBLE_MODEL: 'x',
    })
    const asked = model.generate(request(streams ? { onText: () => {} } : {}))
    await expect(asked).rejects.toMatchObject({
      kind: 'other',
      message: expect.stringContaining('more than 64000000 bytes'),
    })
    expect(sent).toBeLessThan(90_000_000)
  })

  test.each([
    ['Anthropic', claude, 'key-a', anthropic.error(401, 'authentication_error', 'Incorrect API key: key-a')],
    [
      'OpenAI',
      gpt,
      'key-o',
      { status: 401, json: { error: { message: 'Incorrect API key: key-o', type: 't' } } },
    ],
  ] as const)(
    'the key of %s is in no failure, also if the response repeats it',
    async (_, model, key, answer) => {
      await using server = await provider(answer)
      const failure = await model(server).generate(request()).catch(String)
      expect(failure).toContain('Incorrect API key: [API key]')
      expect(failure).not.toContain(key)
    },
  )

  test('the key is sent to no other host, whatever the provider redirects to', async () => {
    await using other = await provider(anthropic.message([{ type: 'text', text: 'Hi.' }]))
    await using server = await provider({
      status: 307,
      headers: { location: `${other.url}/v1/messages` },
      json: {},
    })
    await expect(claude(server).generate(request())).rejects.toMatchObject({
      kind: 'other',
      message: expect.stringMatching(/redirects to another address.*307.*Correct ANTHROPIC_BASE_URL/),
    })
    expect(other.received).toEqual([])
  })

  test.each([-1, 1.5, 1e300])('%d tokens are not counted', async (tokens) => {
    await using server = await provider(chat.completion({ content: 'Hi.' }, 'stop', tokens))
    const reply = await local(server).generate(request({ maxTokens: 100 }))
    expect(reply).toMatchObject({ content: [{ type: 'text', text: 'Hi.' }] })
    expect(reply.usage).toBeUndefined()
  })
})
