import { connect } from '@jackfield/sdk/client'
import { expect, it, onTestFinished } from 'vitest'
import { child } from '../client/support/child.ts'
import { discovered, scripted, sse } from '../client/support/http.ts'
import { called } from '../client/support/results.ts'

const text = (value: string) => ({ content: [{ type: 'text', text: value }] })

/** The JSON of an answer, with a byte in its text that is no UTF-8. */
function broken(id: unknown): Buffer {
  const json = JSON.stringify({ jsonrpc: '2.0', id, result: called(text('@')) })
  const [before = '', after = ''] = json.split('@')
  return Buffer.concat([Buffer.from(before), Buffer.from([0xe9]), Buffer.from(after)])
}

it('a response over HTTP that is not UTF-8 is rejected, and such an event is dropped and reported', async () => {
  const warnings: string[] = []
  const server = await scripted((one) => {
    if (discovered(one)) return
    const { id, params } = one.message
    if (params.name === 'whole') {
      one.res.writeHead(200, { 'content-type': 'application/json' }).end(broken(id))
      return
    }
    const send = sse(one.res)
    one.res.write(Buffer.concat([Buffer.from('data: '), broken(id), Buffer.from('\n\n')]))
    send({ data: { jsonrpc: '2.0', id, result: called(text('right')) } })
    one.res.end()
  })
  const client = await connect(server.url, { onWarning: (warning) => warnings.push(warning) })
  onTestFinished(() => client.close())
  await expect(client.call('whole')).rejects.toMatchObject({
    code: 'PROTOCOL',
    message: expect.stringContaining('not valid UTF-8'),
  })
  await expect(client.call('event')).resolves.toMatchObject(text('right'))
  expect(warnings).toEqual(['Ignored output that is not a message (not valid UTF-8)'])
})

it('a line of a child process that is not UTF-8 is dropped and reported', async () => {
  const warnings: string[] = []
  const program = `each((message) => {
    if (message.method === 'server/discover') return modern(message)
    process.stdout.write(Buffer.from([0x22, 0xff, 0x22, 0x0a]))
    send({ id: message.id, result: done('fine') })
  })`
  const client = await connect(child(program), { onWarning: (warning) => warnings.push(warning) })
  onTestFinished(() => client.close())
  await expect(client.call('x')).resolves.toMatchObject(text('fine'))
  expect(warnings).toEqual(['Ignored output that is not a message (not valid UTF-8)'])
})
