import { existsSync } from 'node:fs'
import { createHost, StoreError } from '@jackfield/host'
import { ExitCode, usageError } from '../cli/exit.ts'
import type { Io, Output } from '../cli/io.ts'
import { storeFile } from '../cli/store.ts'
import { activityTable } from '../output/activity.ts'

export interface ActivityOptions {
  server?: string
  limit: number
  store?: string
  json?: boolean
}

/** `jackfield activity`: what happened, newest last, from the store. */
export async function activity(options: ActivityOptions, io: Io, output: Output): Promise<ExitCode> {
  const { server, limit } = options
  const store = storeFile(options.store, io)
  const filter = { limit, ...(server !== undefined && { server }) }
  // Looking makes no store; there is nothing to see in one that is not there.
  await using host = opened(existsSync(store) ? store : ':memory:')
  const rows = host.activity(filter)
  output.result({ store, activity: rows }, () => {
    const { palette } = output
    const heading = palette.dim(store)
    if (rows.length > 0) return `${heading}\n${activityTable(rows, palette, { long: true })}`
    return `${heading}\nNothing is recorded${server === undefined ? '' : ` of a server "${server}"`}.`
  })
  return ExitCode.done
}

function opened(store: string): ReturnType<typeof createHost> {
  try {
    return createHost({ servers: {}, models: [], store })
  } catch (error) {
    if (error instanceof StoreError) throw usageError(error.message)
    throw error
  }
}
