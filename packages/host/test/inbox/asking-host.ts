// A program of its own with the servers of $SERVERS on the store of $STORE: makes one call for each line, and leaves every
// question in the inbox.
import { createInterface } from 'node:readline'
import { createHost } from '../../src/host.ts'

const never = async (): Promise<undefined> => undefined
const host = createHost({
  servers: JSON.parse(process.env['SERVERS'] ?? '{}'),
  models: [],
  store: process.env['STORE'] ?? '',
  rules: [{ id: 'all', verdict: 'allow' }],
  surface: { name: 'nobody yet', show: { elicitation: never, roots: never } },
})
await host.start()
host.on((event) => {
  if (event.type === 'question' && event.item.state === 'open') console.log(event.item.id)
})
console.log('ready')
createInterface({ input: process.stdin }).on('line', (line) => {
  const { tool, args } = JSON.parse(line)
  host.call(tool, args, { caller: 'cli' }).then(({ result }) => console.log(JSON.stringify(result)))
})
