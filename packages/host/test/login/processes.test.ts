import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { encryptedFiles, passphrase } from '@jackfield/sdk/client/auth/node'
import { expect, it } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import { protectedServer } from '../../../sdk/test/client-auth/support/protected-server.ts'
import { folder, started } from '../fixtures/hosts.ts'

const program = programFile(new URL('../fixtures/login-caller.ts', import.meta.url))
const count = 10

it('ten processes with a shared refresh token refresh once without a login', {
  timeout: 90_000,
}, async () => {
  const one = await protectedServer()
  const directory = folder()
  const secret = 'correct horse battery'
  const host = await started({
    servers: { s: { url: one.url } },
    credentials: encryptedFiles({ directory, key: passphrase(secret) }),
    async openPage(url) {
      const { headers } = await fetch(url, { redirect: 'manual' })
      await fetch(new URL(headers.get('location') ?? '', url))
    },
  })
  await host.logins.signIn('s')
  await host.close()

  const callers = await Promise.all(
    Array.from({ length: count }, async () => {
      const child = spawn(process.execPath, [program, one.url, directory, secret], {
        stdio: ['pipe', 'pipe', 'inherit'],
        timeout: 80_000,
      })
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      const { value: state } = await lines.next()
      return { child, state, lines, ended: once(child, 'exit') }
    }),
  )
  expect(callers.map(({ state }) => state)).toEqual(Array(count).fill('ready'))
  one.as.expireAll()
  for (const { child } of callers) child.stdin.end('go\n')
  const answers = await Promise.all(callers.map(async ({ lines }) => (await lines.next()).value))
  await Promise.all(callers.map(({ ended }) => ended))

  expect(answers).toEqual(Array(count).fill('[{"type":"text","text":"done"}]'))
  expect(one.calls.filter(({ body }) => JSON.parse(body).method === 'tools/call')).toHaveLength(count)
  const kinds = one.as.at('/token').map(({ params }) => params.get('grant_type'))
  expect(kinds).toEqual(['authorization_code', 'refresh_token'])
  expect(one.as.at('/authorize')).toHaveLength(1)
})
