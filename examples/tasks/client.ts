import { equal, match } from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, connect } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import { tasksClient } from '@jackfield/sdk/client/tasks'

const folder = await mkdtemp(join(tmpdir(), 'bakery-'))
const tasks = tasksClient()

/** Each server is a separate process; they share one file. */
function enter(): Promise<Client> {
  const args = ['--no-warnings', 'examples/tasks/server.ts', join(folder, 'tasks.db')]
  return connect(stdio({ command: 'node', args }), {
    extensions: [tasks],
    onElicit: () => ({ action: 'accept', content: { ok: true } }),
  })
}

// The client calls the tool, answers its question, gets a task and disconnects. The server process ends with it.
const morning = await enter()
const started = await tasks.start(morning, 'bake', { cake: 'plum' })
if (!('task' in started)) throw new Error('It was no task')
const { id } = started.task
equal((await started.task.state()).status, 'working')
await morning.close()

// Another process takes the task over. Finished steps do not run again.
const evening = await enter()
const { content } = await tasks.resume(evening, id).result()
const [first] = content
match(first?.type === 'text' ? first.text : '', /^A plum cake, dough of process \d+$/)

// `client.call` follows the task to its result.
const direct = await evening.call('bake', { cake: 'cherry' })
match(JSON.stringify(direct.content), /A cherry cake/)
await evening.close()
await rm(folder, { recursive: true, force: true })
console.log('A task went on in another process, and a call followed one to its end.')
