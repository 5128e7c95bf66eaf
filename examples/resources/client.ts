import { deepEqual, equal } from 'node:assert/strict'
import { RpcError } from '@jackfield/sdk'
import { connect } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'

const wiki = await connect(stdio({ command: 'node', args: ['examples/resources/server.ts'] }))
const text = async (uri: string): Promise<unknown> => {
  const [first] = (await wiki.read(uri)).contents
  return first !== undefined && 'text' in first ? first.text : undefined
}

deepEqual(
  (await wiki.resources()).map(({ uri }) => uri),
  ['wiki://index'],
)
deepEqual(
  (await wiki.templates()).map(({ uriTemplate }) => uriTemplate),
  ['wiki://pages/{name}'],
)
equal(await text('wiki://pages/home'), 'Welcome.')

const ref = { type: 'ref/resource', uri: 'wiki://pages/{name}' } as const
const { values } = await wiki.complete({ ref, argument: { name: 'name', value: 'h' } })
deepEqual(values, ['home', 'help'])

const missing = await wiki.read('wiki://pages/nowhere').catch((error: unknown) => error)
equal(missing instanceof RpcError, true)

// On 2026-07-28 this is one `subscriptions/listen`, before it a `resources/subscribe`.
const received = Promise.withResolvers<unknown>()
const watch = await wiki.watch({ resourceSubscriptions: ['wiki://pages/home'] }, received.resolve)
await wiki.call('write', { name: 'home', text: 'Welcome back.' })
deepEqual(await received.promise, { type: 'resource', uri: 'wiki://pages/home' })
equal(await text('wiki://pages/home'), 'Welcome back.')
await watch.close()
await wiki.close()
console.log('Listed, read by a template, completed, and notified of a change.')
