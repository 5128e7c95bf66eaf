import type { ModelProvider } from '../types/index.ts'
import type { ModelEnvironment } from './environment.ts'

/** The variables of each provider: key, address, and default model. */
const variables: readonly Omit<ModelProvider, 'set' | 'isReady'>[] = [
  {
    provider: 'anthropic',
    keys: ['ANTHROPIC_API_KEY'],
    address: 'ANTHROPIC_BASE_URL',
    model: 'ANTHROPIC_MODEL',
  },
  { provider: 'openai', keys: ['OPENAI_API_KEY'], address: 'OPENAI_BASE_URL', model: 'OPENAI_MODEL' },
  {
    provider: 'google',
    keys: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY'],
    address: 'GOOGLE_GENERATIVE_AI_BASE_URL',
    model: 'GEMINI_MODEL',
  },
  {
    provider: 'compatible',
    keys: ['OPENAI_COMPATIBLE_API_KEY'],
    address: 'OPENAI_COMPATIBLE_BASE_URL',
    model: 'OPENAI_COMPATIBLE_MODEL',
  },
  { provider: 'ollama', keys: [], address: 'OLLAMA_HOST', model: 'OLLAMA_MODEL' },
]

/** Every provider, and which of its variables are set. Values are not included. */
export function modelProviders(env: ModelEnvironment): ModelProvider[] {
  const isSet = (name: string): boolean => (env[name]?.trim() ?? '') !== ''
  return variables.map((provider) => {
    const { keys, address, model } = provider
    const requiredVariables = provider.provider === 'compatible' || keys.length === 0 ? [address] : keys
    return {
      ...provider,
      set: [...keys, address, model].filter(isSet),
      isReady: requiredVariables.some(isSet),
    }
  })
}
