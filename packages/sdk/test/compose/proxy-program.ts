import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { protocolVersions } from '@jackfield/sdk'
import { stdio } from '@jackfield/sdk/client/stdio'
import { proxy } from '@jackfield/sdk/compose'
import { serveStdio } from '@jackfield/sdk/stdio'

/** A proxy on stdin and stdout of the server in `upstream-program.ts`, spoken to in one revision. */
const { values } = parseArgs({ options: { revision: { type: 'string' } } })
const program = fileURLToPath(new URL('./upstream-program.ts', import.meta.url))
const target = stdio({ command: process.execPath, args: ['--no-warnings', program] })
const revisions = protocolVersions.filter((version) => version === values.revision)
const served = await proxy(target, { connect: { revisions } })
await serveStdio(served).closed
await served.close()
