import { FastMCP } from 'fastmcp'
import { echoInput, otherInput, others } from './host.ts'

const quiet = (): void => {}

export const server = new FastMCP<undefined>({
  name: 'fastmcp-bench',
  version: '1.0.0',
  logger: { debug: quiet, error: quiet, info: quiet, log: quiet, warn: quiet },
  ping: { enabled: false },
})
server.addTool({
  name: 'echo',
  description: 'Says it again',
  parameters: echoInput,
  execute: async ({ text }) => text,
})
for (const name of others) {
  server.addTool({
    name,
    description: 'Looks something up',
    parameters: otherInput,
    execute: async ({ query }) => query,
  })
}
