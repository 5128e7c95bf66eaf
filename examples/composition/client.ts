import { connect } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'

const office = await connect(stdio({ command: 'node', args: ['examples/composition/server.ts'] }), {
  onElicit: () => ({ action: 'accept', content: { ok: true } }),
})
console.log((await office.tools()).map(({ name }) => name))
console.log((await office.call('shop__refund', { order: '42' })).content)
console.log((await office.call('desk__note', { text: 'refunded 42' })).content)
await office.close()
