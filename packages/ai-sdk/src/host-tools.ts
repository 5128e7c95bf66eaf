import type { CallToolResult, Tool } from '@jackfield/sdk'
import type { ProgressReport } from '@jackfield/sdk/client'
import type { ToolSet } from 'ai'
import { type ToolsOptions, toolSet } from './tool-set.ts'

/** A tool of a host: its name there, and what its server declared. */
export interface CalledTool {
  readonly name: string
  /** The configured name of the server. */
  readonly server: string
  readonly tool: Tool
}

/** How `hostTools` calls a tool of a host. */
export interface HostCall {
  /** Who wants the call, for the policy. */
  caller: 'chat' | 'code' | 'app'
  conversation?: string
  signal?: AbortSignal
  onProgress?: (report: ProgressReport) => void
}

/** The part of a `Host` of `@jackfield/host` that `hostTools` uses. */
export interface ToolHost {
  tools(): readonly CalledTool[]
  call(
    name: string,
    args: Record<string, unknown>,
    options: HostCall,
  ): Promise<{ result: CallToolResult; denied: boolean }>
}

/** Which tools of a host are offered to the model, and for whom they are called. */
export interface HostToolsOptions extends ToolsOptions {
  /** Whether a tool is offered to the model. Default: every tool. */
  filter?: (tool: CalledTool) => boolean
  /** Who wants the calls, for rules of the policy with `caller`. Default `chat`. */
  caller?: HostCall['caller']
  /** The conversation that the calls belong to: remembered answers and labels of data count in it. Default none. */
  conversation?: string
}

/**
 * The tools of all servers of a host, for `tools` of `generateText`, `streamText` and agents of the AI SDK. Every call goes
 * through `host.call`: policy, the question to the person, and the activity log. The tools are those of this moment.
 */
export function hostTools(host: ToolHost, options: HostToolsOptions = {}): ToolSet {
  const { filter = () => true, caller = 'chat', conversation } = options
  return toolSet(
    host
      .tools()
      .filter(filter)
      .map(({ name, server, tool }) => ({
        name,
        tool,
        server,
        call: (args, signal, onProgress) =>
          host.call(name, args, {
            caller,
            onProgress,
            ...(conversation === undefined ? {} : { conversation }),
            ...(signal === undefined ? {} : { signal }),
          }),
      })),
    options,
  )
}
