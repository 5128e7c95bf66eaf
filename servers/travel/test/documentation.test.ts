import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { protocolVersions } from '@jackfield/sdk'
import { afterAll, describe, expect, test } from 'vitest'
import { bundledProgram } from '../../../test/setup/program-file.ts'

/*
 * The requests of the introductory documents of the protocol, literally, as lines to the server's process, on each revision. Where
 * the documents show a list of parameters instead of JSON, the JSON is made from it.
 */

const main = bundledProgram('travel')
const client = { name: 'example-client', version: '1.0.0' }
const capabilities = { elicitation: {}, sampling: {}, roots: { listChanged: true } }

interface Message {
  id?: string | number
  method?: string
  params?: Record<string, unknown>
  result?: Record<string, unknown>
  error?: { code: number; message: string }
}

type Revision = (typeof protocolVersions)[number]

class Lines {
  readonly received: Message[] = []
  readonly #revision: Revision
  readonly #child: ReturnType<typeof spawn>
  #id = 0

  constructor(revision: Revision) {
    this.#revision = revision
    this.#child = spawn(process.execPath, [main, '--db', ':memory:'], { stdio: ['pipe', 'pipe', 'inherit'] })
    const child = this.#child
    if (child.stdout === null) throw new Error('no output')
    createInterface({ input: child.stdout }).on('line', (line) => this.received.push(JSON.parse(line)))
  }

  async close(): Promise<void> {
    this.#child.stdin?.end()
    if (this.#child.exitCode === null) await once(this.#child, 'exit')
  }

  send(message: object): void {
    this.#child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  /** Sends a request with the `_meta` of its revision, and waits for the response. */
  async request(method: string, params: Record<string, unknown> = {}): Promise<Message> {
    const id = this.start(method, params)
    return this.until((message) => message.id === id && message.method === undefined)
  }

  start(method: string, params: Record<string, unknown>): number {
    const id = ++this.#id
    this.send({ id, method, params: isStateless(this.#revision) ? { ...params, _meta: meta } : params })
    return id
  }

  async until(matches: (message: Message) => boolean): Promise<Message> {
    await expect.poll(() => this.received.some(matches), { timeout: 20_000 }).toBe(true)
    return this.received.find(matches) ?? {}
  }

  /**
   * Calls a tool until it wants input of this method.
   * @returns the params of that request, and a function that answers it and gives the final result
   */
  async callUntil(
    method: string,
    params: Record<string, unknown>,
  ): Promise<{ asked: Record<string, unknown>; answer(result: object): Promise<Message> }> {
    const id = this.start('tools/call', params)
    const message = await this.until(
      (one) => (one.id === id && one.method === undefined) || one.method === method,
    )
    if (message.method === method) {
      const answer = (result: object): Promise<Message> => {
        this.send({ id: message.id, result })
        return this.until((one) => one.id === id && one.method === undefined)
      }
      return { asked: message.params ?? {}, answer }
    }
    expect(message.result).toMatchObject({ resultType: 'input_required' })
    const { inputRequests, requestState } = Object(message.result)
    const [key = ''] = Object.keys(Object(inputRequests))
    expect(Object(inputRequests)[key]).toMatchObject({ method })
    return {
      asked: Object(inputRequests)[key].params,
      answer: (result) =>
        this.request('tools/call', { ...params, requestState, inputResponses: { [key]: result } }),
    }
  }
}

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': client,
  'io.modelcontextprotocol/clientCapabilities': capabilities,
}

function isStateless(revision: Revision): boolean {
  return revision === '2026-07-28'
}

/** The processes that the tests of each revision share. No test depends on what another one stored. */
const processes = new Map<Revision, Promise<Lines>>()

afterAll(async () => {
  for (const lines of processes.values()) await (await lines).close()
})

/** A process that is ready for requests of a revision. */
function open(revision: Revision): Promise<Lines> {
  const lines = processes.get(revision) ?? start(revision)
  processes.set(revision, lines)
  return lines
}

async function start(revision: Revision): Promise<Lines> {
  const lines = new Lines(revision)
  if (isStateless(revision)) return lines
  const response = await lines.request('initialize', {
    protocolVersion: revision,
    capabilities,
    clientInfo: client,
  })
  expect(response.result).toMatchObject({
    protocolVersion: revision,
    capabilities: { tools: {}, resources: {}, prompts: {} },
    serverInfo: { name: 'travel' },
  })
  lines.send({ method: 'notifications/initialized' })
  return lines
}

describe.each(protocolVersions)('the documents on %s', (revision) => {
  const complete = isStateless(revision) ? { resultType: 'complete' } : {}
  const has = (since: Revision): boolean => revision >= since

  test('tools/list and tools/call: searchFlights, createCalendarEvent, sendEmail', async () => {
    const lines = await open(revision)
    const { result } = await lines.request('tools/list')
    expect(result).toMatchObject(complete)
    expect(Object(result).tools).toContainEqual(
      expect.objectContaining({
        name: 'searchFlights',
        description: expect.stringMatching(/^Search for available flights/),
        inputSchema: expect.objectContaining({
          type: 'object',
          properties: {
            origin: expect.objectContaining({
              type: 'string',
              description: expect.stringContaining('Departure city'),
            }),
            destination: expect.objectContaining({
              type: 'string',
              description: expect.stringContaining('Arrival city'),
            }),
            date: expect.objectContaining({
              type: 'string',
              format: 'date',
              description: expect.stringContaining('Travel date'),
            }),
          },
          required: ['origin', 'destination', 'date'],
        }),
      }),
    )
    const found = await lines.request('tools/call', {
      name: 'searchFlights',
      arguments: { origin: 'NYC', destination: 'Barcelona', date: '2024-06-15' },
    })
    expect(found.result).toMatchObject({ ...complete, content: [{ type: 'text', text: expect.any(String) }] })
    expect(Object(found.result).isError ?? false).toBe(false)
    if (has('2025-06-18')) {
      expect(Object(found.result).structuredContent.options[0]).toMatchObject({
        id: expect.any(String),
        priceUsd: expect.any(Number),
      })
    } else expect(found.result).not.toHaveProperty('structuredContent')

    const blocked = await lines.request('tools/call', {
      name: 'createCalendarEvent',
      arguments: { title: 'Barcelona Trip', startDate: '2024-06-15', endDate: '2024-06-22' },
    })
    expect(JSON.stringify(blocked.result)).toContain('Barcelona Trip')
    const sent = await lines.request('tools/call', {
      name: 'sendEmail',
      arguments: { to: 'team@work.com', subject: 'Out of Office', body: '...' },
    })
    expect(JSON.stringify(sent.result)).toContain('outbox')
    const calendar = await lines.request('resources/read', { uri: 'calendar://events/2024' })
    expect(JSON.stringify(calendar.result)).toContain('Barcelona Trip')
  })

  test('resources/list, resources/templates/list and resources/read', async () => {
    const lines = await open(revision)
    const listed = await lines.request('resources/list')
    expect(listed.result).toMatchObject(complete)
    expect(Object(listed.result).resources).toContainEqual(
      expect.objectContaining({ uri: 'trips://history/barcelona-2023', mimeType: 'text/markdown' }),
    )
    const { result } = await lines.request('resources/templates/list')
    const title = (text: string) => (has('2025-06-18') ? { title: text } : {})
    expect(Object(result).resourceTemplates).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          uriTemplate: 'weather://forecast/{city}/{date}',
          name: 'weather-forecast',
          ...title('Weather Forecast'),
          description: 'Get weather forecast for any city and date',
          mimeType: 'application/json',
        }),
        expect.objectContaining({
          uriTemplate: 'travel://flights/{origin}/{destination}',
          name: 'flight-search',
          ...title('Flight Search'),
          description: expect.stringMatching(/^Search available flights between cities/),
          mimeType: 'application/json',
        }),
        expect.objectContaining({ uriTemplate: 'travel://activities/{city}/{category}' }),
      ]),
    )
    for (const [uri, text] of [
      ['calendar://events/2024', '"events"'],
      ['trips://history/barcelona-2023', '# Barcelona'],
      ['weather://forecast/Barcelona/2024-06-15', '"condition"'],
      ['travel://flights/NYC/Barcelona', '"cheapest"'],
      ['travel://activities/barcelona/museums', 'Picasso Museum'],
    ] as const) {
      const read = await lines.request('resources/read', { uri })
      expect(read.result, uri).toMatchObject({
        ...complete,
        contents: [{ uri, text: expect.stringContaining(text) }],
      })
    }
  })

  test('completion/complete: "Par" is Paris or Park City, and "Bar" from NYC is Barcelona or Barbados', async () => {
    const lines = await open(revision)
    const par = await lines.request('completion/complete', {
      ref: { type: 'ref/resource', uri: 'weather://forecast/{city}/{date}' },
      argument: { name: 'city', value: 'Par' },
    })
    expect(par.result).toMatchObject({ completion: { values: ['Paris', 'Park City'] } })
    const bar = await lines.request('completion/complete', {
      ref: { type: 'ref/resource', uri: 'travel://flights/{origin}/{destination}' },
      argument: { name: 'destination', value: 'Bar' },
      context: { arguments: { origin: 'NYC' } },
    })
    expect(Object(bar.result).completion.values).toEqual(expect.arrayContaining(['Barcelona', 'Barbados']))
  })

  test('prompts/list and prompts/get: plan-vacation', async () => {
    const lines = await open(revision)
    const { result } = await lines.request('prompts/list')
    expect(Object(result).prompts).toEqual([
      expect.objectContaining({
        name: 'plan-vacation',
        ...(has('2025-06-18') ? { title: 'Plan a vacation' } : {}),
        description: 'Guide through vacation planning process',
        arguments: expect.arrayContaining([
          expect.objectContaining({ name: 'destination', required: true }),
          expect.objectContaining({ name: 'duration', description: 'days' }),
          expect.objectContaining({ name: 'budget' }),
          expect.objectContaining({ name: 'interests' }),
        ]),
      }),
    ])
    // The arguments of a prompt are strings on the wire.
    for (const args of [
      {
        destination: 'Barcelona',
        duration: '7 days',
        budget: '$3000',
        interests: '["beaches", "architecture", "food"]',
      },
      {
        destination: 'Barcelona',
        departure_date: '2024-06-15',
        return_date: '2024-06-22',
        budget: '3000',
        travelers: '2',
      },
    ]) {
      const got = await lines.request('prompts/get', { name: 'plan-vacation', arguments: args })
      expect(got.result).toMatchObject({
        ...complete,
        messages: expect.arrayContaining([
          {
            role: 'user',
            content: { type: 'text', text: expect.stringContaining('Plan a vacation in Barcelona') },
          },
        ]),
      })
    }
  })

  test('sampling/createMessage: findBestFlight requests the best of 47 flights, and returns three', async () => {
    const lines = await open(revision)
    const { asked, answer } = await lines.callUntil('sampling/createMessage', {
      name: 'findBestFlight',
      arguments: {
        origin: 'NYC',
        destination: 'Barcelona',
        date: '2026-06-15',
        preferences: 'morning departure, max 1 layover',
      },
    })
    expect(asked).toMatchObject({
      messages: [
        {
          role: 'user',
          content: {
            type: 'text',
            text: expect.stringMatching(
              /^Analyze these flight options and recommend the best choice:\n[\s\S]*\nUser preferences: morning departure, max 1 layover\n/,
            ),
          },
        },
      ],
      modelPreferences: {
        hints: [{ name: 'claude-sonnet-4-20250514' }],
        costPriority: 0.3,
        speedPriority: 0.2,
        intelligencePriority: 0.9,
      },
      systemPrompt: 'You are a travel expert helping users find the best flights based on their preferences',
      maxTokens: 1500,
    })
    const listed = Object(asked)
      ['messages'][0].content.text.split('\n')
      .filter((line: string) => line.includes('@2026-06-15 |'))
    expect(listed).toHaveLength(47)
    const id = listed[10].split(' | ')[0]
    const { result } = await answer({
      role: 'assistant',
      model: 'claude-sonnet-4-20250514',
      stopReason: 'endTurn',
      content: { type: 'text', text: JSON.stringify({ recommendations: [{ id, reason: 'Leaves early.' }] }) },
    })
    const text = Object(result).content[0].text
    expect(text).toContain(`1. ${id}`)
    expect(text).toMatch(/\n2\. [\s\S]*\n3\. /)
  })

  test('roots/list: saveItinerary requests the folders of the client', async () => {
    const lines = await open(revision)
    const { answer } = await lines.callUntil('roots/list', {
      name: 'saveItinerary',
      arguments: { title: 'Barcelona', content: 'Sagrada Família' },
    })
    const { result } = await answer({
      roots: [{ uri: 'file:///Users/agent/travel-planning', name: 'Travel Planning Workspace' }],
    })
    // There is no such folder here.
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('does not exist') }],
    })
  })
})

describe.each(protocolVersions.filter((revision) => revision >= '2025-06-18'))(
  'forms of the documents on %s',
  (revision) => {
    test('elicitation/create: bookVacation requests a confirmation', async () => {
      const lines = await open(revision)
      const call = {
        name: 'bookVacation',
        arguments: {
          destination: 'Barcelona',
          departure: '2099-06-15',
          returnDate: '2099-06-22',
          travelers: 2,
        },
      }
      const { asked, answer } = await lines.callUntil('elicitation/create', call)
      const choice = (...values: string[]) =>
        expect.toSatisfy(
          ({ enum: names, oneOf }: { enum?: string[]; oneOf?: { const: string }[] }) =>
            JSON.stringify(names ?? oneOf?.map((one) => one.const)) === JSON.stringify(values),
        )
      expect(asked).toMatchObject({
        ...(revision >= '2025-11-25' ? { mode: 'form' } : {}),
        message: expect.stringMatching(/^Please confirm your Barcelona vacation booking details:/),
        requestedSchema: {
          type: 'object',
          properties: {
            confirmBooking: {
              type: 'boolean',
              description: expect.stringMatching(/^Confirm the booking \(Flights \+ Hotel = \$[\d,]+\)$/),
            },
            seatPreference: choice('window', 'aisle', 'no preference'),
            roomType: choice('sea view', 'city view', 'garden view'),
            travelInsurance: { type: 'boolean', default: false, description: 'Add travel insurance ($150)' },
          },
          required: ['confirmBooking'],
        },
      })
      const declined = await answer({ action: 'decline' })
      expect(JSON.stringify(declined.result)).toContain('Nothing was booked')
      const read = await lines.request('resources/read', { uri: 'travel://bookings' })
      expect(Object(read.result).contents[0].text).toContain('"bookings": []')
    })
  },
)

describe('the documents on 2026-07-28', () => {
  test('server/discover and subscriptions/listen', async () => {
    const lines = await open('2026-07-28')
    const { result } = await lines.request('server/discover')
    expect(result).toMatchObject({
      resultType: 'complete',
      supportedVersions: expect.arrayContaining(['2026-07-28']),
      capabilities: { tools: { listChanged: true }, resources: {} },
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'travel' } },
      ttlMs: expect.any(Number),
    })
    const id = lines.start('subscriptions/listen', { notifications: { toolsListChanged: true } })
    expect(
      await lines.until(({ method }) => method === 'notifications/subscriptions/acknowledged'),
    ).toMatchObject({
      params: {
        _meta: { 'io.modelcontextprotocol/subscriptionId': id },
        notifications: { toolsListChanged: true },
      },
    })
  })
})
