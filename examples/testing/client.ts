import { deepEqual, equal } from 'node:assert/strict'
import { connect } from '@jackfield/sdk/client'
import { memory, runTwice } from '@jackfield/sdk/testing'
import { mail, sent } from './server.ts'

// A client in memory: no process, no port, and every message as it would cross a wire.
const client = await connect(memory(mail), { onElicit: () => ({ action: 'decline' }) })
deepEqual((await client.call('careful')).content, [{ type: 'text', text: 'decline' }])
await client.close()

// Both eras, and an extra entry for every answer: what happens twice shows itself.
const answers = {
  effects: () => sent,
  onElicit: () => ({ action: 'accept' as const, content: { ok: true } }),
}
const hasty = await runTwice(mail, { tool: 'hasty', ...answers })
const careful = await runTwice(mail, { tool: 'careful', ...answers })
equal(hasty.differences.length > 0, true)
deepEqual(careful.differences, [])
console.log(`The hasty tool was caught: ${hasty.differences.join('; ')}`)
