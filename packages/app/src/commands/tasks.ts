import type { HostTask } from '@jackfield/host'
import { ExitCode, usageError } from '../cli/exit.ts'
import { type OpenHost, openHost } from '../cli/host.ts'
import type { Io, Output } from '../cli/io.ts'
import type { ConfigChoice } from '../cli/target.ts'
import { shortAge } from '../output/ago.ts'
import { printedResult } from '../output/content.ts'
import { oneLine } from '../output/sanitize.ts'
import { table } from '../output/table.ts'

export interface TasksOptions extends ConfigChoice {
  store?: string
  json?: boolean
}

/** `jackfield tasks`: calls that servers run as tasks. */
export async function listTasks(options: TasksOptions, io: Io, output: Output): Promise<ExitCode> {
  await using host = await openHost(options, 'jackfield tasks', io)
  const tasks = await host.client.call('tasks.list', {})
  output.result({ tasks }, () => {
    if (tasks.length === 0) return 'No call runs as a task.'
    const now = Date.now()
    const rows = tasks.map((task) => [
      task.id,
      oneLine(`${task.server}.${task.tool}`),
      task.followed || task.status !== 'working' ? task.status.replace('_', ' ') : 'waits for its server',
      shortAge(task.createdAt, now),
      progressOf(task),
      oneLine(task.message ?? task.progress?.message ?? ''),
    ])
    return table(['TASK', 'TOOL', 'STATUS', 'SINCE', 'PROGRESS', 'MESSAGE'], rows, output)
  })
  return ExitCode.done
}

/** `jackfield tasks result <task>`: waits for a task and shows the result of its call. */
export async function taskResult(
  id: string,
  options: TasksOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  await using host = await openHost(options, 'jackfield tasks', io)
  await startServerOf(id, host, io)
  const { result } = await host.client.call('tasks.result', { id }, { signal: io.signal })
  output.result(result, () => printedResult(result, output.palette))
  return result.isError === true ? ExitCode.toolError : ExitCode.done
}

/** `jackfield tasks cancel <task>`. */
export async function cancelTask(
  id: string,
  options: TasksOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  await using host = await openHost(options, 'jackfield tasks', io)
  await startServerOf(id, host, io)
  await host.client.call('tasks.cancel', { id }, { signal: io.signal })
  output.result({ cancelled: id }, () => `Task ${oneLine(id)} is cancelled.`)
  return ExitCode.done
}

/** Connects the server of a task, so that its task is followed even if no other program does. */
async function startServerOf(id: string, { client }: OpenHost, io: Io): Promise<void> {
  const tasks = await client.call('tasks.list', {})
  const task = tasks.find((one) => one.id === id)
  if (task === undefined)
    throw usageError(`There is no task "${oneLine(id)}". jackfield tasks lists all tasks.`)
  if (!task.followed) await client.call('servers.start', { servers: [task.server] }, { signal: io.signal })
}

function progressOf({ progress }: HostTask): string {
  if (progress === undefined) return ''
  return progress.total === undefined ? `${progress.progress}` : `${progress.progress} of ${progress.total}`
}
