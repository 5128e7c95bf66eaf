import { deepEqual, equal } from 'node:assert/strict'
import { connect } from '@jackfield/sdk/client'
import { memory, runTwice } from '@jackfield/sdk/testing'
import { mail, sent } from './server.ts'

// A client in memory: no process and no port, with the same messages as on a network.
const client = await connect(memory(mail), { onElicit: () => ({ action: 'decline' }) })
deepEqual((await client.call('careful')).content, [{ type: 'text', text: 'decline' }])
await client.close()

// Calls the tool in both eras, with an additional run for every answer, and reports repeated effects.
const answers = {
  effects: () => sent,
  onElicit: () => ({ action: 'accept' as const, content: { ok: true } }),
}
const hasty = await runTwice(mail, { tool: 'hasty', ...answers })
const careful = await runTwice(mail, { tool: 'careful', ...answers })
equal(hasty.differences.length > 0, true)
deepEqual(careful.differences, [])
console.log(`The hasty tool was caught: ${hasty.differences.join('; ')}`)
