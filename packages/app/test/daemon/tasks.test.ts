import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineServer, tool } from '@jackfield/sdk'
import { tasks } from '@jackfield/sdk/extensions/tasks'
import { serveHttp } from '@jackfield/sdk/http'
import { expect, onTestFinished, test } from 'vitest'
import { begin, type Ended, tempFolder } from '../cli/jackfield.ts'

const mine = '--start-what-this-folder-names'

test('tasks of a folder are listed, awaited and cancelled by other commands than their caller', async () => {
  let release = (): void => {}
  const server = defineServer({
    name: 'works',
    version: '1.0.0',
    extensions: [tasks({ pollIntervalMs: 50 })],
    tools: {
      work: tool({
        task: 'required',
        run: (_args, ctx) =>
          new Promise<string>((resolve, reject) => {
            release = () => resolve('done at last')
            ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))
            ctx.progress(1, 2, 'half')
          }),
      }),
    },
    onError: () => {},
  })
  const listener = await serveHttp(server, { keys: ['k'.repeat(32)] }).listen({ port: 0 })
  onTestFinished(() => listener.close())
  const [folder, data] = [tempFolder(), tempFolder()]
  writeFileSync(join(folder, 'jackfield.json'), JSON.stringify({ mcpServers: { s: { url: listener.url } } }))
  const start = (...args: string[]) =>
    begin(args, { cwd: folder, env: { HOME: folder, XDG_DATA_HOME: data, JACKFIELD_DAEMON: 'on' } })
  const run = (...args: string[]): Promise<Ended> => start(...args).ended
  onTestFinished(async () => {
    await run('daemon', 'stop', '--all', '--now')
  })
  const listed = async (): Promise<{ id: string; status: string; progress?: object }[]> =>
    JSON.parse((await run('tasks', '--json', mine)).stdout).tasks
  const untilTask = async (status: string, count: number): Promise<string> => {
    const deadline = performance.now() + 20_000
    for (;;) {
      const found = (await listed()).filter(
        (task) => task.status === status && (status !== 'working' || task.progress),
      )
      if (found.length === count) return found.at(-1)?.id ?? ''
      if (performance.now() > deadline) throw new Error(`Not within 20 s: ${count} tasks that are ${status}`)
    }
  }

  const call = start('call', 's.work', mine, '--json')
  const id = await untilTask('working', 1)
  expect((await run('tasks', mine)).stdout).toMatch(/s\.work\s+working\s+.*1 of 2\s+half/)
  const result = start('tasks', 'result', id, mine)
  release()
  expect((await result.ended).stdout).toContain('done at last')
  expect((await call.ended).code).toBe(0)

  const other = start('call', 's.work', mine)
  const second = await untilTask('working', 1)
  expect((await run('tasks', 'cancel', second, mine)).stdout).toContain(`Task ${second} is cancelled.`)
  expect((await other.ended).code).not.toBe(0)
  await untilTask('cancelled', 1)
  const unknown = await run('tasks', 'result', '99', mine)
  expect(unknown.code).toBe(2)
  expect(unknown.stderr).toContain('jackfield tasks lists all tasks')
})
