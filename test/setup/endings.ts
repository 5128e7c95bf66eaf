import { afterAll } from 'vitest'
import { TaskEngine } from '../../packages/sdk/src/extensions/tasks/engine.ts'

// Files may share a process: an engine of tasks looks after them for as long as it is open, on whatever clock a later
// file has then. Each ends with the file that made it.

const engines = new Set<TaskEngine>()

const attach = TaskEngine.prototype.attach
TaskEngine.prototype.attach = function (server, serve) {
  engines.add(this)
  attach.call(this, server, serve)
}

afterAll(async () => {
  const all = [...engines]
  engines.clear()
  await Promise.allSettled(all.map((engine) => engine.close()))
})
