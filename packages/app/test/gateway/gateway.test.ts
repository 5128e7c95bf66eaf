import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect, http } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import { expect, it, onTestFinished } from 'vitest'
import { builtProgram } from '../../../../test/setup/built-program.ts'
import { begin, jsonFile, tempFolder, travel } from '../cli/jackfield.ts'

const bin = builtProgram('jackfield')

function config(): string {
  const [command, ...args] = travel()
  return jsonFile({
    mcpServers: { trips: { command, args } },
    jackfield: { defaultVerdict: 'allow', rules: [{ id: 'no-booking', verdict: 'deny', tool: 'book*' }] },
  })
}

it('shows the configured servers on stdin and stdout, under the policy', async () => {
  const folder = tempFolder()
  const { PATH = '' } = process.env
  const args = [bin, 'gateway', '--config', config()]
  const client = await connect(
    stdio({
      command: process.execPath,
      args,
      env: { PATH, HOME: folder, XDG_DATA_HOME: folder },
      cwd: folder,
    }),
  )
  onTestFinished(() => client.close())
  const names = (await client.tools()).map(({ name }) => name)
  expect(names).toContain('trips__searchFlights')
  expect(names.some((name) => name.startsWith('trips__book'))).toBe(false)
})

it('serves available servers at once, while one waits for consent, and ends on interrupt', async () => {
  const folder = tempFolder()
  const [command, ...args] = travel()
  const own = join(folder, '.config', 'jackfield')
  mkdirSync(own, { recursive: true })
  writeFileSync(join(own, 'config.json'), JSON.stringify({ mcpServers: { trips: { command, args } } }))
  writeFileSync(join(folder, '.mcp.json'), JSON.stringify({ mcpServers: { gone: { command: 'nobody' } } }))
  const { PATH = '' } = process.env
  const env = { PATH, HOME: folder, XDG_DATA_HOME: folder }
  const client = await connect(stdio({ command: process.execPath, args: [bin, 'gateway'], env, cwd: folder }))
  onTestFinished(() => client.close())
  expect((await client.tools()).map(({ name }) => name)).toContain('trips__searchFlights')
  await client.close()

  const running = begin(['gateway'], { cwd: folder, env, stdinStaysOpen: true })
  onTestFinished(() => void running.child.kill('SIGKILL'))
  await running.waitForOutput('gone asks')
  running.child.kill('SIGINT')
  expect((await running.ended).code).toBe(130)
})

it('accepts only the users of a file over HTTP', async () => {
  const users = jsonFile({ ann: 'ann-has-a-long-token' })
  const running = begin(['gateway', '--http', '127.0.0.1:0', '--users', users, '--config', config()])
  await running.waitForOutput('Users: ann')
  onTestFinished(() => void running.child.kill())
  const [url = ''] = /http:\S+\/mcp/.exec(running.output()) ?? []
  const authorization = 'Bearer ann-has-a-long-token'
  const client = await connect(http(url, { headers: { authorization } }))
  expect((await client.tools()).map(({ name }) => name)).toContain('trips__searchFlights')
  await client.close()
  await expect(connect(http(url))).rejects.toThrow()
  running.child.kill('SIGINT')
  expect((await running.ended).code).toBe(130)
})
