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

it('warns of an --only that matches nothing, with an example of a name', async () => {
  const only = ['--only', 'trips__search*', 'searchFlights']
  const running = begin(['gateway', '--http', '127.0.0.1:0', ...only, '--config', config()])
  onTestFinished(() => void running.child.kill('SIGKILL'))
  await running.waitForOutput('Clients send')
  // The connections of a user are opened with the first request.
  const [, url = ''] = /listens at (\S+)\. /.exec(running.output()) ?? []
  const [, token = ''] = /Bearer (\S+)/.exec(running.output()) ?? []
  const client = await connect(http(url, { headers: { Authorization: `Bearer ${token}` } }))
  onTestFinished(() => client.close())
  expect((await client.tools()).map(({ name }) => name)).toEqual(['trips__searchFlights'])
  expect(running.output()).toContain(
    '! --only searchFlights matches nothing. Names are written server__tool, such as trips__searchFlights',
  )
  expect(running.output()).toContain('1 of 7 tools of 1 server.')
})
