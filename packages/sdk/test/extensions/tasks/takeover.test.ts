import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, connect } from '@jackfield/sdk/client'
import { type ClientTask, tasksClient } from '@jackfield/sdk/client/tasks'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { programFile } from '../../../../../test/setup/program-file.ts'
import { textIn } from './support.ts'

const program = programFile(new URL('./takeover-program.ts', import.meta.url))
const children: ChildProcess[] = []
const clients: Client[] = []
let folder = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'jackfield-takeover-'))
  writeFileSync(join(folder, 'effects'), '')
})
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
  for (const child of children.splice(0)) await kill(child)
  rmSync(folder, { recursive: true, force: true })
})

const effects = (): string[] => readFileSync(join(folder, 'effects'), 'utf8').split('\n').filter(Boolean)
const openGate = (): void => writeFileSync(join(folder, 'gate'), '')

async function kill(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill(signal)
  await gone
}

/** Starts one more process on the same tasks. */
async function start(leaseMs = 600): Promise<{ child: ChildProcess; url: string }> {
  const args = [
    program,
    join(folder, 'tasks.db'),
    join(folder, 'effects'),
    join(folder, 'gate'),
    `${leaseMs}`,
  ]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  const url = await new Promise<string>((resolve, reject) => {
    let errors = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      errors += text
    })
    child.stdout?.setEncoding('utf8').on('data', (text: string) => resolve(text.trim()))
    child.once('exit', () => reject(new Error(`The server ended: ${errors}`)))
  })
  return { child, url }
}

const extension = tasksClient()

async function reach(url: string): Promise<Client> {
  const client = await connect(url, {
    revisions: ['2026-07-28'],
    extensions: [extension],
    onElicit: () => ({ action: 'accept', content: { ok: true } }),
  })
  clients.push(client)
  return client
}

async function begin(url: string, name: string): Promise<ClientTask> {
  const started = await extension.start(await reach(url), name)
  if (!('task' in started)) throw new Error('no task')
  return started.task
}

const timeout = { timeout: 10_000 }

describe('a task whose process is killed', () => {
  it('continues in another one, without repeating a finished step', async () => {
    const one = await start()
    const { id } = await begin(one.url, 'build')
    await expect.poll(effects, timeout).toEqual(['first', 'waits'])
    await kill(one.child)
    const two = await start()
    const task = extension.resume(await reach(two.url), id)
    await expect.poll(effects, timeout).toEqual(['first', 'waits', 'waits'])
    expect(await task.state()).toMatchObject({ status: 'working' })
    openGate()
    expect(textIn(await task.result())).toBe('true')
    expect(effects().filter((what) => what !== 'waits')).toEqual(['first', 'second'])
  })

  it('is visible to every process from the moment it was returned', async () => {
    const [one, two] = [await start(), await start()]
    const client = await reach(one.url)
    const other = await reach(two.url)
    const started = await extension.start(client, 'build')
    one.child.kill('SIGKILL')
    if (!('task' in started)) throw new Error('no task')
    expect(await extension.resume(other, started.task.id).state()).toMatchObject({ status: 'working' })
    openGate()
    expect(textIn(await extension.resume(other, started.task.id).result())).toBe('true')
  })

  it('keeps its questions, and accepts the answers in any process', async () => {
    const one = await start()
    const { id, ...task } = await begin(one.url, 'confirm')
    expect(Object.keys(task)).toEqual([])
    const first = extension.resume(await reach(one.url), id)
    await expect.poll(async () => (await first.state()).status, timeout).toBe('input_required')
    await kill(one.child)
    const two = await start()
    expect(textIn(await extension.resume(await reach(two.url), id).result())).toBe('accept')
    expect(effects()).toEqual(['before', 'after'])
  })

  it('fails when every process crashes on it', async () => {
    const one = await start(300)
    const { id } = await begin(one.url, 'crash')
    await expect.poll(() => effects().length, timeout).toBe(1)
    for (let deaths = 2; deaths <= 3; deaths++) {
      const next = start(300)
      next.catch(() => {})
      await expect.poll(() => effects().length, timeout).toBe(deaths)
    }
    const { url } = await start(300)
    const task = extension.resume(await reach(url), id)
    await expect(task.result()).rejects.toMatchObject({
      code: -32603,
      message: expect.stringMatching(/stopped 3 times/),
    })
    expect(effects()).toHaveLength(3)
  })
})

describe('a task among several processes', () => {
  it('runs in one of them, until that one exits', async () => {
    const one = await start()
    const task = await begin(one.url, 'build')
    await start()
    await expect.poll(effects, timeout).toEqual(['first', 'waits'])
    // Three times as long as a process without a sign of life is waited for.
    await new Promise((resolve) => setTimeout(resolve, 1800))
    expect(effects()).toEqual(['first', 'waits'])
    openGate()
    expect(textIn(await task.result())).toBe('true')
    expect(effects()).toEqual(['first', 'waits', 'second'])
  })

  it('is cancelled through another one, which stops its handler', async () => {
    const [one, two] = [await start(), await start()]
    const { id } = await begin(one.url, 'build')
    await expect.poll(effects, timeout).toEqual(['first', 'waits'])
    await extension.resume(await reach(two.url), id).cancel()
    await expect.poll(effects, timeout).toEqual(['first', 'waits', 'stopped'])
    openGate()
    expect(await extension.resume(await reach(one.url), id).state()).toMatchObject({ status: 'cancelled' })
    expect(effects()).not.toContain('second')
  })

  it('is handed over at once by a process that shuts down', async () => {
    const long = 600_000
    const one = await start(long)
    const { id } = await begin(one.url, 'build')
    await expect.poll(effects, timeout).toEqual(['first', 'waits'])
    await kill(one.child, 'SIGTERM')
    const two = await start(long)
    openGate()
    expect(textIn(await extension.resume(await reach(two.url), id).result())).toBe('true')
    expect(effects()).toEqual(['first', 'waits', 'stopped', 'waits', 'second'])
  })
})
