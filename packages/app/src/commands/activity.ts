import { existsSync } from 'node:fs'
import type { ActivityVerification } from '@jackfield/host'
import { ExitCode, usageError } from '../cli/exit.ts'
import type { Io, Output } from '../cli/io.ts'
import { storeFile } from '../cli/store.ts'
import { storeHost } from '../daemon/service.ts'
import { activityTable } from '../output/activity.ts'
import { count } from '../output/sanitize.ts'

export interface ActivityOptions {
  server?: string
  limit: number
  store?: string
  json?: boolean
}

/** `jackfield activity`: rows of the activity log, newest last. */
export async function activity(options: ActivityOptions, io: Io, output: Output): Promise<ExitCode> {
  const { server, limit } = options
  const store = storeFile(options.store, io)
  await using host = storeHost(store)
  const rows = host.activity({ limit, ...(server !== undefined && { server }) })
  output.result({ store, activity: rows }, () => {
    const { palette } = output
    const heading = palette.dim(store)
    if (rows.length > 0) return `${heading}\n${activityTable(rows, output, { long: true })}`
    return `${heading}\nNothing is recorded${server === undefined ? '' : ` for server "${server}"`}.`
  })
  return ExitCode.done
}

export interface VerifyOptions {
  head?: string
  store?: string
  json?: boolean
}

/** `jackfield activity verify`: checks the hash chain of the log. Exit code 1 if it was altered. */
export async function verify(options: VerifyOptions, io: Io, output: Output): Promise<ExitCode> {
  const { head } = options
  if (head !== undefined && !/^[0-9a-f]{64}$/.test(head)) {
    throw usageError(
      '--head must be a hash as jackfield activity verify prints it: 64 digits and letters a to f.',
    )
  }
  const store = existingStore(options.store, io)
  await using host = storeHost(store)
  const verification = host.verifyActivity(head === undefined ? {} : { head })
  output.result({ store, ...verification }, () => verificationText(store, verification, output))
  return verification.sound ? ExitCode.done : ExitCode.toolError
}

function verificationText(store: string, verification: ActivityVerification, { palette }: Output): string {
  const { checked, head, faults, pruned } = verification
  const lines = [palette.dim(store)]
  if (pruned !== undefined) {
    const before = pruned.before.slice(0, 10)
    lines.push(
      `Pruned up to entry ${pruned.position} (${pruned.rows} rows before ${before}), on ${pruned.at.slice(0, 10)}.`,
    )
  }
  if (verification.sound) {
    lines.push(palette.green(`✓ ${checked} entries are unchanged.`))
    lines.push(`The last entry is ${head.position}, with the hash ${head.hash}`)
    lines.push(
      palette.dim(
        'Store this hash elsewhere: --head <hash> later verifies that no entry up to it was changed.',
      ),
    )
    return lines.join('\n')
  }
  lines.push(palette.red(`✗ The log was changed: ${count(faults.length, 'fault')} in ${checked} entries.`))
  for (const { position, message } of faults) {
    lines.push(`  ${position === null ? '' : `entry ${position}: `}${message}`)
  }
  return lines.join('\n')
}

export interface PruneOptions {
  before: string
  store?: string
  json?: boolean
}

/** `jackfield activity prune --before <time>`: deletes the oldest rows. */
export async function prune(options: PruneOptions, io: Io, output: Output): Promise<ExitCode> {
  if (Number.isNaN(Date.parse(options.before))) {
    throw usageError(`--before must be a time such as 2027-01-31, not "${options.before}".`)
  }
  const store = existingStore(options.store, io)
  await using host = storeHost(store)
  const rows = host.pruneActivity(options.before)
  const { head } = host.verifyActivity()
  output.result({ store, rows, head }, () => {
    const what = rows === 1 ? 'row was' : 'rows were'
    return `${output.palette.dim(store)}\n${rows} ${what} removed. The last entry is ${head.position}, with the hash ${head.hash}`
  })
  return ExitCode.done
}

function existingStore(option: string | undefined, io: Io): string {
  const store = storeFile(option, io)
  if (existsSync(store)) return store
  throw usageError(`There is no activity log at ${store}. Name another with --store FILE.`)
}
