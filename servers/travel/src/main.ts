#!/usr/bin/env node
import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type ServeStdioOptions, serveStdio } from '@jackfield/sdk/stdio'
import type { TravelServer } from './index.ts'

const help = `The travel server: plan and book a trip over the Model Context Protocol.

Usage: jackfield-travel [--db FILE] [--provider URL] [--http PORT]

  --db FILE    SQLite file for bookings, calendar and trips; ":memory:" stores nothing.
               Default: TRAVEL_DB, or ${dataFile()}
  --provider URL
               Get flights, hotels and weather from this service (https, or http on this machine) instead of
               computing them. The README describes its requests. Default: TRAVEL_PROVIDER
  --http PORT  Serve http://127.0.0.1:PORT/mcp instead of standard input and output; 0 takes any free port.
  --help       Show this.
  --version    Show the version.

Environment: TRAVEL_DB; TRAVEL_PROVIDER, and TRAVEL_PROVIDER_TOKEN for its bearer token; SMTP_URL (smtps://user:password@host) and SMTP_FROM to send mail.`

/** The folder for this user's data on this system. */
function dataFile(): string {
  const { LOCALAPPDATA, XDG_DATA_HOME } = process.env
  const home = homedir()
  const base =
    process.platform === 'win32'
      ? (LOCALAPPDATA ?? join(home, 'AppData', 'Local'))
      : process.platform === 'darwin'
        ? join(home, 'Library', 'Application Support')
        : XDG_DATA_HOME || join(home, '.local', 'share')
  return join(base, 'jackfield', 'travel.db')
}

function fail(message: string): never {
  process.stderr.write(`jackfield-travel: ${message}\n`)
  process.exit(1)
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The version in package.json. */
function version(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}

function readArguments(): {
  db: string
  provider: string | undefined
  http: number | undefined
  help: boolean
  version: boolean
} {
  const { values } = parseArgs({
    options: {
      db: { type: 'string' },
      provider: { type: 'string' },
      http: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean' },
    },
  })
  const http = values.http === undefined ? undefined : Number(values.http)
  if (http !== undefined && !(values.http !== '' && Number.isInteger(http) && http >= 0 && http <= 65_535)) {
    throw new Error(`--http needs a port from 0 to 65535, not "${values.http}"`)
  }
  const provider = values.provider || process.env['TRAVEL_PROVIDER'] || undefined
  return {
    db: values.db || process.env['TRAVEL_DB'] || dataFile(),
    provider,
    http,
    help: values.help ?? false,
    version: values.version ?? false,
  }
}

async function openServer(database: string, provider: string | undefined): Promise<TravelServer> {
  if (process.getBuiltinModule?.('node:sqlite') === undefined) {
    fail(`needs Node.js 22.13 or later, for node:sqlite; this is ${process.version}`)
  }
  const { createTravelServer, httpProvider } = await import('./index.ts')
  const { SMTP_URL, SMTP_FROM, TRAVEL_PROVIDER_TOKEN } = process.env
  return createTravelServer({
    database,
    ...(provider === undefined
      ? {}
      : { provider: httpProvider({ url: provider, token: TRAVEL_PROVIDER_TOKEN || undefined }) }),
    ...(SMTP_URL ? { smtpUrl: SMTP_URL } : {}),
    ...(SMTP_FROM ? { smtpFrom: SMTP_FROM } : {}),
  })
}

/** Lets a question be answered after a restart: a key and used states, in files next to the database. */
async function persistentState(database: string): Promise<Pick<ServeStdioOptions, 'keys' | 'backplane'>> {
  if (database === ':memory:') return {}
  const { sqliteBackplane } = await import('@jackfield/sdk/backplane/sqlite')
  return { keys: [keyIn(`${database}.key`)], backplane: sqliteBackplane(`${database}.state`) }
}

/** The key in a file that only its owner can read; created if it does not exist. */
function keyIn(file: string): string {
  if (!existsSync(file)) {
    // Written under another name first, since another process may read the file at the same time.
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

async function serveOverHttp(server: TravelServer, port: number): Promise<void> {
  const { serveHttp } = await import('@jackfield/sdk/http')
  const http = await serveHttp(server).listen({ port })
  process.stderr.write(`jackfield-travel: serving ${http.url}\n`)
  const stop = (): void => {
    http.close().then(
      () => process.exit(0),
      (error: unknown) => fail(reasonOf(error)),
    )
  }
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
}

async function main(): Promise<void> {
  const options = readArguments()
  if (options.help || options.version) {
    process.stdout.write(`${options.help ? help : version()}\n`)
    return
  }
  const server = await openServer(options.db, options.provider)
  if (options.http === undefined) await serveStdio(server, await persistentState(options.db)).closed
  else await serveOverHttp(server, options.http)
}

main().catch((error: unknown) => fail(reasonOf(error)))
