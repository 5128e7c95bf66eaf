import { McpError } from '@jackfield/sdk'
import { matchesGlob, oneLine } from '../../shared/text.ts'
import type { CatalogTool, Host, ToolSwitch } from '../../types/index.ts'

type ToolNames = Pick<CatalogTool, 'server' | 'name' | 'tool'>

/** Tool switches of one conversation. */
const maxSwitches = 200

/** Whether a tool is on: decided by the last matching switch; on by default. */
export function isSwitchedOn(tool: ToolNames, switches: readonly ToolSwitch[]): boolean {
  return switches.findLast(({ pattern }) => matches(pattern, tool))?.on ?? true
}

/**
 * The switches with these patterns added. Earlier switches without effect are removed.
 * @throws McpError 'NOT_FOUND' for a pattern that matches nothing
 */
export function addSwitches(
  current: readonly ToolSwitch[],
  on: boolean,
  patterns: readonly string[],
  host: Pick<Host, 'tools' | 'connections'>,
): ToolSwitch[] {
  const tools = host.tools()
  const servers = [...host.connections.keys()]
  for (const pattern of patterns) {
    const isKnown =
      tools.some((tool) => matches(pattern, tool)) ||
      servers.some((server) => matchesGlob(pattern, server)) ||
      current.some((one) => one.pattern === pattern)
    if (!isKnown) {
      throw new McpError(
        'NOT_FOUND',
        `There is no tool or server "${oneLine(pattern).slice(0, 100)}", and nothing was switched. Write a server, server.tool, or a pattern with * and ?.`,
      )
    }
  }
  const switches = [...new Set(patterns)].map((pattern) => ({ pattern, on }))
  const all = [...current.filter(({ pattern }) => !patterns.includes(pattern)), ...switches]
  // Switches before the last "*" have no effect, nor does "on" before the first "off".
  const effective = all.slice(
    Math.max(
      0,
      all.findLastIndex(({ pattern }) => pattern === '*'),
    ),
  )
  const first = effective.findIndex((one) => !one.on)
  const result = first === -1 ? [] : effective.slice(first)
  if (result.length > maxSwitches) {
    throw new McpError(
      'INVALID',
      `A conversation keeps at most ${maxSwitches} switches of tools, and nothing was switched. Use a pattern with *, such as server.*.`,
    )
  }
  return result
}

function matches(pattern: string, { server, name, tool }: ToolNames): boolean {
  return [server, `${server}.${tool.name}`, name].some((text) => matchesGlob(pattern, text))
}
