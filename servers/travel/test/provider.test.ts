import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { httpProvider } from '@jackfield/server-travel'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findPlace } from '../src/domain/places.ts'
import { searchOptions } from '../src/domain/schedule.ts'
import { clientOf, eras, filling, readJson, textOf, travelServer } from './fixture.ts'

type Answer = (request: IncomingMessage, response: ServerResponse, url: URL) => void

/** A travel service on this machine: its answers, and the requests it received. */
async function service(special?: Answer) {
  const requests: { path: string; query: Record<string, string>; token: string | undefined }[] = []
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost')
    const query = Object.fromEntries(url.searchParams)
    requests.push({ path: url.pathname, query, token: request.headers.authorization })
    if (special === undefined) response.end(JSON.stringify(answers(url.pathname, query, requests.length)))
    else special(request, response, url)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const address = server.address()
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/v1`, requests }
}

/** Prices differ on every call, as those of a real service do. */
function answers(
  path: string,
  { origin = '', destination = '', date = '' }: Record<string, string>,
  nth: number,
) {
  const [from, to] = [findPlace(origin), findPlace(destination)]
  if (path === '/v1/flights') {
    const options = from && to ? searchOptions(from, to, date).slice(0, 5) : []
    return { options: options.map((option) => ({ ...option, priceUsd: option.priceUsd + nth })) }
  }
  if (path === '/v1/hotel') return { hotel: 'Hotel Stand-in', rooms: 1, priceUsd: 700 + nth }
  return { condition: 'sunny', highC: 25, lowC: 18, precipitationPercent: 5, windKmh: 9 }
}

const wish = { destination: 'Barcelona', departure: '2027-06-15', returnDate: '2027-06-22' }
const flight = { origin: 'NYC', destination: 'Barcelona', date: '2027-06-15' }

describe.each(eras)('a travel server with a service behind it on %s', (era) => {
  test('searches, books at the price that was confirmed, and forecasts with it', async () => {
    const { url, requests } = await service()
    const provider = httpProvider({ url, token: 'secret-token', cacheMs: 0 })
    const asked: { message: string }[] = []
    const { onElicit } = filling({ confirmBooking: true })
    const client = await clientOf(
      era,
      {
        onElicit: (question, context) => {
          asked.push(question)
          return onElicit(question, context)
        },
      },
      travelServer({ provider }),
    )
    const found = await client.call('searchFlights', flight)
    expect(found.structuredContent?.options).toHaveLength(5)
    expect(requests[0]).toEqual({
      path: '/v1/flights',
      query: { origin: 'NYC', destination: 'BCN', date: '2027-06-15' },
      token: 'Bearer secret-token',
    })
    const { structuredContent } = await client.call('bookVacation', wish)
    const total = structuredContent?.booking?.total ?? 0
    expect(structuredContent?.booking?.stay.hotel).toBe('Hotel Stand-in')
    expect(asked[0]?.message).toContain(`= $${total.toLocaleString('en-US')}`)
    expect(await readJson(client, 'weather://forecast/Barcelona/2027-06-15')).toMatchObject({
      city: 'Barcelona',
      highF: 77,
      summary: 'Sunny, 18 to 25 °C, 5% chance of precipitation',
    })
  })
})

describe('the responses of a service', () => {
  const search = async (answer: Answer, options = {}) => {
    const { url, requests } = await service(answer)
    const provider = httpProvider({ url, ...options })
    const client = await clientOf('2026-07-28', {}, travelServer({ provider }))
    return { client, requests, result: () => client.call('searchFlights', flight) }
  }
  const status =
    (code: number, headers = {}): Answer =>
    (_request, response) =>
      response.writeHead(code, headers).end('{"secret":"of the service"}')
  const text =
    (body: string): Answer =>
    (_request, response) =>
      response.end(body)
  const option = { ...searchOptions(place('NYC'), place('BCN'), '2027-06-15')[0] }

  test.each<[string, Answer, string]>([
    ['refuses the token', status(401), 'Its operator has to check TRAVEL_PROVIDER_TOKEN'],
    ['does not know the place', status(404), 'Try another city or date'],
    ['limits requests', status(429, { 'retry-after': '30' }), 'Try again in 30 s'],
    [
      'limits requests until a date that is no number',
      status(429, { 'retry-after': 'x'.repeat(50) }),
      'Try again later',
    ],
    ['fails', status(503), 'failed (503). Try again later'],
    ['redirects elsewhere', status(302, { location: 'http://169.254.169.254/' }), 'cannot be reached'],
    ['sends no JSON', text('<html>'), 'it is not JSON'],
    ['sends another shape', text('{"options":[{}]}'), 'options.0.id'],
    [
      'sends lines within a name',
      text(JSON.stringify({ options: [{ ...option, airlines: ['A\nB'] }] })),
      'control characters',
    ],
    ['sends an id twice', text(JSON.stringify({ options: [option, option] })), 'ids must be unique'],
    [
      'sends a flight of another day',
      text(JSON.stringify({ options: [{ ...option, departs: '2027-06-16T10:00' }] })),
      'does not leave on 2027-06-15',
    ],
    ['closes the connection', (request) => request.socket.destroy(), 'cannot be reached'],
  ])('%s: the error says what to do', async (_what, answer, message) => {
    const { result } = await search(answer)
    const failed = await result()
    expect(failed.isError).toBe(true)
    expect(textOf(failed)).toContain(message)
    expect(textOf(failed)).not.toContain('secret')
  })

  test('is bounded in size and in time', async () => {
    const large = await search(text(JSON.stringify({ options: [], pad: 'x'.repeat(2_000) })), {
      maxBytes: 1_000,
    })
    expect(textOf(await large.result())).toContain('it has more than 1000 bytes')
    const silent = await search(() => {}, { timeoutMs: 50 })
    expect(textOf(await silent.result())).toContain('did not answer within 0.05 s')
  })

  test('is used again for a while, failures are not', async () => {
    let fails = true
    const { result, requests } = await search((_request, response) => {
      if (fails) response.writeHead(500)
      response.end('{"options":[]}')
    })
    await result()
    fails = false
    await result()
    await result()
    expect(requests).toHaveLength(2)
  })

  test('is not waited for once the call was cancelled', async () => {
    let closed = false
    const { client, requests } = await search((request) => {
      request.socket.once('close', () => {
        closed = true
      })
    })
    const cancel = new AbortController()
    const called = client.call('searchFlights', flight, { signal: cancel.signal })
    await expect.poll(() => requests.length).toBe(1)
    cancel.abort()
    await expect(called).rejects.toMatchObject({ code: 'CANCELLED' })
    await expect.poll(() => closed).toBe(true)
    await turn()
  })

  test.each([
    'http://travel.example',
    'ftp://127.0.0.1/',
    'https://user:pw@travel.example',
    'https://x.example/?k=1',
    '',
  ])('is not given for a place like %j', (url) => {
    expect(() => httpProvider({ url })).toThrow(TypeError)
  })
})

function place(name: string) {
  const found = findPlace(name)
  if (found === undefined) throw new Error(name)
  return found
}
