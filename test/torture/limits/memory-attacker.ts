import process from 'node:process'
import { attacks } from './memory-attacks.ts'

/** Makes one attack from a process of its own, and then keeps its connections open until it is ended. */
const [name = '', port = '', count = '', headers = '{}'] = process.argv.slice(2)
await attacks[name]?.({ port: Number(port), headers: JSON.parse(headers) }, Number(count))
process.send?.('made')
setInterval(() => {}, 1 << 30)
process.on('disconnect', () => process.exit())
