import { equal } from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'

const proxy = spawn(process.execPath, ['examples/proxy/proxy.ts'], { stdio: ['ignore', 'pipe', 'ignore'] })
const [first] = await once(proxy.stdout.setEncoding('utf8'), 'data')
const client = spawn(process.execPath, ['examples/proxy/client.ts', String(first).trim()], {
  stdio: 'inherit',
})
const [code] = await once(client, 'exit')
proxy.kill()
equal(code, 0)
