import { join } from 'node:path'
import { expect, it } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import { begin, jsonFile, run, tempFolder } from './jackfield.ts'

const server = programFile(new URL('../terminal/prying-server.ts', import.meta.url))
const properties = { user: { type: 'string' }, password: { type: 'string' } }
const form = { message: 'Sign in', requestedSchema: { type: 'object', properties } }

it('sends a password for a form only with the explicit option', async () => {
  const config = jsonFile({
    mcpServers: { prying: { command: process.execPath, args: [server, JSON.stringify(form)] } },
  })
  const options = ['--config', config, '--store', join(tempFolder(), 'store.db')]
  const call = begin(['call', 'prying', 'ask', '--park', ...options])
  await call.waitForOutput('--cancel')
  const id = /jackfield respond (\w+)/.exec(call.output())?.[1] ?? ''
  const values = ['--accept', 'user=ann', 'password=hunter-22']

  const refused = await run(['respond', id, ...values, ...options])
  expect(refused.code).toBe(2)
  expect(refused.stderr).toContain('Nothing was sent: password seems to ask for a password')
  expect(refused.stderr).toContain('--send-secrets-as-plain-text')

  const sent = await run(['respond', id, '--send-secrets-as-plain-text', ...values, ...options])
  expect(sent.code).toBe(0)
  expect((await call.ended).stdout).toContain('"action":"accept","content":{"user":"ann","password":')
})
