import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, connect } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import type { TravelServer } from '@jackfield/server-travel'
import { describe, expect, onTestFinished, test } from 'vitest'
import { builtProgram } from '../../../test/setup/built-program.ts'
import { eras, filling, readJson } from './fixture.ts'

const main = builtProgram('travel')
const wish = { destination: 'Barcelona', departure: '2099-06-15', returnDate: '2099-06-22' }
const accept = filling({ confirmBooking: true })

function databaseFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'travel-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'travel.db')
}

function start(args: string[], env: Record<string, string> = {}): ChildProcess {
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  return child
}

/** Everything a child writes until it ends, and how it ends. */
async function outcome(child: ChildProcess): Promise<{ code: number; stdout: string; stderr: string }> {
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  const [code] = await once(child, 'close')
  return { code, stdout, stderr }
}

describe.each(eras)('the travel server as a process on %s', (era) => {
  test('serves standard input and output and keeps its bookings', async () => {
    const database = databaseFile()
    const open = (): Promise<Client<TravelServer>> =>
      connect<TravelServer>(stdio({ command: process.execPath, args: [main, '--db', database] }), {
        revisions: [era],
        ...accept,
      })
    const first = await open()
    expect(first.server.revision).toBe(era)
    const booked = await first.call('bookVacation', wish)
    expect(booked.structuredContent).toMatchObject({ status: 'booked' })
    await first.close()
    const second = await open()
    onTestFinished(() => second.close())
    expect(await readJson(second, 'travel://bookings')).toMatchObject({
      bookings: [{ destination: { code: 'BCN' } }],
    })
  })

  test('serves HTTP on 127.0.0.1, prints its address, and ends on request', async () => {
    const child = start(['--http', '0', '--db', ':memory:'])
    let said = ''
    const url = await new Promise<string>((resolve, reject) => {
      child.once('exit', () => reject(new Error(said)))
      child.stderr?.on('data', (chunk) => {
        said += chunk
        const address = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(said)?.[0]
        if (address !== undefined) resolve(address)
      })
    })
    const client = await connect<TravelServer>(url, { revisions: [era], ...accept })
    expect((await client.call('bookVacation', wish)).structuredContent).toMatchObject({ status: 'booked' })
    expect(await readJson(client, 'travel://bookings')).toMatchObject({ bookings: [{}] })
    await client.close()
    child.kill('SIGTERM')
    const [code] = await once(child, 'exit')
    expect(code).toBe(0)
  })
})

describe('the command line', () => {
  test('explains itself', async () => {
    const version = await outcome(start(['--version']))
    expect(version).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
    const { code, stdout, stderr } = await outcome(start(['--help']))
    expect(code).toBe(0)
    for (const word of ['--db', '--http', '--provider', 'TRAVEL_DB', 'TRAVEL_PROVIDER_TOKEN', 'SMTP_URL'])
      expect(stdout).toContain(word)
    expect(stderr).toBe('')
  })

  test.each([
    [['--http', 'soon'], '--http needs a port'],
    [['--http', '70000'], '--http needs a port'],
    [['--colour'], "Unknown option '--colour'"],
    [['--db', ':memory:', '--provider', 'http://travel.example'], 'The provider must be an https URL'],
    [['--db', ':memory:', '--provider', 'https://me:pw@travel.example'], 'TRAVEL_PROVIDER_TOKEN'],
    [['--db', '/dev/null/travel.db'], '/dev/null'],
  ])('reports %j in one line', async (args, message) => {
    const { code, stdout, stderr } = await outcome(start(args))
    expect(code).toBe(1)
    expect(stdout).toBe('')
    expect(stderr).toContain(message)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })

  test('uses the database from TRAVEL_DB', async () => {
    const database = databaseFile()
    const child = start(['--http', '0'], { TRAVEL_DB: database })
    await once(child.stderr ?? child, 'data')
    expect(existsSync(database)).toBe(true)
  })
})
