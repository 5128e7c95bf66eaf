import type { CallToolResult, Tool } from '@jackfield/sdk'
import type { BaseClient } from '@jackfield/sdk/client'
import type { ToolSet } from 'ai'
import { type ToolsOptions, toolSet } from './tool-set.ts'

/** Which tools of a client's server are offered to the model, and how. */
export interface ClientToolsOptions extends ToolsOptions {
  /** Prefix of every name, such as `github_`, so that tools of several servers have different names. Default: none. */
  prefix?: string
  /** Whether a tool is offered to the model. Default: every tool. */
  filter?: (tool: Tool) => boolean
  /** Milliseconds without a response or progress before a call fails. Default: that of the client. */
  timeoutMs?: number
}

/**
 * The tools of a client's server, for `tools` of `generateText`, `streamText` and agents of the AI SDK. Requests of the
 * server for input are answered by the handlers of the client. The set does not change: call this again after `onChange` of the
 * client reported a changed list.
 * @throws McpError if the tools cannot be listed
 */
export async function clientTools(
  client: Pick<BaseClient, 'tools' | 'request' | 'server'>,
  options: ClientToolsOptions = {},
): Promise<ToolSet> {
  const { prefix = '', filter = () => true, timeoutMs } = options
  const tools = (await client.tools()).filter(filter)
  return toolSet(
    tools.map((tool) => ({
      name: prefix + tool.name,
      tool,
      server: client.server.info?.name ?? '',
      async call(args, signal, onProgress) {
        const result: CallToolResult = await client.request(
          'tools/call',
          { name: tool.name, arguments: args },
          {
            onProgress,
            ...(signal === undefined ? {} : { signal }),
            ...(timeoutMs === undefined ? {} : { timeoutMs }),
          },
        )
        return { result, denied: false }
      },
    })),
    options,
  )
}
