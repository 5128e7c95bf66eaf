import type { ProtocolVersion } from '@jackfield/sdk'
import type { Client, ConnectOptions } from '@jackfield/sdk/client'
import type { RecordedClient } from './rule.ts'
import { notifications, type RecordedMessage } from './transcript.ts'

/** Sends every kind of message of a revision, valid or refused. */
export async function exerciseEverything(
  connect: (options: ConnectOptions) => Promise<RecordedClient>,
  version: ProtocolVersion,
): Promise<readonly RecordedMessage[]> {
  const { client, transcript } = await connect({
    info: { name: 'talker', version: '1.0.0' },
    elicitation: { form: true, url: true },
    sampling: { tools: true },
    logLevel: 'debug',
    timeoutMs: 5_000,
    cache: false,
    onElicit: ({ mode }) =>
      mode === 'url' ? { action: 'accept' } : { action: 'accept', content: { ok: true } },
    onSample: () => ({
      role: 'assistant',
      model: 'tiny',
      content: { type: 'text', text: 'Paris' },
    }),
    onRoots: [{ uri: 'file:///home/ada' }],
  })
  try {
    await client.ping()
    await lists(client)
    await calls(client)
    await questions(client, version)
    await changes(client)
    await client.rootsChanged()
    await givenUp(client)
    await client.ping()
    if (version < '2026-07-28') {
      const isNotified = (all: readonly RecordedMessage[]): boolean =>
        notifications(all, 'server', 'notifications/tools/list_changed').length > 0
      await transcript.until(isNotified)
    }
    return [...transcript]
  } finally {
    await client.close()
  }
}

async function lists(client: Client): Promise<void> {
  await client.tools()
  await client.resources()
  await client.templates()
  await client.prompts()
  await failing(client.request('tools/list', { cursor: 'made up' }))
  for (const uri of ['rules://text', 'rules://bytes', 'rules://items/one']) await client.read(uri)
  for (const uri of ['rules://nowhere', 'rules://gone', 'rules://fails']) await failing(client.read(uri))
  await client.prompt('show', { topic: 'tea' })
  await failing(client.prompt('show'))
  await failing(client.prompt('none'))
  await failing(client.prompt('fails'))
  const ref = { type: 'ref/prompt' as const, name: 'show' }
  await client.complete({ ref, argument: { name: 'tone', value: '' } })
  await failing(client.complete({ ref, argument: { name: 'none', value: '' } }))
}

async function calls(client: Client): Promise<void> {
  await client.call('echo', { text: 'hello' })
  await client.call('echo', { text: 7 })
  await client.call('sum', { numbers: [1, 2] })
  await client.call('media')
  await client.call('tidy')
  await client.call('fail')
  await client.call('unkept').catch(() => {})
  for (const code of [77, -32011, -32602]) await failing(client.call('refuse', { code }))
  await failing(client.call('needsVisit'))
  await failing(client.call('none'))
  await failing(client.request('example/none', {}))
  const texts = Array.from({ length: 10 }, (_, at) => `call ${at}`)
  await Promise.all(texts.map((text) => client.call('echo', { text })))
  await Promise.all([1, 2].map(() => client.call('work', {}, { onProgress: () => {} })))
}

async function questions(client: Client, version: ProtocolVersion): Promise<void> {
  await client.call('sample')
  await client.call('roots')
  await client.call('form')
  await client.call('two')
  await client.call('visit', { id: 'visit' })
  if (version < '2025-11-25') return
  await client.call('sampleTools', { conversation: 'balanced' })
}

async function changes(client: Client): Promise<void> {
  const filter = {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ['rules://text'],
  }
  const received = new Set<string>()
  let enough = (): void => {}
  const all = new Promise<void>((resolve) => {
    enough = resolve
  })
  const watch = await client.watch(filter, (change) => {
    received.add(change.type)
    if (received.size === 4) enough()
  })
  for (const what of ['tools', 'prompts', 'resources', 'resource']) await client.call('change', { what })
  await all
  await watch.close()
}

async function givenUp(client: Client): Promise<void> {
  const stop = new AbortController()
  await failing(client.call('hang', {}, { signal: stop.signal, onProgress: () => stop.abort() }))
  await failing(client.call('hang', {}, { timeoutMs: 20 }))
}

async function failing(work: Promise<unknown>): Promise<void> {
  const failed = await work.then(
    () => false,
    () => true,
  )
  if (!failed) throw new Error('This was meant to fail')
}
