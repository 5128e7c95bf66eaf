import type { SamplingMessage } from '@jackfield/sdk'
import { modelsFromEnvironment } from '../../src/models/environment.ts'
import type { Model, ModelRequest } from '../../src/types/index.ts'
import type { Provider } from './provider.ts'

export const greeting: SamplingMessage[] = [{ role: 'user', content: { type: 'text', text: 'Hello' } }]

export const weather = {
  name: 'weather__get.forecast/v2',
  description: 'Forecast for a city',
  inputSchema: { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] },
}

export function claude(server: Provider): Model {
  return firstModel({
    ANTHROPIC_API_KEY: 'key-a',
    ANTHROPIC_BASE_URL: server.url,
    JACKFIELD_MODEL: 'anthropic/claude-haiku-4-5',
  })
}

export function gpt(server: Provider): Model {
  return firstModel({
    OPENAI_API_KEY: 'key-o',
    OPENAI_BASE_URL: `${server.url}/v1`,
    JACKFIELD_MODEL: 'openai/gpt-test-1',
  })
}

export function local(server: Provider): Model {
  return firstModel({
    OPENAI_COMPATIBLE_BASE_URL: `${server.url}/v1`,
    OPENAI_COMPATIBLE_MODEL: 'local-test-1',
  })
}

export function firstModel(env: Record<string, string>): Model {
  const [model] = modelsFromEnvironment(env)
  if (model === undefined) throw new Error('no model')
  return model
}

export function request(more: Partial<ModelRequest> = {}): ModelRequest {
  return { messages: greeting, maxTokens: 100, ...more }
}
