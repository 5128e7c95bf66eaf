import { tool } from '@jackfield/sdk'
import { serveStdio } from '@jackfield/sdk/stdio'
import { createUpstream } from './upstream.ts'

const { server } = createUpstream()
server.add({ tools: { exit: tool({ description: 'Ends the process', run: () => process.exit(3) }) } })
serveStdio(server)
