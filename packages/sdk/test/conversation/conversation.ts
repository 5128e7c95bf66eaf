import {
  defineServer,
  type ProtocolVersion,
  prompt,
  protocolVersions,
  RpcError,
  resource,
  type Server,
  template,
  tool,
} from '@jackfield/sdk'
import { type Client, type ConnectOptions, connect, type Target } from '@jackfield/sdk/client'
import { serveHttp } from '@jackfield/sdk/http'
import { z } from 'zod'
import { isObject } from '../../../../test/setup/json.ts'
import { tick, until } from '../client/support/http.ts'

/** One message as it was sent, and the method of the request it answers. */
export interface RecordedMessage {
  readonly by: 'client' | 'server'
  readonly message: Readonly<Record<string, unknown>>
  readonly answers: string | undefined
}

export interface TransportAndRevision {
  readonly transport: 'memory' | 'http'
  readonly revision: ProtocolVersion
}

/** Every revision over every transport that has it. */
export const places: readonly TransportAndRevision[] = (['memory', 'http'] as const).flatMap((transport) =>
  protocolVersions
    .filter((revision) => transport === 'memory' || revision > '2024-11-05')
    .map((revision) => ({ transport, revision })),
)

const bytes = new Uint8Array([0, 250, 251, 252, 253, 254, 255])
const question = { message: 'Sure?', schema: z.object({ ok: z.boolean() }) }

/** A server that sends every kind of message. */
function everything(): Server {
  const server: Server = defineServer({
    name: 'everything',
    version: '1.0.0',
    instructions: 'Ask me anything.',
    icons: [{ src: 'https://example.com/icon.png' }],
    pageSize: 3,
    onError: () => {},
    tools: {
      add: tool({
        input: z.object({ a: z.number() }),
        output: z.object({ sum: z.number() }),
        run: ({ a }) => ({ sum: a + 1 }),
      }),
      media: tool({
        run: () => [
          { type: 'image', data: 'AA==', mimeType: 'image/png' },
          { type: 'audio', data: 'AA==', mimeType: 'audio/wav' },
          { type: 'resource_link', uri: 'x:text', name: 'text' },
          { type: 'resource', resource: { uri: 'x:text', mimeType: 'text/plain', text: 'hello' } },
        ],
      }),
      fail: tool({
        run: () => {
          throw new Error('secret')
        },
      }),
      refuse: tool({
        run: () => {
          throw new RpcError(77, 'not today', { why: 'rain' })
        },
      }),
      ask: tool({
        async run(_, ctx) {
          if (ctx.can('elicitation')) await ctx.elicit(question)
          if (ctx.can('elicitation.url')) await ctx.elicitUrl({ message: 'Go', url: 'https://example.com/' })
          const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Q' } }]
          await ctx.sample({ messages, maxTokens: 5 })
          await ctx.roots()
          return 'asked'
        },
      }),
      work: tool({
        async run(_, ctx) {
          for (const step of [1, 2, 3]) {
            ctx.progress(step, 3, `step ${step}`)
            ctx.log('info', { step }, 'work')
            await tick(1)
          }
          return 'worked'
        },
      }),
      hang: tool({
        run: (_, ctx) =>
          new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve())),
      }),
      change: tool({
        run: () => {
          server.add({ tools: { [`extra${Math.random()}`]: tool({ run: () => 'x' }) } })
          server.resourceUpdated('x:text')
          return 'changed'
        },
      }),
    },
    resources: {
      text: resource({ uri: 'x:text', title: 'Text', read: () => 'hello' }),
      bytes: resource({ uri: 'x:bytes', mimeType: 'image/png', read: () => bytes }),
      item: template({
        uriTemplate: 'x:items/{name}',
        complete: { name: (value) => [`${value}pple`] },
        read: ({ name }) => `item ${name}`,
      }),
    },
    prompts: {
      show: prompt({
        input: z.object({ topic: z.string() }),
        complete: { topic: () => ['tea', 'time'] },
        run: ({ topic }) => [
          { role: 'user', content: { type: 'text', text: topic } },
          { role: 'user', content: { type: 'image', data: 'AA==', mimeType: 'image/png' } },
          { role: 'user', content: { type: 'audio', data: 'AA==', mimeType: 'audio/wav' } },
          {
            role: 'assistant',
            content: { type: 'resource', resource: { uri: 'x:bytes', mimeType: 'image/png', blob: 'AA==' } },
          },
        ],
      }),
    },
  })
  return server
}

const recorded = new Map<string, Promise<RecordedMessage[]>>()

/** Every kind of message between a client and a server, in order; exchanged once for each transport and revision. */
export function conversation(place: TransportAndRevision): Promise<RecordedMessage[]> {
  const name = `${place.transport} ${place.revision}`
  const recording = recorded.get(name) ?? record(place)
  recorded.set(name, recording)
  return recording
}

async function record({ transport, revision }: TransportAndRevision): Promise<RecordedMessage[]> {
  const messages: RecordedMessage[] = []
  const asked = new Map<string, string>()
  const recordMessage: ConnectOptions['onMessage'] = (direction, message) => {
    const by = direction === 'sent' ? 'client' : 'server'
    const copy: unknown = JSON.parse(JSON.stringify(message))
    if (!isObject(copy)) throw new Error('a message must be an object')
    const { id, method } = copy
    if (typeof method === 'string') asked.set(`${by} ${JSON.stringify(id)}`, method)
    const requester = by === 'client' ? 'server' : 'client'
    const answers = method === undefined ? asked.get(`${requester} ${JSON.stringify(id)}`) : undefined
    messages.push({ by, message: copy, answers })
  }
  const server = everything()
  let target: Target = server
  let stop = async (): Promise<void> => {}
  if (transport === 'http') {
    const { url, close } = await serveHttp(server, { keys: ['k'.repeat(32)] }).listen()
    target = url
    stop = close
  }
  const client = await connect(target, {
    revisions: [revision],
    info: { name: 'talker', version: '1.0.0' },
    elicitation: { form: true, url: true },
    logLevel: 'debug',
    onElicit: ({ mode }) =>
      mode === 'url' ? { action: 'accept' } : { action: 'accept', content: { ok: true } },
    onSample: () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'A' } }),
    onRoots: [{ uri: 'file:///home' }],
    onMessage: recordMessage,
    cache: false,
  })
  try {
    await exerciseEverything(client)
  } finally {
    await client.close()
    await stop()
  }
  return messages
}

async function exerciseEverything(client: Client): Promise<void> {
  const failing = async (work: Promise<unknown>): Promise<void> => {
    await work.then(
      () => {
        throw new Error('should have failed')
      },
      () => {},
    )
  }
  await client.ping()
  await client.tools()
  await client.call('add', { a: 1 })
  await client.call('add', { a: 'one' })
  await client.call('media')
  await client.call('fail')
  await failing(client.call('refuse'))
  await failing(client.call('no such tool'))
  await client.call('ask')
  const progress: number[] = []
  await Promise.all([
    client.call('work', {}, { onProgress: (report) => progress.push(report.progress) }),
    client.call('work', {}, { onProgress: () => {} }),
  ])
  await client.resources()
  await client.templates()
  for (const uri of ['x:text', 'x:bytes', 'x:items/a']) await client.read(uri)
  await failing(client.read('x:missing'))
  await client.prompts()
  await client.prompt('show', { topic: 'tea' })
  await failing(client.prompt('show'))
  await failing(client.request('tools/list', { cursor: 'nonsense' }))
  await client.complete({ ref: { type: 'ref/prompt', name: 'show' }, argument: { name: 'topic', value: '' } })
  const received: unknown[] = []
  const filter = { toolsListChanged: true, resourceSubscriptions: ['x:text'] }
  const watch = await client.watch(filter, (change) => received.push(change))
  await client.call('change')
  await until(() => received.length >= 2)
  await watch.close()
  await client.rootsChanged()
  await failing(client.call('hang', {}, { timeoutMs: 40 }))
  await client.ping()
}

/** The requests one side sent. */
export function requests(messages: readonly RecordedMessage[], by: RecordedMessage['by']): RecordedMessage[] {
  return messages.filter((one) => one.by === by && 'method' in one.message && 'id' in one.message)
}

/** The responses one side gave. */
export function answers(messages: readonly RecordedMessage[], by: RecordedMessage['by']): RecordedMessage[] {
  return messages.filter((one) => one.by === by && !('method' in one.message))
}

/** Everything that is neither. */
export function notifications(messages: readonly RecordedMessage[]): RecordedMessage[] {
  return messages.filter((one) => 'method' in one.message && !('id' in one.message))
}

/** A member of what may be an object. */
export function member(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined
}

/** The `_meta` of params or of a result; empty where there is none. */
export function metaOf(part: unknown): Record<string, unknown> {
  const meta = member(part, '_meta')
  return isObject(meta) ? meta : {}
}
