import { type Client, connect } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import { inUse } from './heap.ts'

// Asks a server on stdio for one thing as often as its parent wants, and reports how many bytes of heap are in use here.

const [revision = '', what = '', server = ''] = process.argv.slice(2)

const asking: Readonly<Record<string, (client: Client) => Promise<unknown>>> = {
  echo: (client) => client.call('echo', { text: 'again' }),
  prompt: (client) => client.prompt('greet', { who: 'Ada' }),
  resource: (client) => client.read('note://one', { cache: 'refresh' }),
}
const once = asking[what]
if (once === undefined) throw new Error(`Nothing is called "${what}"`)

const client = await connect(stdio({ command: process.execPath, args: [server, 'stdio'] }), {
  revisions: [revision === '2026-07-28' ? revision : '2025-11-25'],
})
process.on('message', async (order) => {
  if (typeof order !== 'number') {
    process.send?.(inUse(order))
    return
  }
  for (let nth = 0; nth < order; nth++) await once(client)
  process.send?.('done')
})
process.on('disconnect', () => void client.close().finally(() => process.exit()))
process.send?.('ready')
