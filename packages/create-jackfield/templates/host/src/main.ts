import { startHost } from './host.ts'
import { terminal } from './terminal.ts'

const canAsk = process.stdin.isTTY && process.stdout.isTTY
await using host = await startHost(canAsk ? terminal : undefined)
for (const [server, { state }] of host.connections) console.log(`${server}: ${state}`)
const tools = host.tools().map(({ name }) => name)
console.log(`Tools: ${tools.join(', ')}`)

for (const [tool, args] of [
  ['notes__add', { text: 'Buy milk' }],
  ['notes__list', {}],
  ['notes__clear', {}],
] as const) {
  const { result, decision } = await host.call(tool, args, { caller: 'person' })
  const text = result.content
    .map((block) => (block.type === 'text' ? block.text : `[${block.type}]`))
    .join('\n')
  console.log(`${tool} (${decision.verdict} by ${decision.rule}): ${text}`)
}
if (!canAsk) console.log('There is no terminal to ask for approval on, so notes__clear was refused.')
