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
  readonly #isDurable: boolean
  #child: ChildProcess | undefined

  private constructor(port: number, folder: string, isDurable: boolean) {
    this.port = port
    this.#folder = folder
    this.#isDurable = isDurable
  }

  /** Starts one with the superuser `postgres`. `isDurable`: it forgets nothing when it is killed. */
  static async start({ isDurable = false }: { isDurable?: boolean } = {}): Promise<PostgresServer> {
    const { uid, gid } = account()
    // Another user cannot enter the temporary folder of the tests.
    const folder = mkdtempSync(join(uid === undefined ? tmpdir() : '/var/tmp', 'jackfield-postgres-'))
    chmodSync(folder, 0o755)
    if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid)
    const made = spawnSync(
      join(programs ?? '', 'initdb'),
      ['-D', join(folder, 'data'), '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
      { cwd: '/', ...account(), encoding: 'utf8' },
    )
    if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`)
    const server = new PostgresServer(await freePort(), folder, isDurable)
    await server.restart()
    return server
  }

  /** Starts it, anew where it was killed; resolves when it accepts connections. */
  async restart(): Promise<void> {
    await this.kill()
    const settings = [
      'listen_addresses=127.0.0.1',
      `port=${this.port}`,
      `unix_socket_directories=${this.#folder}`,
      'max_connections=200',
      ...(this.#isDurable ? [] : ['fsync=off']),
    ]
    const child = spawn(
      join(programs ?? '', 'postgres'),
      ['-D', join(this.#folder, 'data'), ...settings.flatMap((setting) => ['-c', setting])],
      { cwd: '/', ...account(), stdio: ['ignore', 'ignore', 'pipe'] },
    )
    this.#child = child
    let output = ''
    for await (const text of child.stderr.iterator({ destroyOnReturn: false })) {
      output += String(text)
      if (output.includes('ready to accept connections')) break
    }
    child.stderr.resume()
    if (!output.includes('ready to accept connections')) throw new Error(`postgres did not start: ${output}`)
  }

  /** A URL of a database. */
  url(database = 'postgres', user = 'postgres', password = ''): string {
    return `postgres://${user}${password === '' ? '' : `:${encodeURIComponent(password)}`}@127.0.0.1:${this.port}/${database}`
  }

  /** Adds the role `reader`, which may read, and `writer`, which owns the new database `shop`. */
  async addShop(): Promise<void> {
    await this.run('postgres', "CREATE ROLE reader LOGIN PASSWORD 'open sesame'; CREATE ROLE writer LOGIN")
    await this.run('postgres', 'CREATE DATABASE shop OWNER writer')
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

  /** Ends it with its sessions, at once and without a checkpoint: what is not on disk is lost. */
  async kill(): Promise<void> {
    await this.#end('SIGQUIT')
  }

  async stop(): Promise<void> {
    await this.#end('SIGINT')
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }
}
