import { startHost } from './host.ts'
import { terminal } from './terminal.ts'

const canAsk = process.stdin.isTTY && process.stdout.isTTY
await using host = await startHost(canAsk ? terminal : undefined)
for (const { server, state } of [...host.connections].map(([server, { state }]) => ({ server, state }))) {
  console.log(`${server}: ${state}`)
}
console.log(
  `Tools: ${host
    .tools()
    .map(({ name }) => name)
    .join(', ')}`,
)

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
if (!canAsk) console.log('Nothing could be asked without a terminal, so notes__clear was refused.')
