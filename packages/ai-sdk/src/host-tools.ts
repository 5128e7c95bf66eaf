import type { CallToolResult, Tool } from '@jackfield/sdk'
import type { ProgressReport } from '@jackfield/sdk/client'
import type { ToolSet } from 'ai'
import { type ToolsOptions, toolSet } from './tool-set.ts'

/** A tool of a host, as its server declared it. */
export interface CalledTool {
  /** The name of the tool in the host. */
  readonly name: string
  /** The configured name of the server. */
  readonly server: string
  readonly tool: Tool
}

/** How `hostTools` calls a tool of a host. */
export interface HostCall {
  /** The origin of the call, for policy rules with `caller`. */
  caller: 'chat' | 'code' | 'app'
  /** The id of the conversation that the call belongs to. */
  conversation?: string
  /** Cancels the call. */
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

/** Which tools of a host are offered to the model, and how they are called. */
export interface HostToolsOptions extends ToolsOptions {
  /** Whether a tool is offered to the model. Default: every tool. */
  filter?: (tool: CalledTool) => boolean
  /** The origin of the calls, for policy rules with `caller`. Default `chat`. */
  caller?: HostCall['caller']
  /** The id of the conversation that the calls belong to. Remembered answers and data labels apply within it. Default: none. */
  conversation?: string
}

/**
 * The tools of all servers of a host, for `tools` of `generateText`, `streamText` and agents of the AI SDK. Every call goes
 * through `host.call`: policy, approval by the user, and the activity log. The set does not change: call this again to get the
 * current tools.
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
