import type { Command } from 'commander'
import type { TasksOptions } from '../commands/tasks.ts'
import type { Invocation } from './invocation.ts'
import { jsonOption, storeOption, withConfigOptions } from './options.ts'
import { refuseUnknownWords } from './unknown-word.ts'

/** Adds `tasks` with its subcommands. */
export function addTaskCommands(program: Command, invocation: Invocation): void {
  const tasks = program.command('tasks').description('List, await or cancel calls that servers run as tasks')
  const list = tasks.command('list', { isDefault: true }).description('List tasks')
  refuseUnknownWords(tasks, list)
  withConfigOptions(list)
    .addOption(storeOption())
    .addOption(jsonOption())
    .action((options: TasksOptions) =>
      invocation.run(options, async (io, output) =>
        (await import('../commands/tasks.ts')).listTasks(options, io, output),
      ),
    )
  for (const [command, work] of [
    [
      tasks.command('result').description('Wait for a task and show the result of its call'),
      async () => (await import('../commands/tasks.ts')).taskResult,
    ],
    [
      tasks.command('cancel').description('Cancel a task'),
      async () => (await import('../commands/tasks.ts')).cancelTask,
    ],
  ] as const) {
    withConfigOptions(command.argument('<task>', 'its number in the list'))
      .addOption(storeOption())
      .addOption(jsonOption())
      .action((id: string, options: TasksOptions) =>
        invocation.run(options, async (io, output) => (await work())(id, options, io, output)),
      )
  }
}
