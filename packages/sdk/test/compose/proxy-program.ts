import { parseArgs } from 'node:util'
import { protocolVersions } from '@jackfield/sdk'
import { stdio } from '@jackfield/sdk/client/stdio'
import { proxy } from '@jackfield/sdk/compose'
import { serveStdio } from '@jackfield/sdk/stdio'

/** A stdio proxy of the program in `upstream-program.ts`, for a client of one revision. */
const { values } = parseArgs({
  options: { revision: { type: 'string' }, upstream: { type: 'string', default: '' } },
})
const target = stdio({ command: process.execPath, args: ['--no-warnings', values.upstream] })
const revisions = protocolVersions.filter((version) => version === values.revision)
const served = await proxy(target, { connect: { revisions } })
await serveStdio(served).closed
await served.close()
