import { isRecord } from '../shared/json.ts'
import type { ModelEnvironment } from './environment.ts'
import { chatMedia, type MediaSupport, ollamaMedia } from './media.ts'
import { providerFetch } from './provider-fetch.ts'

/** Where Ollama listens by default. */
export const usualOllama = '127.0.0.1:11434'
const patienceMs = 300
const showMs = 5_000
const most = 200

/** An Ollama that answers, and the models it holds. */
export interface FoundOllama {
  /** As `OLLAMA_HOST` takes it. */
  host: string
  /** The one that was changed last comes first. */
  models: readonly string[]
}

/**
 * Looks for an Ollama where `OLLAMA_HOST` says, or on this machine's port 11434, for at most 300 ms. Undefined where none
 * answers, or it holds no model.
 */
export async function findOllama(env: ModelEnvironment): Promise<FoundOllama | undefined> {
  const named = env['OLLAMA_HOST']?.trim()
  const host = named === undefined || named === '' ? usualOllama : named
  const url = ollamaUrl(host)
  if (url === undefined) return undefined
  try {
    const answer = await providerFetch(env)(new URL('/api/tags', url), {
      signal: AbortSignal.timeout(patienceMs),
    })
    const json: unknown = answer.ok ? await answer.json() : undefined
    const listed = isRecord(json) && Array.isArray(json.models) ? json.models.slice(0, most) : []
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

/** The media that a model accepts, as its Ollama says; an assumption where it does not answer or is too old to say. */
export async function supportOf(get: typeof fetch, url: URL, model: string): Promise<MediaSupport> {
  try {
    const answer = await get(new URL('/api/show', url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model }),
      signal: AbortSignal.timeout(showMs),
    })
    const json: unknown = answer.ok ? await answer.json() : undefined
    return isRecord(json) && Array.isArray(json.capabilities) ? ollamaMedia(json.capabilities) : chatMedia
  } catch {
    return chatMedia
  }
}

/** Where an Ollama is called; undefined for what is no address. */
export function ollamaUrl(host: string): URL | undefined {
  const url = URL.parse(/^https?:\/\//.test(host) ? host : `http://${host}`)
  if (url === null) return undefined
  // Ollama's own default listens on every interface, which is no address to call.
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  if (url.port === '' && url.protocol === 'http:') url.port = '11434'
  return url
}
