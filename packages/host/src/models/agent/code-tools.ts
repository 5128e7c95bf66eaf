import { type CallToolResult, McpError } from '@jackfield/sdk'
import { failure, textResult } from '../../core/call-results.ts'
import type { CatalogTool, Host } from '../../types/index.ts'
import { defaultCalls } from '../code/run.ts'
import type { ModelTool } from '../tool-search/meter.ts'
import type { CallOrigin, OfferedTools } from './tool-calls.ts'

const maxDeclarationCharacters = 18_000

const names = { run: 'run_code', describe: 'describe_api' } as const

/** Tools for running programs that call the servers' tools. */
export const codeTools: readonly ModelTool[] = [
  {
    name: names.run,
    description:
      'Runs a JavaScript program (types are taken off) as the body of an async function: for many calls, loops, or large results of which little is needed. Tools are `await servers.<server>.<tool>({ … })`, see describe_api; a refused or failed call throws. `return` a small value, console.log, or show(result) for images and other content. No network, files, timers or modules.',
    inputSchema: {
      type: 'object',
      properties: { program: { type: 'string' } },
      required: ['program'],
      additionalProperties: false,
    },
  },
  {
    name: names.describe,
    description: 'The TypeScript declarations of what run_code can use: all, or of one server or some tools.',
    inputSchema: {
      type: 'object',
      properties: {
        server: { type: 'string' },
        tools: { type: 'array', items: { type: 'string' }, description: 'Only these tools' },
      },
      additionalProperties: false,
    },
  },
]

const codeToolNames: ReadonlySet<string> = new Set(Object.values(names))

/** Whether the conversation answers this tool itself. */
export function isCodeTool(name: string): boolean {
  return codeToolNames.has(name)
}

/** Runs one of `codeTools`. A failure is a result the model can read. */
export async function callCodeTool(
  host: Host,
  name: string,
  args: Record<string, unknown>,
  { maxCalls, ...options }: Omit<CallOrigin, 'onRow'> & Pick<OfferedTools, 'isOn'>,
): Promise<{ result: CallToolResult; calls?: number }> {
  if (name === names.describe) return { result: textResult(declarationsText(host, args, options.isOn)) }
  if (typeof args.program !== 'string') return { result: failure('run_code needs "program", a text.') }
  try {
    const limits = { calls: Math.min(maxCalls, defaultCalls) }
    const { result, calls } = await host.code.run(args.program, { ...options, limits })
    return { result, calls: calls.length }
  } catch (error) {
    if (error instanceof McpError && error.code === 'INVALID') return { result: failure(error.message) }
    throw error
  }
}

function declarationsText(
  host: Host,
  { server, tools }: Record<string, unknown>,
  isOn: (tool: CatalogTool) => boolean,
): string {
  const filter = {
    isOn,
    ...(typeof server === 'string' && { servers: [server] }),
    ...(Array.isArray(tools) && { tools: tools.filter((tool) => typeof tool === 'string') }),
  }
  const declarations = host.code.types(filter)
  if (declarations.length <= maxDeclarationCharacters) return declarations
  const servers = Map.groupBy(host.tools().filter(isOn), (entry) => entry.server)
  const lists = [...servers].flatMap(([name, entries]) =>
    typeof server === 'string' && server !== name
      ? []
      : [`${name}: ${entries.map(({ tool }) => tool.name).join(', ')}`],
  )
  const list = lists.join('\n')
  const shortened =
    list.length > maxDeclarationCharacters ? `${list.slice(0, maxDeclarationCharacters)}… [cut]` : list
  return `${host.code.types({ tools: [] })}\nThere are too many tools to declare at once. Ask for some with "tools":\n${shortened}`
}
