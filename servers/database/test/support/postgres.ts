import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import pg from 'pg'
import { freePort } from '../../../../test/setup/ports.ts'

/** The folder of PostgreSQL's programs: on the PATH, or where Debian installs them. */
const programs = [
  ...(process.env['PATH'] ?? '').split(delimiter),
  ...globSync('/usr/lib/postgresql/*/bin').sort().reverse(),
].find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')))

/** Whether tests with a real PostgreSQL can run, and what their titles end with otherwise. */
export const isInstalled: boolean = programs !== undefined
export const note: string = isInstalled
  ? ''
  : ' (needs the programs initdb and postgres, which are not installed)'

/** PostgreSQL refuses to run as root, so it runs as the user that its package makes, or as nobody. */
function account(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const lines = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const found = lines.find(([name]) => name === 'postgres') ?? lines.find(([name]) => name === 'nobody')
  return { uid: Number(found?.[2]), gid: Number(found?.[3]) }
}

/** A PostgreSQL of one test file: a cluster in a folder of its own, on a port of 127.0.0.1. */
export class PostgresServer {
  readonly port: number
  readonly #folder: string
  readonly #child: ChildProcess

  private constructor(port: number, folder: string, child: ChildProcess) {
    this.port = port
    this.#folder = folder
    this.#child = child
  }

  /** Starts one with the role `reader`, which may read, and `writer`, which owns the database `shop`. */
  static async start(): Promise<PostgresServer> {
    const { uid, gid } = account()
    // Another user cannot enter the temporary folder of the tests.
    const folder = mkdtempSync(join(uid === undefined ? tmpdir() : '/var/tmp', 'jackfield-postgres-'))
    chmodSync(folder, 0o755)
    if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid)
    const data = join(folder, 'data')
    const options = { cwd: '/', ...account() }
    const made = spawnSync(
      join(programs ?? '', 'initdb'),
      ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
      { ...options, encoding: 'utf8' },
    )
    if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`)
    const port = await freePort()
    const settings = [
      'listen_addresses=127.0.0.1',
      `port=${port}`,
      `unix_socket_directories=${folder}`,
      'fsync=off',
    ]
    const child = spawn(
      join(programs ?? '', 'postgres'),
      ['-D', data, ...settings.flatMap((setting) => ['-c', setting])],
      { ...options, stdio: ['ignore', 'ignore', 'pipe'] },
    )
    const server = new PostgresServer(port, folder, child)
    let output = ''
    for await (const text of child.stderr.iterator({ destroyOnReturn: false })) {
      output += String(text)
      if (output.includes('ready to accept connections')) break
    }
    child.stderr.resume()
    if (!output.includes('ready to accept connections')) throw new Error(`postgres did not start: ${output}`)
    await server.run('postgres', "CREATE ROLE reader LOGIN PASSWORD 'open sesame'; CREATE ROLE writer LOGIN")
    await server.run('postgres', 'CREATE DATABASE shop OWNER writer')
    return server
  }

  /** A URL of the database `shop`. */
  url(user: 'reader' | 'writer' | 'postgres', password = ''): string {
    return `postgres://${user}${password === '' ? '' : `:${encodeURIComponent(password)}`}@127.0.0.1:${this.port}/shop`
  }

  /** Runs statements as the superuser. */
  async run(database: string, sql: string): Promise<unknown[][]> {
    const client = new pg.Client({ host: '127.0.0.1', port: this.port, user: 'postgres', database })
    await client.connect()
    try {
      const results = await client.query<unknown[]>({ text: sql, rowMode: 'array' })
      return results.rows
    } finally {
      await client.end()
    }
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const ended = once(this.#child, 'exit')
      // Ends its sessions at once, and its processes with them.
      this.#child.kill('SIGINT')
      await ended
    }
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
