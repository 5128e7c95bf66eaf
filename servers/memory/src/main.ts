#!/usr/bin/env node
import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type ServeStdioOptions, serveStdio } from '@jackfield/sdk/stdio'
import type { Scope } from './scope.ts'

/** The command: serves a memory file, or imports and exports it. */

const help = `A memory for language models: a knowledge graph over the Model Context Protocol.

Usage: jackfield-server-memory [options]

  --file FILE            SQLite file of the memory; ":memory:" stores nothing.
                         Default: JACKFIELD_MEMORY_FILE, or
                         ${defaultFile()}
  --scope SCOPE          Memory of requests that name no conversation: "shared" (default), one for all; or
                         "conversation", one for each session, deleted when the session ends.
  --http PORT            Serve http://127.0.0.1:PORT/mcp instead of standard input and output; 0 takes any free port.
  --import FILE          Add the entities and relations of a JSON Lines file, as the MCP reference server
                         "memory" writes it, and exit.
  --export FILE          Write the memory as such a file, "-" for standard output, and exit.
  --conversation NAME    Import into or export from the memory of this conversation instead of the shared one.
  --help                 Print this text.
  --version              Print the version.`

/** The file in the data folder of this user. */
function defaultFile(): string {
  const { LOCALAPPDATA, XDG_DATA_HOME } = process.env
  const home = homedir()
  const base =
    process.platform === 'win32'
      ? (LOCALAPPDATA ?? join(home, 'AppData', 'Local'))
      : process.platform === 'darwin'
        ? join(home, 'Library', 'Application Support')
        : XDG_DATA_HOME || join(home, '.local', 'share')
  return join(base, 'jackfield', 'memory.db')
}

interface Arguments {
  file: string
  scope: Scope
  http: number | undefined
  importFrom: string | undefined
  exportTo: string | undefined
  conversation: string | undefined
  help: boolean
  version: boolean
}

function readArguments(): Arguments {
  const { values } = parseArgs({
    options: {
      file: { type: 'string' },
      scope: { type: 'string', default: 'shared' },
      http: { type: 'string' },
      import: { type: 'string' },
      export: { type: 'string' },
      conversation: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean' },
    },
  })
  const { scope, http: port } = values
  // Normalized like the argument of the tools, so that both name the same memory.
  const conversation = values.conversation?.trim().normalize()
  const http = port === undefined ? undefined : Number(port)
  if (http !== undefined && !(port !== '' && Number.isInteger(http) && http >= 0 && http <= 65_535)) {
    throw new Error(`--http needs a port from 0 to 65535, not "${port}"`)
  }
  if (scope !== 'shared' && scope !== 'conversation') {
    throw new Error(`--scope must be "shared" or "conversation", not "${scope}"`)
  }
  const modes = [http, values.import, values.export].filter((mode) => mode !== undefined)
  if (modes.length > 1) throw new Error('--http, --import and --export exclude each other')
  if (conversation === '') throw new Error('--conversation needs a name')
  if (conversation !== undefined && values.import === undefined && values.export === undefined) {
    throw new Error('--conversation needs --import or --export; a client names the conversation in its calls')
  }
  return {
    file: values.file || process.env['JACKFIELD_MEMORY_FILE'] || defaultFile(),
    scope,
    http,
    importFrom: values.import,
    exportTo: values.export,
    conversation,
    help: values.help ?? false,
    version: values.version ?? false,
  }
}

/** The version in package.json. */
function version(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}

/** Imports or exports the memory. */
async function transfer({ file, importFrom, exportTo = '-', conversation }: Arguments): Promise<void> {
  const { MemoryStore } = await import('./store.ts')
  const { exportLines, importGraph } = await import('./jsonl.ts')
  const store = new MemoryStore(file)
  const key = { owner: '', conversation: conversation === undefined ? '' : `n:${conversation}` }
  try {
    if (importFrom !== undefined) {
      const { entities, observations, relations, unknown } = await importGraph(store, key, importFrom)
      const created =
        unknown.length === 0
          ? ''
          : ` ${unknown.length} names that only relations mention became entities of the type "unknown".`
      process.stderr.write(
        `Imported ${entities} entities, ${observations} observations and ${relations} relations into ${file}.${created}\n`,
      )
      return
    }
    const lines = [...exportLines(store, key)].map((line) => `${line}\n`).join('')
    if (exportTo === '-') process.stdout.write(lines)
    else writeFileSync(exportTo, lines, { mode: 0o600 })
  } finally {
    store.close()
  }
}

/** The key and the used states in files next to the database, so that a confirmation can be answered after a restart. */
async function persistentState(file: string): Promise<Pick<ServeStdioOptions, 'keys' | 'backplane'>> {
  if (file === ':memory:') return {}
  const { sqliteBackplane } = await import('@jackfield/sdk/backplane/sqlite')
  return { keys: [readOrCreateKey(`${file}.key`)], backplane: sqliteBackplane(`${file}.state`) }
}

/** The key in a file that only its owner can read; created if it does not exist. */
function readOrCreateKey(file: string): string {
  if (!existsSync(file)) {
    // Written under another name first, because another process may read the file at the same time.
    const draft = `${file}.${process.pid}`
    writeFileSync(draft, randomBytes(32).toString('hex'), { mode: 0o600 })
    try {
      linkSync(draft, file)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    } finally {
      rmSync(draft)
    }
  }
  return readFileSync(file, 'utf8')
}

async function serve({ file, scope, http: port }: Arguments): Promise<void> {
  const { createMemoryServer } = await import('./index.ts')
  const server = createMemoryServer({ file, scope })
  if (port === undefined) {
    await serveStdio(server, await persistentState(file)).closed
    return
  }
  const { serveHttp } = await import('@jackfield/sdk/http')
  const http = await serveHttp(server, await persistentState(file)).listen({ port })
  process.stderr.write(`jackfield-server-memory: serving ${http.url}\n`)
  const stop = (): void => {
    http.close().then(
      () => process.exit(0),
      (error: unknown) => fail(error),
    )
  }
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
}

async function main(): Promise<void> {
  const args = readArguments()
  if (args.help || args.version) {
    process.stdout.write(`${args.help ? help : version()}\n`)
    return
  }
  if (process.getBuiltinModule?.('node:sqlite') === undefined) {
    throw new Error(`needs Node.js 22.13 or later, for node:sqlite; this is ${process.version}`)
  }
  if (args.importFrom !== undefined || args.exportTo !== undefined) await transfer(args)
  else await serve(args)
}

function fail(error: unknown): never {
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`jackfield-server-memory: ${message}\n`)
  process.exit(1)
}

main().catch(fail)
