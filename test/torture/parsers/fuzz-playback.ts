import { PassThrough, Writable } from 'node:stream'
import { playBack } from '../../../packages/host/src/log/trace/playback.ts'
import { parseRecording } from '../../../packages/host/src/log/trace/recording.ts'
import type { Recording } from '../../../packages/host/src/types/index.ts'
import { classify, parseJson } from '../../../packages/sdk/src/jsonrpc/parse.ts'
import { isObject } from '../../setup/json.ts'
import type { Random } from '../random.ts'
import { isHosts } from './fuzz-host.ts'
import { mustHold, never, type Target } from './fuzz-target.ts'
import { messages } from './fuzz-wire.ts'

/** What a recording is played from, and who it is played to. */
export function playbackTargets(): Target[] {
  return [
    { name: 'recordings played back', share: 3, seeds: recordings, run: played, allows: isHosts },
    { name: 'clients of recordings', share: 2, seeds: asked, run: spoken, allows: never },
  ]
}

const exchanges = [
  {
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
    before: [],
    answer: { result: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: {} } },
  },
  {
    method: 'tools/call',
    params: { name: 'read', arguments: { path: 'a' }, _meta: { progressToken: 1 } },
    before: [
      { message: { method: 'notifications/progress', params: { progressToken: 1, progress: 1 } } },
      { message: { method: 'roots/list' }, answer: { result: { roots: [] } } },
    ],
    answer: { result: { content: [] } },
  },
  {
    method: 'tools/call',
    params: { name: 'read', arguments: { path: 'b' } },
    before: [],
    answer: { error: { code: -32602, message: 'm', data: { a: 1 } } },
  },
  {
    method: 'subscriptions/listen',
    params: { notifications: { toolsListChanged: true } },
    before: [
      {
        message: {
          method: 'notifications/tools/list_changed',
          params: { _meta: { 'io.modelcontextprotocol/subscriptionId': 1 } },
        },
      },
    ],
  },
]
const recording = {
  format: 'jackfield-recording',
  version: 1,
  at: '2026-01-01T00:00:00Z',
  servers: { files: { revision: '2025-11-25', exchanges } },
}
const recordings: [string, ...string[]] = [JSON.stringify(recording)]
const right = parseRecording(recordings[0])
const asked: [string, ...string[]] = [
  ...([JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })] as const),
  ...exchanges.map(({ method, params }, id) => JSON.stringify({ jsonrpc: '2.0', id, method, params })),
  JSON.stringify({ jsonrpc: '2.0', id: 'recorded-1', result: { roots: [] } }),
  ...messages.slice(1),
]

/** A file that was changed, to a client that asks for what is in it. */
async function played(input: Buffer): Promise<void> {
  const read: Recording = parseRecording(input.toString('utf8'))
  for (const { exchanges: all } of Object.values(read.servers)) {
    const requests = all.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }))
    await conversation(read, requests.map((one) => JSON.stringify(one)).join('\n'))
  }
}

/** A client that sends arbitrary messages. */
async function spoken(input: Buffer, random: Random): Promise<void> {
  const again = random.fraction() < 0.5 ? `\n${asked[2]}\n` : ''
  await conversation(right, input.toString('utf8') + again)
}

/** Every line is a message, and no request is answered that was not made, or twice. */
async function conversation({ servers }: Recording, userText: string): Promise<void> {
  const wanted = userText.split('\n').flatMap((line) => idIn(line) ?? [])
  for (const server of Object.values(servers)) {
    const input = new PassThrough()
    const left = [...wanted]
    let text = ''
    const output = new Writable({
      write(chunk, _, done) {
        text += String(chunk)
        done()
      },
    })
    input.end(userText)
    await playBack(server, { input, output })
    await new Promise((resolve) => setImmediate(resolve))
    for (const line of text.split('\n').slice(0, -1)) {
      const value = parseJson(line)
      mustHold(isObject(value) && value['jsonrpc'] === '2.0', 'what is said is no message')
      const { id, method } = Object(value)
      const found = classify(typeof method === 'string' ? value : { ...Object(value), id: 1 })
      // Such a name is an unknown name to a client.
      const isNamed = found.kind === 'invalid' && found.error.message.includes('surrogate')
      mustHold(found.kind !== 'invalid' || isNamed, `what is said is no message: ${line}`)
      if (typeof method === 'string') continue
      const at = left.indexOf(JSON.stringify(id))
      mustHold(at !== -1, `an answer to ${JSON.stringify(id)}`)
      left.splice(at, 1)
    }
  }
}

function idIn(line: string): string | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) && typeof value['method'] === 'string' ? JSON.stringify(value['id']) : undefined
  } catch {
    return undefined
  }
}
