import { deepEqual, equal } from 'node:assert/strict'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@jackfield/sdk/client'
import { socket } from '@jackfield/sdk/client/socket'
import { startCounter } from './server.ts'

const folder = await mkdtemp(join(tmpdir(), 'counter-'))
// Windows has named pipes in place of socket files.
const windows = process.platform === 'win32'
const path = windows ? `\\\\.\\pipe\\counter-${process.pid}` : join(folder, 'counter.sock')
const server = await startCounter(path)
if (!windows) equal((await stat(path)).mode & 0o777, 0o600)

const one = await connect(socket({ path }))
const other = await connect(socket({ path }), { revisions: ['2025-11-25'] })
equal(server.connections, 2)
const first = await one.call('visit')
const second = await other.call('visit')
deepEqual(
  [first.content, second.content],
  [[{ type: 'text', text: 'Visit 1' }], [{ type: 'text', text: 'Visit 2' }]],
)

await one.close()
await other.close()
await server.close()
await rm(folder, { recursive: true })
console.log('Two clients of different eras shared one server behind a socket only its owner can open.')
