import { describe, expect, test } from 'vitest'
import { nowhere } from '../../../../test/setup/ports.ts'
import { modelsFromEnvironment } from '../../src/models/environment.ts'
import { scripted } from '../fixtures/hosts.ts'
import { firstModel, request } from './asked-models.ts'
import { type Answer, chat, provider } from './provider.ts'

/** The failure of a request to the first model of these variables. */
async function failure(env: Record<string, string>): Promise<{ kind: string; message: string }> {
  const given: unknown = await firstModel(env)
    .generate(request())
    .catch((error: unknown) => error)
  if (!(given instanceof Error) || !('kind' in given)) throw new Error(`no failure: ${String(given)}`)
  return { kind: String(given.kind), message: given.message }
}

const list = (path: string, ...ids: string[]): Answer => ({
  path,
  json: { object: 'list', data: ids.map((id) => ({ id })) },
})
const notFound: Answer = { status: 404, json: { error: { message: 'Not Found' } } }
const refused: Answer = { status: 401, json: { error: { message: 'Unauthorized', type: 'auth' } } }

describe('a model that its provider does not have', () => {
  test.each([
    ['OpenAI', 'openai/gpt-6-sool', (url: string) => ({ OPENAI_API_KEY: 'k', OPENAI_BASE_URL: `${url}/v1` })],
    [
      'a compatible server',
      'compatible/gpt-6-sool',
      (url: string) => ({ OPENAI_COMPATIBLE_BASE_URL: `${url}/v1` }),
    ],
    ['Ollama', 'ollama/gpt-6-sool', (url: string) => ({ OLLAMA_HOST: url })],
  ] as const)('of %s is reported with similar names', async (_, wanted, env) => {
    await using server = await provider(
      list('/v1/models', 'whisper', 'gpt-6-sol', 'gpt-6-sol-mini', 'text-embedding'),
      notFound,
    )
    const { kind, message } = await failure({ ...env(server.url), JACKFIELD_MODEL: wanted })
    const own = wanted.slice(0, wanted.indexOf('/'))
    expect(kind).toBe('unknown-model')
    expect(message).toContain(`${wanted} is not known to its provider (HTTP 404)`)
    expect(message).toContain(`Near names: ${own}/gpt-6-sol, ${own}/gpt-6-sol-mini.`)
    expect(message).not.toContain('whisper')
  })

  test('of Anthropic and Google, with other list formats', async () => {
    await using server = await provider(
      list('/v1/models?limit=1000', 'claude-sonnet-5-5', 'claude-haiku-4-5'),
      { path: '/v1beta/models?pageSize=1000', json: { models: [{ name: 'models/gemini-flash-latest' }] } },
      notFound,
    )
    const anthropic = { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: server.url }
    const claude = await failure({ ...anthropic, JACKFIELD_MODEL: 'anthropic/claude-sonet-5' })
    expect(claude.message).toContain('Near names: anthropic/claude-sonnet-5-5')
    const google = { GEMINI_API_KEY: 'k', GOOGLE_GENERATIVE_AI_BASE_URL: `${server.url}/v1beta` }
    const gemini = await failure({ ...google, JACKFIELD_MODEL: 'google/gemini-flsh' })
    expect(gemini.message).toContain('Near names: google/gemini-flash-latest')
  })
})

describe('a server that lacks the path of a request', () => {
  test('and offers chat completions instead of /responses is reported with the setting for it', async () => {
    await using server = await provider(list('/v1/models', 'qwen'), notFound)
    const { kind, message } = await failure({
      OPENAI_API_KEY: 'k',
      OPENAI_BASE_URL: `${server.url}/v1`,
      JACKFIELD_MODEL: 'openai/qwen',
    })
    expect(kind).toBe('request')
    expect(message).toContain('has no /v1/responses (HTTP 404)')
    expect(message).toContain(
      'For a server with chat completions only, set OPENAI_COMPATIBLE_BASE_URL in place of OPENAI_BASE_URL',
    )
  })

  test.each([
    [notFound, 'has no /v1/chat/completions (HTTP 404)'],
    [
      { status: 400, json: { error: { message: 'This model is only supported in v1/responses' } } },
      'does not serve this model at /v1/chat/completions (HTTP 400)',
    ],
  ] satisfies [Answer, string][])('the other way round: %#', async (answer, words) => {
    await using server = await provider(list('/v1/models', 'qwen'), answer)
    const { message } = await failure({
      OPENAI_COMPATIBLE_BASE_URL: `${server.url}/v1`,
      OPENAI_COMPATIBLE_MODEL: 'qwen',
    })
    expect(message).toContain(words)
    expect(message).toContain('set OPENAI_BASE_URL and OPENAI_API_KEY in place of OPENAI_COMPATIBLE_BASE_URL')
  })

  test('at all, since the address is incomplete, is reported with the variable of the address', async () => {
    await using server = await provider(notFound)
    const { message } = await failure({
      OPENAI_COMPATIBLE_BASE_URL: server.url,
      OPENAI_COMPATIBLE_MODEL: 'qwen',
    })
    expect(message).toContain('Correct OPENAI_COMPATIBLE_BASE_URL, which usually ends in /v1')
  })
})

describe('failures name the variable that was used', () => {
  test.each([
    ['GEMINI_API_KEY', { GEMINI_API_KEY: 'k' }, 'GOOGLE_GENERATIVE_AI_BASE_URL'],
    ['GOOGLE_GENERATIVE_AI_API_KEY', { GOOGLE_GENERATIVE_AI_API_KEY: 'k' }, 'GOOGLE_GENERATIVE_AI_BASE_URL'],
    ['ANTHROPIC_API_KEY', { ANTHROPIC_API_KEY: 'k' }, 'ANTHROPIC_BASE_URL'],
    ['OPENAI_API_KEY', { OPENAI_API_KEY: 'k' }, 'OPENAI_BASE_URL'],
    [
      'OPENAI_COMPATIBLE_API_KEY',
      { OPENAI_COMPATIBLE_API_KEY: 'k', OPENAI_COMPATIBLE_MODEL: 'm' },
      'OPENAI_COMPATIBLE_BASE_URL',
    ],
  ] as const)('%s, if it is rejected', async (name, env, base) => {
    await using server = await provider(refused)
    const { kind, message } = await failure({ ...env, [base]: server.url })
    expect(kind).toBe('key')
    expect(message).toContain(`Check ${name}`)
  })

  test('the variable of a missing key', async () => {
    await using server = await provider(refused)
    const { message } = await failure({
      OPENAI_COMPATIBLE_BASE_URL: server.url,
      OPENAI_COMPATIBLE_MODEL: 'm',
    })
    expect(message).toContain('requires an API key (HTTP 401). Set OPENAI_COMPATIBLE_API_KEY')
  })

  test.each([
    ['OPENAI_BASE_URL', { OPENAI_API_KEY: 'k' }],
    ['OLLAMA_HOST', {}],
  ] as const)('%s, if nothing responds', async (name, env) => {
    const { message } = await failure({ ...env, [name]: `http://${nowhere}` })
    expect(message).toContain(`Check the network and ${name}`)
  })
})

describe('an unavailable selection', () => {
  const choose = (wanted: string, setting?: string) => () =>
    modelsFromEnvironment(
      { ANTHROPIC_API_KEY: 'b', JACKFIELD_MODEL: wanted },
      { offline: scripted('offline'), ...(setting !== undefined && { setting }) },
    )

  test.each([
    ['mistral/large', '--model mistral/large: there is no provider "mistral"'],
    ['openai/gpt', '--model openai/gpt needs OPENAI_API_KEY, which is not set'],
    ['anthropic/', 'Write --model anthropic/<model>'],
    ['antropic/claude', 'Did you mean anthropic/claude?'],
    ['claude-opus', 'Did you mean anthropic/claude-opus?'],
    ['gemini-flash', 'Did you mean google/gemini-flash?'],
    ['ofline', 'Did you mean offline?'],
  ])('%s is rejected with the setting it came from', (wanted, words) => {
    expect(choose(wanted, '--model')).toThrow(words)
  })

  test('is reported with JACKFIELD_MODEL if it came from there', () => {
    expect(choose('openai/gpt')).toThrow('JACKFIELD_MODEL=openai/gpt needs OPENAI_API_KEY')
  })

  test('has a server that responds for all others', async () => {
    await using server = await provider(chat.completion({ content: 'ok' }))
    const env = { OPENAI_COMPATIBLE_BASE_URL: `${server.url}/v1`, JACKFIELD_MODEL: 'compatible/any' }
    expect(await firstModel(env).generate(request())).toMatchObject({ stopReason: 'endTurn' })
  })
})
