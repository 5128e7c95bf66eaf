import { connect } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'

const shop = await connect(stdio({ command: 'node', args: ['server.ts'] }), {
  onElicit: ({ message }) => ({ action: 'accept', content: { ok: message.includes('42') } }),
})
const { content } = await shop.call('refund', { order: '42' })
console.log(content)
await shop.close()
