import { PassThrough, Writable } from 'node:stream'
import { defineServer, tool } from '@jackfield/sdk'
import { serveStdio } from '@jackfield/sdk/stdio'
import { describe, expect, it } from 'vitest'
import { meta, until } from './support.ts'

/** An output that keeps what each write gave it. */
function slowOutput(): { output: Writable; writes: string[] } {
  const writes: string[] = []
  const output = new Writable({
    write(chunk, _encoding, done) {
      writes.push(String(chunk))
      done()
    },
  })
  return { output, writes }
}

const call = (id: number, name: string): string =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: {}, _meta: meta() } })}\n`

const server = defineServer({
  name: 'writing',
  version: '1.0.0',
  tools: {
    small: tool({ description: 'Says little', run: () => 'little' }),
    large: tool({ description: 'Says much', run: () => 'x'.repeat(50_000) }),
  },
})

describe('the output of a server', () => {
  it('is written at once when many requests arrived at once', async () => {
    const input = new PassThrough()
    const { output, writes } = slowOutput()
    const connection = serveStdio(server, { input, output })
    input.write(Array.from({ length: 40 }, (_, at) => call(at, 'small')).join(''))
    await until(() => writes.join('').split('\n').length > 40)
    const ids = writes
      .join('')
      .trimEnd()
      .split('\n')
      .map((line): unknown => JSON.parse(line).id)
    expect(ids).toEqual(Array.from({ length: 40 }, (_, at) => at))
    expect(writes.length).toBeLessThan(8)
    await connection.close()
  })

  it('is not buffered without a limit', async () => {
    const input = new PassThrough()
    const { output, writes } = slowOutput()
    const connection = serveStdio(server, { input, output })
    input.write(Array.from({ length: 40 }, (_, at) => call(at, 'large')).join(''))
    await until(() => writes.join('').split('\n').length > 40)
    expect(Math.max(...writes.map(({ length }) => length))).toBeLessThan(200_000)
    await connection.close()
  })

  it('is complete when the server was closed right after the requests', async () => {
    const input = new PassThrough()
    const { output, writes } = slowOutput()
    const connection = serveStdio(server, { input, output })
    input.end(Array.from({ length: 5 }, (_, at) => call(at, 'small')).join(''))
    await connection.closed
    expect(writes.join('').trimEnd().split('\n')).toHaveLength(5)
  })
})
