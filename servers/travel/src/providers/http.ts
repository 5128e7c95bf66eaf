import { ToolError } from '@jackfield/sdk'
import { z } from 'zod'
import { daysBetween } from '../domain/dates.ts'
import type { Place } from '../domain/places.ts'
import { describeDay } from '../domain/weather.ts'
import { optionShape } from '../schemas.ts'
import type { TravelProvider } from './provider.ts'

/*
 * Flights, hotels and weather from a service over HTTP: an example of a provider. The service answers three GET requests with
 * JSON; the README describes them.
 */

export interface HttpProviderOptions {
  /** Base URL of the service: https, or http on this machine. Its path ends where `/flights` is appended. */
  url: string
  /** Sent as bearer token. */
  token?: string | undefined
  /** Milliseconds for one request. Default 10,000. */
  timeoutMs?: number
  /** Bytes of one response. Default 1,000,000. */
  maxBytes?: number
  /** Milliseconds for which a response is used again, so that flights keep their price while a traveller decides. Default 300,000. */
  cacheMs?: number
}

const maxCached = 200
const maxOptions = 500

/** One line of text: control characters could imitate lines of the server's own results. */
const line = z
  .string()
  .min(1)
  .max(100)
  .regex(/^\P{Cc}*$/u, 'must not have control characters')
const moment = z
  .string()
  .regex(/^20\d\d-\d\d-\d\dT\d\d:\d\d$/, 'must be a local time such as 2027-06-15T18:30')
const amount = z.number().int().min(0).max(10_000_000)
const place = z.string().regex(/^[A-Z]{3}$/)

const flightsResponse = z.object({
  options: z
    .array(
      optionShape.extend({
        id: line.max(60),
        priceUsd: amount,
        departs: moment,
        arrives: moment,
        comfort: z.number().int().min(1).max(5),
        airlines: z.array(line).min(1).max(10),
        legs: z
          .array(
            z.object({
              flight: line,
              airline: line,
              from: place,
              to: place,
              departs: moment,
              arrives: moment,
              durationMinutes: amount,
            }),
          )
          .min(1)
          .max(10),
        layovers: z.array(z.object({ airport: place, city: line, minutes: amount })).max(10),
      }),
    )
    .max(maxOptions)
    .refine((options) => new Set(options.map(({ id }) => id)).size === options.length, 'ids must be unique'),
})
const hotelResponse = z.object({ hotel: line, rooms: z.number().int().min(1).max(20), priceUsd: amount })
const degrees = z.number().min(-100).max(70)
const weatherResponse = z.object({
  condition: z.enum(['sunny', 'partly cloudy', 'cloudy', 'showers', 'rain', 'snow', 'thunderstorms']),
  highC: degrees,
  lowC: degrees,
  precipitationPercent: z.number().min(0).max(100),
  windKmh: z.number().min(0).max(500),
})

/**
 * A provider that requests flights, hotels and weather from a service over HTTP.
 * @throws TypeError for a URL that cannot be used
 */
export function httpProvider(options: HttpProviderOptions): TravelProvider {
  const service = new TravelService(options)
  return {
    description: `Flights, hotels and weather come from ${service.host}. Prices can change until they are booked, and nothing is booked there.`,
    async flights(origin, destination, date, signal) {
      const query = { origin: codeOf(origin), destination: codeOf(destination), date }
      const { options: found } = await service.get('flights', query, flightsResponse, signal)
      const otherDate = found.find(({ departs }) => departs.slice(0, 10) !== date)
      if (otherDate !== undefined) {
        throw service.invalidResponse(`option ${otherDate.id} does not leave on ${date}`)
      }
      return found.toSorted((a, b) => a.priceUsd - b.priceUsd || (a.id < b.id ? -1 : 1))
    },
    async hotel({ city, checkIn, checkOut, travelers }, signal) {
      const query = { city: city.code, checkIn, checkOut, travelers: String(travelers) }
      const stay = await service.get('hotel', query, hotelResponse, signal)
      return { ...stay, checkIn, checkOut, nights: daysBetween(checkIn, checkOut) }
    },
    async weather(city, date, signal) {
      const query = { city: city.code, date }
      return describeDay(city, date, await service.get('weather', query, weatherResponse, signal))
    },
  }
}

/** Sends the requests, and caches and checks the responses. */
class TravelService {
  readonly host: string
  /** The base URL without a slash at its end. */
  readonly #root: string
  readonly #token: string | undefined
  readonly #timeoutMs: number
  readonly #maxBytes: number
  readonly #cacheMs: number
  readonly #cache = new Map<string, { until: number; body: unknown }>()

  /** @throws TypeError for a URL that cannot be used */
  constructor(options: HttpProviderOptions) {
    const { token, timeoutMs = 10_000, maxBytes = 1_000_000, cacheMs = 300_000 } = options
    const base = baseUrl(options.url)
    this.host = base.host
    this.#root = base.origin + base.pathname.replace(/\/+$/, '')
    this.#token = token
    this.#timeoutMs = timeoutMs
    this.#maxBytes = maxBytes
    this.#cacheMs = cacheMs
  }

  async get<T>(
    path: string,
    query: Record<string, string>,
    shape: z.ZodType<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const url = new URL(`${this.#root}/${path}`)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const known = this.#cache.get(url.href)
    const isFresh = known !== undefined && known.until > Date.now()
    const body = isFresh ? known.body : await this.#send(url, signal)
    const checked = shape.safeParse(body)
    if (!checked.success) {
      const [issue] = checked.error.issues
      throw this.invalidResponse(`${issue?.path.join('.') || 'the answer'}: ${issue?.message ?? 'invalid'}`)
    }
    if (!isFresh) this.#remember(url.href, body)
    return checked.data
  }

  invalidResponse(why: string): ToolError {
    return new ToolError(
      `The travel service ${this.host} sent an answer that cannot be used (${why}). Try again later; if it stays so, the operator of this server has to look at the service.`,
    )
  }

  async #send(url: URL, signal: AbortSignal): Promise<unknown> {
    const limit = AbortSignal.timeout(this.#timeoutMs)
    try {
      const response = await fetch(url, {
        redirect: 'error',
        signal: AbortSignal.any([signal, limit]),
        headers: {
          accept: 'application/json',
          ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
        },
      })
      if (!response.ok) {
        await response.body?.cancel()
        throw new ToolError(statusMessage(this.host, response))
      }
      return JSON.parse(await this.#boundedText(response))
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof ToolError) throw error
      if (error instanceof SyntaxError) throw this.invalidResponse('it is not JSON')
      throw new ToolError(
        limit.aborted
          ? `The travel service ${this.host} did not answer within ${this.#timeoutMs / 1_000} s. Try again later.`
          : `The travel service ${this.host} cannot be reached. Try again later, or have the operator of this server check --provider.`,
        { cause: error },
      )
    }
  }

  async #boundedText(response: Response): Promise<string> {
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length
      if (bytes > this.#maxBytes) throw this.invalidResponse(`it has more than ${this.#maxBytes} bytes`)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks).toString('utf8')
  }

  #remember(key: string, body: unknown): void {
    this.#cache.delete(key)
    this.#cache.set(key, { until: Date.now() + this.#cacheMs, body })
    const [oldest] = this.#cache.keys()
    if (this.#cache.size > maxCached && oldest !== undefined) this.#cache.delete(oldest)
  }
}

function codeOf({ city, airport }: Place): string {
  return airport?.code ?? city.code
}

/** @throws TypeError */
function baseUrl(text: string): URL {
  const url = URL.parse(text)
  const isLocal = url !== null && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)
  if (url === null || !(url.protocol === 'https:' || (url.protocol === 'http:' && isLocal))) {
    throw new TypeError(
      `The provider must be an https URL, or an http URL on this machine, not "${text.slice(0, 200)}"`,
    )
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new TypeError(
      'The URL of the provider must have no password, query or fragment: give the token in TRAVEL_PROVIDER_TOKEN',
    )
  }
  return url
}

function statusMessage(host: string, { status, headers }: Response): string {
  const service = `The travel service ${host}`
  switch (status) {
    case 401:
    case 403:
      return `${service} refused this server (${status}). Its operator has to check TRAVEL_PROVIDER_TOKEN.`
    case 404:
      return `${service} does not know this place or date (404). Try another city or date.`
    case 429: {
      const after = headers.get('retry-after') ?? ''
      const when = /^\d{1,6}$/.test(after) ? `in ${after} s` : 'later'
      return `${service} limits the number of requests (429). Try again ${when}.`
    }
    default:
      return status < 500
        ? `${service} did not accept the request (${status}). Try another city or date.`
        : `${service} failed (${status}). Try again later.`
  }
}
