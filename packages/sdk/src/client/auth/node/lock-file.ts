import { randomUUID } from 'node:crypto'
import { open, readFile, rm, stat, utimes } from 'node:fs/promises'
import { wait } from '../../../links/pace.ts'

const beatMs = 1_000
const staleMs = 6_000
const firstPollMs = 5
const maxPollMs = 100

/**
 * Runs `work` while this process holds a lock file. The holder touches the file every second; a file nobody touched
 * for six, as long as this process watched it, was left behind by one that died and is taken over.
 */
export async function withLockFile<T>(
  path: string,
  work: () => Promise<T>,
  signal: AbortSignal = new AbortController().signal,
): Promise<T> {
  const owner = randomUUID()
  await acquire(path, owner, signal)
  const beat = setInterval(() => {
    const now = new Date()
    utimes(path, now, now).catch(() => {})
  }, beatMs)
  try {
    return await work()
  } finally {
    clearInterval(beat)
    if ((await contentOf(path)) === owner) await rm(path, { force: true })
  }
}

async function acquire(path: string, owner: string, signal: AbortSignal): Promise<void> {
  let seen = ''
  let since = performance.now()
  for (let pollMs = firstPollMs; ; pollMs = Math.min(pollMs * 2, maxPollMs)) {
    signal.throwIfAborted()
    if (await create(path, owner)) return
    const mark = await markOf(path)
    if (mark !== seen) {
      seen = mark
      since = performance.now()
    } else if (performance.now() - since > staleMs) {
      await removeStale(path, mark)
      continue
    }
    await wait(pollMs * (0.5 + Math.random()), signal)
  }
}

async function create(path: string, content: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx', 0o600)
    try {
      await file.writeFile(content)
    } catch (error) {
      await rm(path, { force: true })
      throw error
    } finally {
      await file.close()
    }
    return true
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false
    throw error
  }
}

/** Removes a lock nobody holds any more; a second lock keeps two takers from removing each other's new one. */
async function removeStale(path: string, mark: string): Promise<void> {
  const takeover = `${path}.takeover`
  if (!(await create(takeover, ''))) {
    const { mtimeMs } = await stat(takeover).catch(() => ({ mtimeMs: Date.now() }))
    // A time to come is one of a clock that was wrong.
    if (Math.abs(Date.now() - mtimeMs) > staleMs) await rm(takeover, { force: true })
    return
  }
  try {
    if ((await markOf(path)) === mark) await rm(path, { force: true })
  } finally {
    await rm(takeover, { force: true })
  }
}

/** Changes whenever the lock changes hands or its holder shows that it lives. */
async function markOf(path: string): Promise<string> {
  const times = await stat(path).catch(() => undefined)
  return `${times?.mtimeMs} ${await contentOf(path)}`
}

async function contentOf(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined)
}

/** Whether an error of the file system has a code. */
export function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
