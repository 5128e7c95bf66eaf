import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { McpError } from '@jackfield/sdk'
import { reasonOf } from '../../shared/text.ts'
import { asStoreError, faultOf } from '../store/store-error.ts'
import { createQueries } from './queries.ts'
import type { QueryRequest, ThreadReply } from './query-runner.ts'

/** The thread in which a `QueryRunner` runs queries: one read-only connection. */

const file: string = workerData
const database = new DatabaseSync(file, { readOnly: true })
database.exec('PRAGMA busy_timeout = 5000')
const salt = String(database.prepare('SELECT salt FROM trace_store').get()?.['salt'])
const queries = createQueries(
  { salt, all: (sql, values = []) => database.prepare(sql).all(...values) },
  Date.now,
)

parentPort?.on('message', ({ port, request }: { port: MessagePort; request: QueryRequest }) => {
  const send = (answer: ThreadReply<unknown>): void => port.postMessage(answer)
  const closed = new AbortController()
  port.once('close', () => closed.abort())
  const acknowledged = (): Promise<unknown> => once(port, 'message', { signal: closed.signal })
  serve(request, send, acknowledged).catch((error: unknown) => {
    if (closed.signal.aborted) return
    const fault = error instanceof McpError ? 'invalid' : faultOf(error)
    const problem =
      error instanceof McpError ? error.message : (asStoreError(error)?.message ?? reasonOf(error))
    send({ problem, fault })
  })
})

async function serve(
  request: QueryRequest,
  send: (answer: ThreadReply<unknown>) => void,
  acknowledged: () => Promise<unknown>,
): Promise<void> {
  const values =
    'format' in request
      ? queries.export(request.format, request.query)
      : [queries.run(request.name, request.input)]
  for await (const value of values) {
    send({ value })
    await acknowledged()
  }
  send({ end: true })
}
