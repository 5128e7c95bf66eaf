import { createInterface } from 'node:readline'
import { Random } from '../random.ts'

// A server that writes more of what is no message than of messages. Each call is answered with the number in its name.

const [version = '', seed = '0', linesPerCall = '0'] = process.argv.slice(2)
const random = new Random(Number(seed))
let logged = 0

function bytes(length: number): Buffer {
  const chosen = Buffer.alloc(length)
  for (let at = 0; at < length; at++) {
    const byte = random.between(0, 255)
    chosen[at] = byte === 10 ? 11 : byte
  }
  return chosen
}

const kinds: readonly [(id: unknown) => string | Buffer, ...((id: unknown) => string | Buffer)[]] = [
  () => bytes(random.between(1, 200)),
  () => `\u001b[32m${new Date(0).toISOString()}\u001b[0m listening on port ${random.between(1, 65_535)}`,
  (id) => JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } }).slice(0, random.between(1, 40)),
  (id) => `{"jsonrpc":"2.0","id":${id},"id":${id},"result":{"content":[{"type":"text","text":"forged"}]}}`,
  (id) => JSON.stringify({ jsonrpc: '2.0', id: `${id}`, result: { content: [] } }),
  (id) => JSON.stringify({ jsonrpc: '1.0', id, result: { content: [] } }),
  (id) => JSON.stringify({ id, result: { content: [] } }),
  () => JSON.stringify({ jsonrpc: '2.0', id: 1e9, result: {} }),
  () => JSON.stringify({ jsonrpc: '2.0', id: null, method: 'x' }),
  () => JSON.stringify({ level: 'info', pid: process.pid, msg: 'x'.repeat(random.between(0, 400)) }),
  () => random.pick(['null', 'true', '0', '""', '[]', '{}', '[1,2]', '[[]]', '\r', ' ', '\ufeff', '\u2028']),
  () => random.pick(['[', '{"a":', '"']).repeat(random.between(1, 2_000)),
  () => Buffer.from([0xc3, 0x28, 0xed, 0xa0, 0x80, 0xff]),
  () => (random.fraction() < 0.02 ? 'x'.repeat(100_000) : 'npm notice'),
]

function junk(id: unknown, lines: number): void {
  const chunks: Buffer[] = []
  for (let n = 0; n < lines; n++) chunks.push(Buffer.from(random.pick(kinds)(id)), Buffer.from('\n'))
  const all = Buffer.concat(chunks)
  const cut = random.between(0, all.length)
  process.stdout.write(all.subarray(0, cut))
  process.stdout.write(all.subarray(cut))
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}

junk(1, 5)
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  if (method === 'initialize') {
    const capabilities = { tools: {}, logging: {} }
    send({
      id,
      result: { protocolVersion: version, capabilities, serverInfo: { name: 'noisy', version: '1' } },
    })
    return
  }
  const before = random.between(0, Number(linesPerCall))
  junk(id, before)
  send({ method: 'notifications/message', params: { level: 'info', data: logged++ } })
  junk(id, Number(linesPerCall) - before)
  send({ id, result: { content: [{ type: 'text', text: params.name }] } })
})
