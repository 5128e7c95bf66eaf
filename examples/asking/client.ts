import { deepEqual } from 'node:assert/strict'
import { connect } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'

const asked: Record<string, string[]> = {}
for (const revision of ['2025-11-25', '2026-07-28'] as const) {
  const questions: string[] = []
  const pizzeria = await connect(stdio({ command: 'node', args: ['examples/asking/server.ts'] }), {
    revisions: [revision],
    onElicit({ message }) {
      questions.push(message)
      return { action: 'accept', content: message.startsWith('Which') ? { size: 'large' } : { ring: true } }
    },
  })
  const { content } = await pizzeria.call('order')
  await pizzeria.close()
  deepEqual(content, [{ type: 'text', text: 'One large pizza, charge 1. We ring.' }])
  asked[revision] = questions
}
deepEqual(asked['2025-11-25'], asked['2026-07-28'])
console.log('One handler asked the same two questions in both eras, and charged once in each.')
