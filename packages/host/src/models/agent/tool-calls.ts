import { failure } from '../../core/call-results.ts'
import type { CatalogTool, Host } from '../../types/index.ts'
import { nearNames } from '../listed-models.ts'
import { callCodeTool, isCodeTool } from './code-tools.ts'
import type { LateResult } from './conversation.ts'
import { callSearchTool, isSearchTool } from './search-tools.ts'
import { callVirtual, isVirtual } from './virtual-tools.ts'

/** The outcome of one tool call of the model. */
export interface ToolOutcome extends Omit<LateResult, 'type' | 'id' | 'name'> {
  /** The host was closed while the call waited for an answer; answering resumes it in another program. */
  suspended?: boolean
  /** Tool calls of a program. */
  calls?: number
}

/** The origin of a call. */
export interface CallOrigin {
  conversation: string
  /** The row of the model's reply. */
  cause: number
  signal?: AbortSignal
  /** Maximum tool calls of a program. */
  maxCalls: number
  /** Called with the row of the call as soon as it is written. */
  onRow?: (row: number) => void
}

/** The tools offered to a conversation's model, besides the conversation's own. */
export interface OfferedTools {
  codeMode: boolean
  /** Whether the user left this tool switched on. */
  isOn: (tool: CatalogTool) => boolean
}

/** Candidates for a wrong name: tools with that plain name, else those with a similar name. */
function namesLike(requestedName: string, names: readonly string[]): string[] {
  const sameName = names.filter((name) => name.endsWith(`__${requestedName}`))
  return (sameName.length > 0 ? sameName : nearNames(requestedName, names)).slice(0, 3)
}

/** Runs one call: the conversation's own tools here, all others through the broker. */
export async function performCall(
  host: Host,
  use: { name: string; input: Record<string, unknown> },
  { maxCalls, ...origin }: CallOrigin,
  { codeMode, isOn }: OfferedTools,
): Promise<ToolOutcome> {
  const { name, input } = use
  if (isVirtual(name)) {
    return { result: await callVirtual(host, origin.conversation, name, input, origin.signal), denied: false }
  }
  if (isSearchTool(name)) return { result: callSearchTool(host, name, input, isOn), denied: false }
  if (codeMode && isCodeTool(name)) {
    return { ...(await callCodeTool(host, name, input, { ...origin, maxCalls, isOn })), denied: false }
  }
  const entry = host.tools().find((tool) => tool.name === name)
  if (entry === undefined) {
    const names = host.tools().flatMap((tool) => (isOn(tool) ? [tool.name] : []))
    const near = namesLike(name, names)
    const instead = near.length === 0 ? '' : ` Did you mean ${near.join(' or ')}?`
    const message = `There is no tool "${name}" at present.${instead} If it was there before, its server is no longer available or no longer offers it.`
    return { result: failure(message), denied: false }
  }
  if (!isOn(entry)) {
    const message = `${name} was not called: the person switched it off in this conversation. Do not try it again or another way around it; say what you wanted it for.`
    return { result: failure(message), denied: true }
  }
  const done = await host.call(name, input, { caller: 'chat', ...origin })
  const { result, denied, decision, activity, suspended } = done
  return { result, denied, decision, activity, ...(suspended !== undefined && { suspended }) }
}
