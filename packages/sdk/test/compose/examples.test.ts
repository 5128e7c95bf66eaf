import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'

const run = promisify(execFile)
const cwd = fileURLToPath(new URL('../../../../', import.meta.url))

it('the proxy example serves clients of both eras', async () => {
  const proxy = spawn(process.execPath, ['examples/proxy/proxy.ts'], {
    cwd,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  onTestFinished(async () => {
    proxy.kill()
    if (proxy.exitCode === null && proxy.signalCode === null) await once(proxy, 'exit')
  })
  const [first] = await once(proxy.stdout.setEncoding('utf8'), 'data')
  const { stdout } = await run(process.execPath, ['examples/proxy/client.ts', String(first).trim()], { cwd })
  expect(stdout).toContain("2025-11-25 [ { type: 'text', text: 'Refunded 42.' } ]")
  expect(stdout).toContain("2026-07-28 [ { type: 'text', text: 'Refunded 42.' } ]")
})

it('the composition example is one server of two', async () => {
  const { stdout } = await run(process.execPath, ['examples/composition/client.ts'], { cwd })
  expect(stdout).toContain("[ 'desk__note', 'shop__refund' ]")
  expect(stdout).toContain('Refunded 42.')
  expect(stdout).toContain('Note 1: refunded 42')
})
