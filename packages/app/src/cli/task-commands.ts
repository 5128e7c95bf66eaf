import type { Command } from 'commander'
import type { TasksOptions } from '../commands/tasks.ts'
import type { Invocation } from './invocation.ts'
import { withStoreOptions } from './options.ts'
import { refuseUnknownWords } from './unknown-word.ts'

/** Adds `tasks` with its subcommands. */
export function addTaskCommands(program: Command, invocation: Invocation): void {
  const load = () => import('../commands/tasks.ts')
  const tasks = program.command('tasks').description('List, await or cancel calls that servers run as tasks')
  const list = tasks.command('list', { isDefault: true }).description('List tasks')
  refuseUnknownWords(tasks, list)
  withStoreOptions(list).action((options: TasksOptions) =>
    invocation.run(options, async (io, output) => (await load()).listTasks(options, io, output)),
  )
  withStoreOptions(tasks.command('result').argument('<task>', 'its number in the list'))
    .description('Wait for a task and show the result of its call')
    .action((id: string, options: TasksOptions) =>
      invocation.run(options, async (io, output) => (await load()).taskResult(id, options, io, output)),
    )
  withStoreOptions(tasks.command('cancel').argument('<task>', 'its number in the list'))
    .description('Cancel a task')
    .action((id: string, options: TasksOptions) =>
      invocation.run(options, async (io, output) => (await load()).cancelTask(id, options, io, output)),
    )
}
