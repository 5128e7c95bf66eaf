#!/usr/bin/env node
import { timingSafeEqual } from 'node:crypto'
import { parseArgs } from 'node:util'
import { serveStdio } from '@jackfield/sdk/stdio'
import { type Confirm, confirmations, defaultLimits, type FilesystemLimits } from './options.ts'
import { createFilesystemServer } from './server.ts'

const name = 'jackfield-server-filesystem'
const tokenVariable = 'JACKFIELD_FILESYSTEM_TOKEN'
const tokenChars = 32

const help = `Files over the Model Context Protocol, within the directories that you name.

Usage: ${name} [OPTIONS] [DIRECTORY|FILE]...

Without directories, the folders (roots) that the client opens are the boundary. With directories, a
root within one of them narrows it.

  --read-only      Offer no tool that changes anything.
  --confirm WHEN   Ask a person before changes: always, overwrite (before something is replaced or
                   deleted) or never. Default: overwrite. Clients that cannot ask are refused such changes.
  --ignore-roots   Do not ask the client for roots: the directories alone are the boundary.
  --limit NAME=N   Override a limit; may be repeated. Limits and defaults:
${Object.entries(defaultLimits)
  .map(([limit, value]) => `                     ${limit.padEnd(14)} ${value}`)
  .join('\n')}
  --http PORT      Serve http://127.0.0.1:PORT/mcp instead of standard input and output; 0 takes any free
                   port. Clients send the token in ${tokenVariable}
                   (${tokenChars} characters or more) as a bearer token.
  --help           Show this.
  --version        Show the version.`

class UsageError extends Error {}

interface Arguments {
  directories: string[]
  readOnly: boolean
  confirm: Confirm
  ignoreRoots: boolean
  limits: Partial<Record<keyof FilesystemLimits, number>>
  http: number | undefined
}

function fail(message: string, code: number): never {
  process.stderr.write(`${name}: ${message}\n`)
  process.exit(code)
}

function warn(message: string): void {
  process.stderr.write(`${name}: warning: ${message}\n`)
}

function readArguments(): Arguments | 'help' | 'version' {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'read-only': { type: 'boolean' },
      confirm: { type: 'string' },
      'ignore-roots': { type: 'boolean' },
      limit: { type: 'string', multiple: true },
      http: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean' },
    },
  })
  if (values.help === true) return 'help'
  if (values.version === true) return 'version'
  const confirm = confirmations.find((one) => one === (values.confirm ?? 'overwrite'))
  if (confirm === undefined) {
    throw new UsageError(`--confirm needs one of ${confirmations.join(', ')}, not "${values.confirm}"`)
  }
  const http = values.http === undefined ? undefined : Number(values.http)
  if (http !== undefined && !(values.http !== '' && Number.isInteger(http) && http >= 0 && http <= 65_535)) {
    throw new UsageError(`--http needs a port from 0 to 65535, not "${values.http}"`)
  }
  return {
    directories: positionals,
    readOnly: values['read-only'] ?? false,
    confirm,
    ignoreRoots: values['ignore-roots'] ?? false,
    limits: Object.fromEntries((values.limit ?? []).map(limitOf)),
    http,
  }
}

function limitOf(text: string): [string, number] {
  const [, limit = '', value = ''] = /^(\w+)=(\d+)$/.exec(text) ?? []
  if (limit === '') throw new UsageError(`--limit needs NAME=N, such as matches=100, not "${text}"`)
  return [limit, Number(value)]
}

async function serveOverHttp(
  server: Awaited<ReturnType<typeof createFilesystemServer>>,
  port: number,
): Promise<void> {
  const token = process.env[tokenVariable] ?? ''
  if (token.length < tokenChars) {
    throw new UsageError(
      `--http needs a token of at least ${tokenChars} characters in ${tokenVariable}, because every user of this machine can connect. ` +
        'Make one with: openssl rand -hex 32',
    )
  }
  const expected = Buffer.from(`Bearer ${token}`)
  const { serveHttp } = await import('@jackfield/sdk/http')
  const http = await serveHttp(server, {
    async authenticate(request) {
      const given = Buffer.from(request.header('authorization') ?? '')
      return given.length === expected.length && timingSafeEqual(given, expected)
        ? { principal: 'local' }
        : { status: 401, headers: { 'www-authenticate': 'Bearer' } }
    },
  }).listen({ port })
  process.stderr.write(`${name}: serving ${http.url}\n`)
  const stop = (): void => {
    http.close().then(
      () => process.exit(0),
      (error: unknown) => fail(reasonOf(error), 1),
    )
  }
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function isUsage(error: unknown): boolean {
  const isParse = error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
  return isParse || error instanceof UsageError || error instanceof TypeError
}

async function main(): Promise<void> {
  const given = readArguments()
  if (given === 'help') {
    process.stdout.write(`${help}\n`)
    return
  }
  const { http, ...options } = given === 'version' ? { http: undefined } : given
  const server = await createFilesystemServer({ ...options, onWarning: warn })
  if (given === 'version') process.stdout.write(`${server.info.version}\n`)
  else if (http === undefined) await serveStdio(server).closed
  else await serveOverHttp(server, http)
}

main().catch((error: unknown) => fail(reasonOf(error), isUsage(error) ? 2 : 1))
