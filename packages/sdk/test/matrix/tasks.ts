import type { JsonObject } from '@jackfield/sdk'
import type { Client } from '@jackfield/sdk/client'
import { tasksExtension } from '@jackfield/sdk/extensions/tasks'
import { expect } from 'vitest'
import { everyCapability, type RawClient } from './raw-client.ts'
import type { MatrixCell } from './rule.ts'
import { at, notifications, part, requests, type Transcript } from './transcript.ts'

/** What a request declares that can be answered with a task (2026-07-28). */
export function able({ version }: MatrixCell): { capabilities: JsonObject } {
  return { capabilities: { ...everyCapability(version), extensions: { [tasksExtension]: {} } } }
}

/** The id in the answer to a call that became a task, of either revision. */
export function taskIn(created: unknown): string {
  const id = at(created, 'taskId') ?? at(created, 'task', 'taskId')
  if (typeof id !== 'string') throw new TypeError(`This is no task: ${JSON.stringify(created)}`)
  return id
}

/** Polls a task until it has the status. */
export async function reached(
  cell: MatrixCell,
  raw: RawClient,
  taskId: string,
  status: string,
): Promise<JsonObject> {
  const how = cell.stateless ? able(cell) : {}
  for (;;) {
    const task = await raw.ask('tasks/get', { taskId }, how)
    if (task['status'] === status) return task
    if (['completed', 'failed', 'cancelled'].includes(String(task['status']))) {
      throw new Error(`The task is not ${status}: ${JSON.stringify(task)}`)
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** The `_meta` that relates a message to a task (2025-11-25). */
export function related(taskId: string): JsonObject {
  return { 'io.modelcontextprotocol/related-task': { taskId } }
}

/** The task that a message is related to. */
export function relatedIn(message: unknown): unknown {
  return at(message, 'params', '_meta', 'io.modelcontextprotocol/related-task', 'taskId')
}

/** Keys of the questions a task waits with. */
export function keysIn(task: JsonObject): string[] {
  return Object.keys(part(task, 'inputRequests'))
}

/** Gives up a call that became a task, which must be cancelled by its own request. */
export async function cancelsByRequest(client: Client, transcript: Transcript): Promise<void> {
  transcript.clear()
  const stop = new AbortController()
  const call = client.call('waits', { gate: 'of nobody' }, { signal: stop.signal })
  const refused = expect(call).rejects.toMatchObject({ code: 'CANCELLED' })
  await transcript.until((all) => requests(all, 'client', 'tasks/get').length > 0)
  stop.abort()
  await refused
  await transcript.until((all) => requests(all, 'client', 'tasks/cancel').length > 0)
  await client.ping()
  // A pending poll is cancelled like any other request; the call was answered with the task.
  const [toolCall] = requests(transcript, 'client', 'tools/call')
  const cancelled = notifications(transcript, 'client', 'notifications/cancelled')
  expect(cancelled.map((one) => at(one, 'params', 'requestId'))).not.toContain(toolCall?.['id'])
  const after = requests(transcript, 'client').map(({ method }) => method)
  expect(after.slice(after.indexOf('tasks/cancel') + 1)).not.toContain('tasks/get')
}
