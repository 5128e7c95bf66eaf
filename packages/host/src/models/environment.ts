import type { Model } from '../types/index.ts'
import { aiModel } from './ai-model.ts'
import { anthropicMedia, chatMedia, googleMedia, type MediaSupport, openaiMedia } from './media.ts'
import { offlineModel } from './offline/model.ts'
import { ollamaUrl, supportOf } from './ollama.ts'
import { providerFetch } from './provider-fetch.ts'
import { scriptModel } from './script.ts'

/** Environment variables that say which models there are. */
export type ModelEnvironment = Readonly<Record<string, string | undefined>>

interface Provider {
  /** The model used where none is named. */
  model: string | undefined
  make(model: string): Model
}

/**
 * The models that the environment has keys or addresses for, the preferred one first, the offline planner last.
 * `JACKFIELD_MODEL=provider/model` (or `offline`, or `script:file.json`) chooses; providers are `anthropic`, `openai`,
 * `google`, `compatible` and `ollama`. Throws an Error that names the missing variable where the choice cannot be had.
 */
export function modelsFromEnvironment(env: ModelEnvironment): Model[] {
  const providers = new Map<string, Provider>()
  for (const [name, provider] of [
    ['anthropic', anthropic(env)],
    ['openai', openai(env)],
    ['google', google(env)],
    ['compatible', compatible(env)],
    ['ollama', ollama(env)],
  ] as const) {
    if (provider !== undefined) providers.set(name, provider)
  }
  const wanted = value(env, 'JACKFIELD_MODEL')
  const models: Model[] = []
  for (const [name, provider] of providers) {
    if (provider.model !== undefined) models.push(provider.make(provider.model))
    else if (!wanted?.startsWith(`${name}/`)) {
      throw new Error(
        `${needs[name]} is set, but no model. Set OPENAI_COMPATIBLE_MODEL to the one the server has.`,
      )
    }
  }
  if (wanted === undefined) return [...models, offlineModel]
  if (wanted === 'offline') return [offlineModel, ...models]
  if (wanted.startsWith('script:'))
    return [scriptModel(wanted.slice('script:'.length)), ...models, offlineModel]
  const chosen = choose(wanted, providers)
  return [chosen, ...models.filter((model) => model.id !== chosen.id), offlineModel]
}

const needs: Readonly<Record<string, string>> = {
  anthropic: 'ANTHROPIC_API_KEY',
  openai: 'OPENAI_API_KEY',
  google: 'GOOGLE_GENERATIVE_AI_API_KEY or GEMINI_API_KEY',
  compatible: 'OPENAI_COMPATIBLE_BASE_URL',
  ollama: 'OLLAMA_HOST',
}

function choose(wanted: string, providers: ReadonlyMap<string, Provider>): Model {
  const slash = wanted.indexOf('/')
  const name = slash === -1 ? wanted : wanted.slice(0, slash)
  const provider = providers.get(name)
  if (provider === undefined) {
    const known = `Providers are ${Object.keys(needs).join(', ')}, and offline.`
    if (!Object.hasOwn(needs, name)) {
      throw new Error(`JACKFIELD_MODEL=${wanted}: there is no provider "${name}". ${known}`)
    }
    throw new Error(`JACKFIELD_MODEL=${wanted} needs ${needs[name]}, which is not set.`)
  }
  const model = slash === -1 ? provider.model : wanted.slice(slash + 1)
  if (model === undefined || model === '') {
    throw new Error(`JACKFIELD_MODEL=${wanted} names no model. Write JACKFIELD_MODEL=${name}/<model>.`)
  }
  return provider.make(model)
}

function value(env: ModelEnvironment, ...names: string[]): string | undefined {
  for (const name of names) {
    const text = env[name]?.trim()
    if (text !== undefined && text !== '') return text
  }
  return undefined
}

function anthropic(env: ModelEnvironment): Provider | undefined {
  const apiKey = value(env, 'ANTHROPIC_API_KEY')
  if (apiKey === undefined) return undefined
  const base = value(env, 'ANTHROPIC_BASE_URL')?.replace(/\/+$/, '')
  const baseURL = base === undefined || /\/v\d+$/.test(base) ? base : `${base}/v1`
  return {
    model: value(env, 'ANTHROPIC_MODEL') ?? 'claude-sonnet-5-5',
    make: (model) =>
      aiModel({
        id: `anthropic/${model}`,
        apiKey,
        load: async () => {
          const { createAnthropic } = await import('@ai-sdk/anthropic')
          return createAnthropic({ apiKey, fetch: providerFetch, ...(baseURL !== undefined && { baseURL }) })(
            model,
          )
        },
        media: anthropicMedia,
        cacheMark: { anthropic: { cacheControl: { type: 'ephemeral' } } },
      }),
  }
}

function openai(env: ModelEnvironment): Provider | undefined {
  const apiKey = value(env, 'OPENAI_API_KEY')
  if (apiKey === undefined) return undefined
  const baseURL = value(env, 'OPENAI_BASE_URL')
  return {
    model: value(env, 'OPENAI_MODEL') ?? 'gpt-6-sol',
    make: (model) =>
      aiModel({
        id: `openai/${model}`,
        apiKey,
        load: async () => {
          const { createOpenAI } = await import('@ai-sdk/openai')
          return createOpenAI({ apiKey, fetch: providerFetch, ...(baseURL !== undefined && { baseURL }) })(
            model,
          )
        },
        media: openaiMedia,
        // Conversations are not kept at the provider.
        providerOptions: { openai: { store: false } },
      }),
  }
}

function google(env: ModelEnvironment): Provider | undefined {
  const apiKey = value(env, 'GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY')
  if (apiKey === undefined) return undefined
  const baseURL = value(env, 'GOOGLE_GENERATIVE_AI_BASE_URL')
  return {
    model: value(env, 'GEMINI_MODEL') ?? 'gemini-flash-latest',
    make: (model) =>
      aiModel({
        id: `google/${model}`,
        apiKey,
        load: async () => {
          const { createGoogleGenerativeAI } = await import('@ai-sdk/google')
          const create = createGoogleGenerativeAI({
            apiKey,
            fetch: providerFetch,
            ...(baseURL !== undefined && { baseURL }),
          })
          return create(model)
        },
        media: googleMedia,
      }),
  }
}

function compatible(env: ModelEnvironment): Provider | undefined {
  const baseURL = value(env, 'OPENAI_COMPATIBLE_BASE_URL')
  if (baseURL === undefined) return undefined
  const apiKey = value(env, 'OPENAI_COMPATIBLE_API_KEY')
  return {
    model: value(env, 'OPENAI_COMPATIBLE_MODEL'),
    make: (model) => compatibleModel('compatible', model, baseURL, apiKey, chatMedia),
  }
}

function ollama(env: ModelEnvironment): Provider | undefined {
  const host = value(env, 'OLLAMA_HOST')
  if (host === undefined) return undefined
  const url = ollamaUrl(host)
  if (url === undefined) throw new Error(`OLLAMA_HOST=${host} is not an address such as 127.0.0.1:11434.`)
  const baseURL = `${url.origin}/v1`
  return {
    model: value(env, 'OLLAMA_MODEL') ?? 'llama3.2',
    make: (model) => compatibleModel('ollama', model, baseURL, undefined, () => supportOf(url, model)),
  }
}

function compatibleModel(
  provider: string,
  model: string,
  baseURL: string,
  apiKey: string | undefined,
  media: MediaSupport | (() => Promise<MediaSupport>),
): Model {
  return aiModel({
    id: `${provider}/${model}`,
    apiKey,
    media,
    load: async () => {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      const create = createOpenAICompatible({
        name: provider,
        baseURL,
        includeUsage: true,
        fetch: providerFetch,
        ...(apiKey !== undefined && { apiKey }),
      })
      return create(model)
    },
  })
}
