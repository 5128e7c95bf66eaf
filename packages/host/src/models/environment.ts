import { isRecord } from '../shared/json.ts'
import type { Model, ModelProvider } from '../types/index.ts'
import { type AiModelOptions, aiModel } from './ai-model.ts'
import { listedModels, nearNames } from './listed-models.ts'
import {
  anthropicMedia,
  chatMedia,
  googleMedia,
  type MediaSupport,
  ollamaMedia,
  openaiMedia,
} from './media.ts'
import { providerFetch } from './provider-fetch.ts'
import { scriptModel } from './script.ts'

/** Environment variables that select models. */
export type ModelEnvironment = Readonly<Record<string, string | undefined>>

interface Provider {
  /** The default model of the provider. */
  model: string | undefined
  create(model: string): Model
}

/** Settings of `modelsFromEnvironment`. */
export interface EnvironmentModelOptions {
  /** The source of the selection, named in errors: a variable, or an option such as `--model`. Default `JACKFIELD_MODEL`. */
  setting?: string
  /** The model that `offline` selects; otherwise it comes last. Without it, `offline` is not a model. */
  offline?: Model
}

/**
 * The models with keys or addresses in the environment, preferred first. `JACKFIELD_MODEL=provider/model` (or `offline`, or
 * `script:file.json`) selects one; providers are `anthropic`, `openai`, `google`, `compatible` and `ollama`.
 * @throws Error that names the missing variable if the selected model is unavailable
 */
export function modelsFromEnvironment(
  env: ModelEnvironment,
  { setting = 'JACKFIELD_MODEL', offline }: EnvironmentModelOptions = {},
): Model[] {
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
  const selectedModel = value(env, 'JACKFIELD_MODEL')
  const models: Model[] = []
  for (const [name, provider] of providers) {
    if (provider.model !== undefined) models.push(provider.create(provider.model))
    else if (selectedModel === undefined || selectedModel === name) {
      throw new Error(
        'OPENAI_COMPATIBLE_BASE_URL is set, but no model. Set OPENAI_COMPATIBLE_MODEL to the one the server has.',
      )
    }
  }
  const last = offline === undefined ? [] : [offline]
  if (selectedModel === undefined) return [...models, ...last]
  if (selectedModel === 'offline' && offline !== undefined) return [offline, ...models]
  if (selectedModel.startsWith('script:'))
    return [scriptModel(selectedModel.slice('script:'.length)), ...models, ...last]
  const names = [
    ...providerVariables.map(({ provider }) => provider),
    ...(offline === undefined ? [] : ['offline']),
  ]
  const chosen = chooseModel(selectedModel, providers, setting, names)
  return [chosen, ...models.filter((model) => model.id !== chosen.id), ...last]
}

/** `names`: what the part before the slash may be. */
function chooseModel(
  selectedModel: string,
  providers: ReadonlyMap<string, Provider>,
  setting: string,
  names: readonly string[],
): Model {
  const slash = selectedModel.indexOf('/')
  const name = slash === -1 ? selectedModel : selectedModel.slice(0, slash)
  const provider = providers.get(name)
  const settingText = (choice: string): string => `${setting}${setting.startsWith('-') ? ' ' : '='}${choice}`
  if (provider === undefined) {
    const known = providerVariables.find((one) => one.provider === name)
    if (known === undefined) {
      const suggestion = suggestedModel(name, selectedModel, names)
      const hint = suggestion === undefined ? '' : ` Did you mean ${suggestion}?`
      throw new Error(
        `${settingText(selectedModel)}: there is no provider "${name}".${hint} Providers are ${names.slice(0, -1).join(', ')} and ${names.at(-1)}.`,
      )
    }
    throw new Error(
      `${settingText(selectedModel)} needs ${requiredVariables(known).join(' or ')}, which is not set.`,
    )
  }
  const model = slash === -1 ? provider.model : selectedModel.slice(slash + 1)
  if (model === undefined || model === '') {
    throw new Error(
      `${settingText(selectedModel)} has no model name. Write ${settingText(`${name}/<model>`)}.`,
    )
  }
  return provider.create(model)
}

/** Common model names, by provider. */
const modelNamePatterns: readonly (readonly [RegExp, provider: string])[] = [
  [/^claude/i, 'anthropic'],
  [/^(?:gpt|o\d|chatgpt)/i, 'openai'],
  [/^gem(?:ini|ma)/i, 'google'],
]

function suggestedModel(name: string, selectedModel: string, names: readonly string[]): string | undefined {
  const namePattern = modelNamePatterns.find(([pattern]) => pattern.test(selectedModel))
  if (namePattern !== undefined && !selectedModel.includes('/')) return `${namePattern[1]}/${selectedModel}`
  const [nearestName] = nearNames(name, names)
  return nearestName === undefined ? undefined : `${nearestName}${selectedModel.slice(name.length)}`
}

/** The variables of each provider: key, address, and default model. */
const providerVariables: readonly Omit<ModelProvider, 'set' | 'isReady'>[] = [
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
  const isSet = (name: string): boolean => value(env, name) !== undefined
  return providerVariables.map((provider) => {
    const { keys, address, model } = provider
    return {
      ...provider,
      set: [...keys, address, model].filter(isSet),
      isReady: requiredVariables(provider).some(isSet),
    }
  })
}

/** The variables of which one must be set: the key, or the address where there may be none. */
function requiredVariables({
  provider,
  keys,
  address,
}: Pick<ModelProvider, 'provider' | 'keys' | 'address'>): readonly string[] {
  return provider === 'compatible' || keys.length === 0 ? [address] : keys
}

function value(env: ModelEnvironment, name: string): string | undefined {
  return env[name]?.trim() || undefined
}

function anthropic(env: ModelEnvironment): Provider | undefined {
  const apiKey = value(env, 'ANTHROPIC_API_KEY')
  if (apiKey === undefined) return undefined
  const base = value(env, 'ANTHROPIC_BASE_URL')?.replace(/\/+$/, '')
  const baseURL = base === undefined || /\/v\d+$/.test(base) ? base : `${base}/v1`
  const fetch = providerFetch(env)
  return {
    model: value(env, 'ANTHROPIC_MODEL') ?? 'claude-sonnet-5-5',
    create: (model) =>
      aiModel({
        id: `anthropic/${model}`,
        apiKey,
        settings: { key: 'ANTHROPIC_API_KEY', baseURL: 'ANTHROPIC_BASE_URL' },
        list: () =>
          listedModels(fetch, `${baseURL ?? 'https://api.anthropic.com/v1'}/models?limit=1000`, {
            'x-api-key': apiKey,
            'anthropic-version': '2023-06-01',
          }),
        load: async () => {
          const { createAnthropic } = await import('@ai-sdk/anthropic')
          return createAnthropic({ apiKey, fetch, ...(baseURL !== undefined && { baseURL }) })(model)
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
  const fetch = providerFetch(env)
  return {
    model: value(env, 'OPENAI_MODEL') ?? 'gpt-6-sol',
    create: (model) =>
      aiModel({
        id: `openai/${model}`,
        apiKey,
        settings: {
          key: 'OPENAI_API_KEY',
          baseURL: 'OPENAI_BASE_URL',
          ...(baseURL !== undefined && {
            otherApi:
              'For a server with chat completions only, set OPENAI_COMPATIBLE_BASE_URL in place of OPENAI_BASE_URL, and OPENAI_COMPATIBLE_API_KEY and OPENAI_COMPATIBLE_MODEL with it.',
          }),
        },
        list: () => listOpenAI(fetch, baseURL ?? 'https://api.openai.com/v1', apiKey),
        load: async () => {
          const { createOpenAI } = await import('@ai-sdk/openai')
          return createOpenAI({ apiKey, fetch, ...(baseURL !== undefined && { baseURL }) })(model)
        },
        media: openaiMedia,
        // The provider does not store conversations.
        providerOptions: { openai: { store: false } },
      }),
  }
}

function google(env: ModelEnvironment): Provider | undefined {
  const key = ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY'].find(
    (name) => value(env, name) !== undefined,
  )
  const apiKey = key === undefined ? undefined : value(env, key)
  if (key === undefined || apiKey === undefined) return undefined
  const baseURL = value(env, 'GOOGLE_GENERATIVE_AI_BASE_URL')
  const fetch = providerFetch(env)
  return {
    model: value(env, 'GEMINI_MODEL') ?? 'gemini-flash-latest',
    create: (model) =>
      aiModel({
        id: `google/${model}`,
        apiKey,
        settings: { key, baseURL: 'GOOGLE_GENERATIVE_AI_BASE_URL' },
        list: () =>
          listedModels(
            fetch,
            `${withoutTrailingSlash(baseURL ?? 'https://generativelanguage.googleapis.com/v1beta')}/models?pageSize=1000`,
            { 'x-goog-api-key': apiKey },
          ),
        load: async () => {
          const { createGoogleGenerativeAI } = await import('@ai-sdk/google')
          const create = createGoogleGenerativeAI({
            apiKey,
            fetch,
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
  const fetch = providerFetch(env)
  return {
    model: value(env, 'OPENAI_COMPATIBLE_MODEL'),
    create: (model) =>
      compatibleModel('compatible', model, baseURL, {
        apiKey,
        fetch,
        media: chatMedia,
        settings: {
          key: 'OPENAI_COMPATIBLE_API_KEY',
          baseURL: 'OPENAI_COMPATIBLE_BASE_URL',
          otherApi:
            'For a server with /responses only, set OPENAI_BASE_URL and OPENAI_API_KEY in place of OPENAI_COMPATIBLE_BASE_URL, and OPENAI_MODEL with them.',
        },
      }),
  }
}

function ollama(env: ModelEnvironment): Provider | undefined {
  const isSelected = /^ollama(?:\/|$)/.test(value(env, 'JACKFIELD_MODEL') ?? '')
  const host = value(env, 'OLLAMA_HOST') ?? (isSelected ? defaultOllama : undefined)
  if (host === undefined) return undefined
  const url = ollamaUrl(host)
  if (url === undefined) throw new Error(`OLLAMA_HOST=${host} is not an address such as 127.0.0.1:11434.`)
  const baseURL = `${url.origin}/v1`
  const fetch = providerFetch(env)
  return {
    model: value(env, 'OLLAMA_MODEL') ?? 'llama3.2',
    create: (model) =>
      compatibleModel('ollama', model, baseURL, {
        apiKey: undefined,
        fetch,
        media: () => ollamaSupport(fetch, url, model),
        settings: { baseURL: 'OLLAMA_HOST' },
      }),
  }
}

function compatibleModel(
  provider: string,
  model: string,
  baseURL: string,
  {
    fetch,
    ...options
  }: Required<Pick<AiModelOptions, 'media' | 'settings'>> & {
    apiKey: string | undefined
    fetch: typeof globalThis.fetch
  },
): Model {
  const { apiKey } = options
  return aiModel({
    ...options,
    id: `${provider}/${model}`,
    list: () => listOpenAI(fetch, baseURL, apiKey),
    load: async () => {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      const create = createOpenAICompatible({
        name: provider,
        baseURL,
        includeUsage: true,
        fetch,
        ...(apiKey !== undefined && { apiKey }),
      })
      return create(model)
    },
  })
}

function listOpenAI(
  get: typeof fetch,
  baseURL: string,
  apiKey: string | undefined,
): Promise<string[] | undefined> {
  const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
  return listedModels(get, `${withoutTrailingSlash(baseURL)}/models`, headers)
}

function withoutTrailingSlash(url: string): string {
  return url.replace(/\/+$/, '')
}

/** Ollama's default address. */
const defaultOllama = '127.0.0.1:11434'
const requestTimeoutMs = 300
const showTimeoutMs = 5_000
const maxOllamaModels = 200

/** A running Ollama, and its models. */
export interface FoundOllama {
  /** In the format of `OLLAMA_HOST`. */
  host: string
  /** Most recently modified first. */
  models: readonly string[]
}

/**
 * Looks for an Ollama at `OLLAMA_HOST`, or on this machine's port 11434, for at most 300 ms. Undefined if none responds, or it
 * has no model.
 */
export async function findOllama(env: ModelEnvironment): Promise<FoundOllama | undefined> {
  const host = value(env, 'OLLAMA_HOST') ?? defaultOllama
  const url = ollamaUrl(host)
  if (url === undefined) return undefined
  try {
    const response = await providerFetch(env)(new URL('/api/tags', url), {
      signal: AbortSignal.timeout(requestTimeoutMs),
    })
    const json: unknown = response.ok ? await response.json() : undefined
    const listed = isRecord(json) && Array.isArray(json.models) ? json.models.slice(0, maxOllamaModels) : []
    const models = listed
      .filter(isRecord)
      .flatMap(({ name, modified_at: at }) =>
        typeof name === 'string' && name !== '' ? [{ name, at: typeof at === 'string' ? at : '' }] : [],
      )
      .toSorted((one, other) => (one.at < other.at ? 1 : one.at > other.at ? -1 : 0))
    return models.length === 0 ? undefined : { host, models: models.map(({ name }) => name) }
  } catch {
    return undefined
  }
}

/** The media that a model accepts, as reported by its Ollama; an assumption if it does not respond or is too old. */
async function ollamaSupport(get: typeof fetch, url: URL, model: string): Promise<MediaSupport> {
  try {
    const response = await get(new URL('/api/show', url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model }),
      signal: AbortSignal.timeout(showTimeoutMs),
    })
    const json: unknown = response.ok ? await response.json() : undefined
    return isRecord(json) && Array.isArray(json.capabilities) ? ollamaMedia(json.capabilities) : chatMedia
  } catch {
    return chatMedia
  }
}

/** The URL for calling an Ollama; undefined for an invalid address. */
function ollamaUrl(host: string): URL | undefined {
  const url = URL.parse(/^https?:\/\//.test(host) ? host : `http://${host}`)
  if (url === null) return undefined
  // Ollama's default listens on every interface, which is no address to connect to.
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  if (url.port === '' && url.protocol === 'http:') url.port = '11434'
  return url
}
