import { connect } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { child } from '../client/support/child.ts'
import { discovered, scripted, sse } from '../client/support/http.ts'
import { called } from '../client/support/results.ts'

const malformed: [string, object][] = [
  ['neither result nor error', {}],
  ['both result and error', { result: {}, error: { code: 1, message: 'm' } }],
  ['a result that is a text', { result: 'fine' }],
  ['an error without a code', { error: { message: 'm' } }],
]
const refusal = { code: 'PROTOCOL', message: expect.stringContaining('The response is invalid') }
const fine = { content: [{ type: 'text', text: 'fine' }] }

describe('a malformed response with a known id', () => {
  it.each(malformed)('fails only its call, at once: over a pipe, %s', async (_, members) => {
    const program = `each((message) => {
      if (message.method === 'server/discover') return modern(message)
      if (message.params.name === 'bad') send({ id: message.id, ...${JSON.stringify(members)} })
      else send({ id: message.id, result: done('fine') })
    })`
    const client = await connect(child(program))
    onTestFinished(() => client.close())
    const [bad, good] = await Promise.allSettled([client.call('bad'), client.call('good')])
    expect(bad).toMatchObject({ reason: refusal })
    expect(good).toMatchObject({ value: fine })
  })

  it.each(malformed)('fails only its call, at once: over HTTP, %s', async (_, members) => {
    const server = await scripted((one) => {
      if (discovered(one)) return
      const { id, params } = one.message
      const answer = { jsonrpc: '2.0', id, ...members }
      if (params.name === 'body') {
        one.res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
      } else sse(one.res)({ data: answer })
    })
    const client = await connect(server.url)
    onTestFinished(() => client.close())
    for (const way of ['body', 'stream']) await expect(client.call(way), way).rejects.toMatchObject(refusal)
  })

  it('is dropped and reported if its id is unknown, or the server sends it as a request', async () => {
    const warnings: string[] = []
    const server = await scripted((one) => {
      if (discovered(one)) return
      const { id } = one.message
      const send = sse(one.res)
      send({ data: { jsonrpc: '2.0', id: 'another' } })
      send({ data: { jsonrpc: '2.0', id, method: '' } })
      send({ data: { jsonrpc: '2.0', id, result: called(fine) } })
      one.res.end()
    })
    const client = await connect(server.url, { onWarning: (warning) => warnings.push(warning) })
    onTestFinished(() => client.close())
    await expect(client.call('x')).resolves.toMatchObject(fine)
    expect(warnings.filter((text) => text.startsWith('Ignored output that is not a message'))).toHaveLength(2)
  })
})
