import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import type { ServerBehavior } from './fixtures/behavior.ts'
import type { FixtureServer, Workspace } from './types.ts'

/** A server whose behavior a script sets. */
export interface ConfigurableServer extends FixtureServer {
  /** Replaces the behavior, from the next message on. */
  setBehavior(behavior: ServerBehavior): Promise<void>
  /** The processes that were started so far. */
  processIds(): number[]
  /** The highest number of reads that were open at the same time. */
  maxConcurrentReads(): number
  /** The value of the environment variable `saveVariable` of the behavior. */
  savedVariable(): string | undefined
}

/** Creates a server with this behavior. With `http` it is running. */
export async function configurableServer(
  workspace: Workspace,
  behavior: ServerBehavior,
  transport?: 'http',
): Promise<ConfigurableServer> {
  const name = `servers/${behavior.name}-${transport ?? 'stdio'}.json`
  const file = await workspace.write(name, JSON.stringify(behavior))
  const fixture = await workspace.fixture(
    'configurable',
    ...(transport === undefined ? [] : [transport]),
    file,
  )
  const readState = (extension: string): string | undefined => {
    const path = `${file}.${extension}`
    return existsSync(path) ? readFileSync(path, 'utf8') : undefined
  }
  return {
    ...fixture,
    setBehavior: (next) => writeFile(file, JSON.stringify(next)),
    processIds: () => (readState('pids') ?? '').split('\n').filter(Boolean).map(Number),
    maxConcurrentReads: () => Number(readState('reads') ?? 0),
    savedVariable: () => readState('variable'),
  }
}
