import { describe, expect, test } from 'vitest'
import type { Model } from '../../src/types/index.ts'
import { claude, firstModel, gpt, local, request } from './asked-models.ts'
import { type Answer, anthropic, chat, openai, type Provider, provider } from './provider.ts'

const ollama = (server: Provider): Model =>
  firstModel({ OLLAMA_HOST: server.url, JACKFIELD_MODEL: 'ollama/llama-test' })
const google = (server: Provider): Model =>
  firstModel({
    GEMINI_API_KEY: 'k',
    GOOGLE_GENERATIVE_AI_BASE_URL: `${server.url}/v1beta`,
    JACKFIELD_MODEL: 'google/gemini-test',
  })

const providers = [
  ['anthropic', claude, 'ANTHROPIC_BASE_URL', anthropic.stream(['Hel', 'lo'])],
  ['openai', gpt, 'OPENAI_BASE_URL', openai.stream(['Hel', 'lo'])],
  ['compatible', local, 'OPENAI_COMPATIBLE_BASE_URL', chat.stream(['Hel', 'lo'])],
  ['ollama', ollama, 'OLLAMA_HOST', chat.stream(['Hel', 'lo'])],
] as const

/** The failure of a request whose answer is streamed, or not. */
async function failure(model: Model, isStreamed: boolean): Promise<string> {
  const given: unknown = await model
    .generate(request(isStreamed ? { onText: () => {} } : {}))
    .catch((error: unknown) => error)
  if (!(given instanceof Error)) throw new Error(`no failure: ${JSON.stringify(given)}`)
  return given.message
}

function beginning(answer: Answer): Answer {
  if (!('events' in answer)) throw new Error('no stream')
  return { events: answer.events.slice(0, 3), cut: true }
}

describe.each(providers)('%s', (_, model, variable, whole) => {
  test('reports a connection that ended in the middle of a stream', async () => {
    await using server = await provider(beginning(whole))
    expect(await failure(model(server), true)).toMatch(
      /: the connection ended before the answer was complete\. Try again\.$/,
    )
  })

  test.each([true, false])('reports a web page instead of a response, streamed %s', async (streamed) => {
    await using server = await provider({ type: 'text/html; charset=utf-8', body: '<html>Sign in</html>' })
    expect(await failure(model(server), streamed)).toMatch(
      new RegExp(`answered with a web page, not with a model's answer: check ${variable}\\.$`),
    )
  })

  test.each([
    [true, 'text/event-stream', 'data: {not json\n\ndata: 12\n\n'],
    [false, 'application/json', '{not json'],
    [false, 'application/json', '12'],
  ])('reports an invalid response, streamed %s: %s %j', async (streamed, type, body) => {
    await using server = await provider({ type, body })
    expect(await failure(model(server), streamed)).toMatch(
      new RegExp(`answered with something that is not a model's answer: check ${variable}\\.$`),
    )
  })
})

test('a web page instead of a response of Google is named too', async () => {
  await using server = await provider({ type: 'text/html', body: '<html></html>' })
  expect(await failure(google(server), true)).toContain('check GOOGLE_GENERATIVE_AI_BASE_URL')
})
