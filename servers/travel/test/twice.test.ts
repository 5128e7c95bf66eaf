import { serveHttp } from '@jackfield/sdk/http'
import { expect, onTestFinished, test } from 'vitest'
import { clientOf, readJson, travelServer } from './fixture.ts'

const key = 'a secret that two nodes of one service share'

test('an answer that arrives on two nodes books once', async () => {
  const server = travelServer()
  // A booking hands the key of its step on, so it may be asked for twice.
  const options = { keys: [key], acceptUnknownStates: true, onWarning: () => {} }
  const nodes = [serveHttp(server, options), serveHttp(server, options)]
  onTestFinished(() => Promise.all(nodes.map((node) => node.close())).then(() => {}))
  const [first, second] = nodes
  if (first === undefined || second === undefined) throw new Error('no nodes')
  const call = {
    name: 'bookVacation',
    arguments: { destination: 'Barcelona', departure: '2027-06-15', returnDate: '2027-06-22' },
  }
  const asked = await post(first, call)
  expect(asked).toMatchObject({ result: { resultType: 'input_required', requestState: expect.any(String) } })
  const confirmed = await post(first, {
    ...call,
    requestState: Object(asked['result']).requestState,
    inputResponses: { 'confirm-booking': { action: 'accept', content: { confirmBooking: true } } },
  })
  expect(confirmed).toMatchObject({
    result: { resultType: 'input_required', inputRequests: { 'traveler-details': {} } },
  })
  const retry = {
    ...call,
    requestState: Object(confirmed['result']).requestState,
    inputResponses: { 'traveler-details': { action: 'accept', content: {} } },
  }
  const answers = [await post(first, retry), await post(second, retry)]
  const ids = answers.map(bookingId)
  expect(ids[0]).toMatch(/^JF-/)
  expect(ids[1]).toBe(ids[0])
  const client = await clientOf('2026-07-28', {}, server)
  expect(await readJson(client, 'travel://bookings')).toMatchObject({ bookings: [{ id: ids[0] }] })
  expect(Object(await readJson(client, 'travel://bookings')).bookings).toHaveLength(1)
})

async function post(
  node: ReturnType<typeof serveHttp>,
  params: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const response = await node.fetch(
    new Request('http://127.0.0.1/mcp', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'bookVacation',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          ...params,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
            'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
          },
        },
      }),
    }),
  )
  return Object(await response.json())
}

function bookingId(answer: Record<string, unknown>): unknown {
  return Object(answer['result']).structuredContent?.booking?.id
}
