#!/usr/bin/env node
import { existsSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { serveStdio } from '@jackfield/sdk/stdio'
import { defaultLimits, type Limits, parseDatabases, parseTarget } from './config.ts'

const help = `Serves SQLite and PostgreSQL databases over the Model Context Protocol, on standard input and output.

Usage: jackfield-server-database [options] DATABASE...

  DATABASE           name=target, or the path of a SQLite file, which is named after itself. Targets:
                       sales=./sales.db                    a SQLite file
                       crm=postgres://reader@host/crm      PostgreSQL; PGPASSWORD or ~/.pgpass for the password
                       crm=env:CRM_URL                     the path or URL in an environment variable
  --allow-writes     Add the tool execute. It commits a statement only after a person confirmed it.
  --allow-superuser  Accept PostgreSQL roles that can use files and programs of the database server.
  --max-rows N       Rows of one page. Default: ${defaultLimits.maxRows}
  --max-bytes N      Bytes of the rows of one page. Default: ${defaultLimits.maxBytes}
  --timeout SECONDS  Time limit of one call. Default: ${defaultLimits.timeoutMs / 1000}
  --cursor-time SECONDS
                     How long a result waits for its next page. Default: ${defaultLimits.cursorMs / 1000}
  --help             Show this.
  --version          Show the version.

Databases are read-only by default, which the engines enforce.`

function fail(message: string): never {
  process.stderr.write(`jackfield-server-database: ${message}\n`)
  process.exit(1)
}

/** The version in package.json. */
function version(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}

/** A number of an option. @throws TypeError naming the option */
function numberOf(option: string, text: string): number {
  const number = Number(text)
  if (text.trim() === '' || !Number.isFinite(number) || number <= 0) {
    throw new TypeError(`--${option} needs a number above 0, not "${text}"`)
  }
  return number
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'allow-writes': { type: 'boolean' },
      'allow-superuser': { type: 'boolean' },
      'max-rows': { type: 'string' },
      'max-bytes': { type: 'string' },
      timeout: { type: 'string' },
      'cursor-time': { type: 'string' },
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean' },
    },
  })
  if (values.help) {
    process.stdout.write(`${help}\n`)
    return
  }
  if (values.version) {
    process.stdout.write(`${version()}\n`)
    return
  }
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major < 22 || (major === 22 && minor < 16)) {
    fail(`needs Node.js 22.16 or later; this is ${process.version}`)
  }
  const databases = parseDatabases(positionals)
  if (positionals.length === 0)
    fail('give at least one database, such as sales=./sales.db (--help shows more)')
  for (const [name, text] of Object.entries(databases)) {
    const target = parseTarget(name, text)
    if (target.kind === 'SQLite' && !existsSync(target.file)) {
      fail(`the file of database "${name}" does not exist: ${target.shown}`)
    }
    if (target.kind === 'PostgreSQL' && target.secrets.length > 0 && !text.startsWith('env:')) {
      process.stderr.write(
        `jackfield-server-database: the password of "${name}" can be seen in the list of processes; ${name}=env:VARIABLE avoids that\n`,
      )
    }
  }
  const number = (
    option: 'max-rows' | 'max-bytes' | 'timeout' | 'cursor-time',
    factor = 1,
  ): number | undefined => {
    const text = values[option]
    return text === undefined ? undefined : Math.round(numberOf(option, text) * factor)
  }
  const changedLimits = {
    maxRows: number('max-rows'),
    maxBytes: number('max-bytes'),
    timeoutMs: number('timeout', 1000),
    cursorMs: number('cursor-time', 1000),
  }
  const limits: Partial<Limits> = Object.fromEntries(
    Object.entries(changedLimits).filter(([, value]) => value !== undefined),
  )
  const { createDatabaseServer } = await import('./server.ts')
  const { server, close } = createDatabaseServer({
    databases,
    limits,
    allowWrites: values['allow-writes'] ?? false,
    allowSuperuser: values['allow-superuser'] ?? false,
  })
  await serveStdio(server).closed
  await close()
}

main().catch((error: unknown) => fail(error instanceof Error ? error.message : String(error)))
