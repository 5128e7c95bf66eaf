import { describe, expect, test } from 'vitest'
import { modelsFromEnvironment } from '../../src/models/environment.ts'
import { scripted } from '../fixtures/hosts.ts'

const offline = scripted('offline')
const ids = (env: Record<string, string>): string[] =>
  modelsFromEnvironment(env, { offline }).map((model) => model.id)

describe('models from the environment', () => {
  test('without any key there is only the offline model, if the program has one', () => {
    expect(ids({})).toEqual(['offline'])
    expect(modelsFromEnvironment({})).toEqual([])
    expect(() => modelsFromEnvironment({ JACKFIELD_MODEL: 'offline' })).toThrow(/no provider "offline"/)
  })

  test('each key adds its provider with a default model, and the offline model is last', () => {
    expect(
      ids({ OPENAI_API_KEY: 'a', ANTHROPIC_API_KEY: 'b', GEMINI_API_KEY: 'c', OLLAMA_HOST: 'd' }),
    ).toEqual([
      'anthropic/claude-sonnet-5-5',
      'openai/gpt-6-sol',
      'google/gemini-flash-latest',
      'ollama/llama3.2',
      'offline',
    ])
  })

  test('an empty variable counts as unset', () => {
    expect(ids({ OPENAI_API_KEY: ' ', JACKFIELD_MODEL: '' })).toEqual(['offline'])
  })

  test('JACKFIELD_MODEL puts its model first', () => {
    expect(
      ids({ ANTHROPIC_API_KEY: 'b', OPENAI_API_KEY: 'a', JACKFIELD_MODEL: 'openai/org/model-x' })[0],
    ).toBe('openai/org/model-x')
    expect(ids({ ANTHROPIC_API_KEY: 'b', OPENAI_API_KEY: 'a', JACKFIELD_MODEL: 'openai' })[0]).toBe(
      'openai/gpt-6-sol',
    )
    expect(ids({ ANTHROPIC_API_KEY: 'b', JACKFIELD_MODEL: 'offline' })).toEqual([
      'offline',
      'anthropic/claude-sonnet-5-5',
    ])
  })

  test.each([
    ['mistral/large', /no provider "mistral".*anthropic, openai, google/],
    ['openai/gpt', /needs OPENAI_API_KEY, which is not set/],
    ['anthropic/', /has no model name/],
  ])('JACKFIELD_MODEL=%s is rejected with the reason', (wanted, words) => {
    expect(() => ids({ ANTHROPIC_API_KEY: 'b', JACKFIELD_MODEL: wanted })).toThrow(words)
  })

  test('a compatible server without a model names the missing variable', () => {
    const env = { OPENAI_COMPATIBLE_BASE_URL: 'http://127.0.0.1:1/v1' }
    expect(() => ids(env)).toThrow(/OPENAI_COMPATIBLE_MODEL/)
    expect(ids({ ...env, JACKFIELD_MODEL: 'compatible/qwen' })).toEqual(['compatible/qwen', 'offline'])
    expect(ids({ ...env, JACKFIELD_MODEL: 'offline' })).toEqual(['offline'])
  })

  test('a named model of Ollama uses this machine if no address is set', () => {
    expect(ids({ JACKFIELD_MODEL: 'ollama/qwen3' })[0]).toBe('ollama/qwen3')
    expect(ids({ JACKFIELD_MODEL: 'offline' })).toEqual(['offline'])
  })

  test('an invalid Ollama address is rejected', () => {
    expect(() => ids({ OLLAMA_HOST: 'http://' })).toThrow(/OLLAMA_HOST/)
  })
})
