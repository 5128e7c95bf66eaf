import { randomUUID } from 'node:crypto'
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Activity } from '../../types/index.ts'
import { runningFolder } from './owners.ts'

/** The start of an activity row, in its stored form. */
export interface RowStarted extends Pick<Activity, 'id' | 'kind' | 'server' | 'summary' | 'cause'> {
  /** ISO 8601. */
  at: string
  /** The tool, prompt or URI. */
  target: string | null
  /** JSON. */
  detail: string
}

/** The end of an activity row, in its stored form. */
export interface RowEnded extends Pick<Activity, 'id' | 'outcome' | 'durationMs'> {
  /** JSON. */
  detail: string
}

const extension = '.rows'
/** Age in milliseconds from which the journal of a process that no longer exists is deleted. */
const abandonedMs = 60_000

/**
 * Activity rows that are not in the log yet, in a file beside the store, one line each: appending a line takes a fraction of the
 * CPU time of a transaction. The file exists only while it has rows.
 */
export class RowJournal {
  readonly #folder: string
  readonly #file: string
  #fd: number | undefined
  #size = 0

  constructor(store: string) {
    this.#folder = runningFolder(store)
    this.#file = join(this.#folder, `${process.pid}-${randomUUID()}${extension}`)
  }

  /** Adds rows in one write. Throws the system's error if they could not be written as a whole. */
  add(rows: readonly (RowStarted | RowEnded)[]): void {
    const lines = Buffer.from(rows.map(lineOf).join(''))
    this.#fd ??= this.#create()
    if (writeSync(this.#fd, lines) < lines.length) {
      ftruncateSync(this.#fd, this.#size)
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
    }
    this.#size += lines.length
  }

  /** Deletes the file, once its rows are in the log. */
  clear(): void {
    if (this.#fd === undefined) return
    closeSync(this.#fd)
    this.#fd = undefined
    this.#size = 0
    rmSync(this.#file, { force: true })
  }

  /** The rows in the journals of other programs, which may be in the log already. Call `done` once they all are. */
  others(): { rows: (RowStarted | RowEnded)[]; done: () => void } {
    const rows: (RowStarted | RowEnded)[] = []
    const abandoned: string[] = []
    for (const name of namesIn(this.#folder)) {
      const file = join(this.#folder, name)
      if (!name.endsWith(extension) || file === this.#file) continue
      const modified = statSync(file, { throwIfNoEntry: false })?.mtimeMs
      if (modified === undefined) continue
      rows.push(...rowsIn(file))
      if (Date.now() - modified > abandonedMs && !isRunning(Number.parseInt(name, 10))) abandoned.push(file)
    }
    return {
      rows,
      done() {
        for (const file of abandoned) rmSync(file, { force: true })
      },
    }
  }

  #create(): number {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    return openSync(this.#file, 'ax', 0o600)
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** JSON contains no tabs or line breaks. */
function lineOf(row: RowStarted | RowEnded): string {
  const { detail, ...facts } = row
  return `${JSON.stringify(facts)}\t${detail}\n`
}

/** The rows of a journal. A last line that is still being written is left out. */
function rowsIn(file: string): (RowStarted | RowEnded)[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    // Its program moved the rows and deleted it.
    return []
  }
  return text
    .split('\n')
    .slice(0, -1)
    .flatMap((line) => rowOf(line) ?? [])
}

function rowOf(line: string): RowStarted | RowEnded | undefined {
  const tab = line.indexOf('\t')
  const facts = factsIn(line.slice(0, Math.max(0, tab)))
  return facts && { ...facts, detail: line.slice(tab + 1) }
}

/** Undefined if the line was damaged, for example by a power failure. */
function factsIn(text: string): Omit<RowStarted, 'detail'> | Omit<RowEnded, 'detail'> | undefined {
  try {
    const facts: ReturnType<typeof factsIn> = JSON.parse(text)
    return typeof facts?.id === 'number' ? facts : undefined
  } catch {
    return undefined
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
