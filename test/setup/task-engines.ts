import { afterAll } from 'vitest'
import { TaskEngine } from '../../packages/sdk/src/extensions/tasks/engine.ts'

// Files may share a process: an open task engine continues to run on the clock of later files. Each is closed with its file.

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
