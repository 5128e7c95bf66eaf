import { equal, match } from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, connect } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import { tasksClient } from '@jackfield/sdk/client/tasks'

const folder = await mkdtemp(join(tmpdir(), 'bakery-'))
const tasks = tasksClient()

/** Each time in a process of its own, all on one file. */
function enter(): Promise<Client> {
  const args = ['--no-warnings', 'examples/tasks/server.ts', join(folder, 'tasks.db')]
  return connect(stdio({ command: 'node', args }), {
    extensions: [tasks],
    onElicit: () => ({ action: 'accept', content: { ok: true } }),
  })
}

// Somebody orders, is asked, gets a handle, and leaves. The process ends with its client.
const morning = await enter()
const started = await tasks.start(morning, 'bake', { cake: 'plum' })
if (!('task' in started)) throw new Error('It was no task')
const { id } = started.task
equal((await started.task.state()).status, 'working')
await morning.close()

// Another process takes the task over and keeps what its steps gave.
const evening = await enter()
const { content } = await tasks.resume(evening, id).result()
const [first] = content
match(first?.type === 'text' ? first.text : '', /^A plum cake, dough of process \d+$/)

// Where nobody asks for the handle, a call follows its task by itself.
const direct = await evening.call('bake', { cake: 'cherry' })
match(JSON.stringify(direct.content), /A cherry cake/)
await evening.close()
await rm(folder, { recursive: true, force: true })
console.log('A task went on in another process, and a call followed one to its end.')
