import type { CallToolResult, JsonObject, Tool } from '@jackfield/sdk'
import type { ProgressReport } from '@jackfield/sdk/client'
import { compileSchema } from '@jackfield/sdk/schema'
import { dynamicTool, jsonSchema, type ToolSet, TypeValidationError } from 'ai'
import { type ModelOutputOptions, textOf, toModelOutput } from './model-output.ts'

/** Options of both `clientTools` and `hostTools`. */
export interface ToolsOptions extends ModelOutputOptions {
  /** Called for progress of a call, with the id of the tool call in the AI SDK. */
  onProgress?: (report: ProgressReport, call: { toolName: string; toolCallId: string }) => void
  /**
   * Also makes progress a preliminary result of the tool call, `{ progress }`, which `streamText` streams to user interfaces.
   * Default false.
   */
  preliminaryProgress?: boolean
}

/** The output of a tool call in the AI SDK: the result as the server sent it. */
export interface ToolOutput extends CallToolResult {
  /** Set if the policy or the user denied the call; the content says so. Only with `hostTools`. */
  denied?: true
}

/** A preliminary output, with `preliminaryProgress`. */
export interface ToolProgress {
  progress: ProgressReport
}

/** A tool result with `isError`. The AI SDK turns it into a `tool-error`, whose message the model reads. */
export class ToolCallError extends Error {
  override readonly name = 'ToolCallError'
  readonly toolName: string
  /** The result, which may contain more than the text of the message. */
  readonly result: CallToolResult

  constructor(toolName: string, result: CallToolResult) {
    super(textOf(result) || `The tool ${toolName} failed and gave no reason.`)
    this.toolName = toolName
    this.result = result
  }
}

/** A tool for the model, and how to call it. */
export interface OfferedTool {
  readonly name: string
  readonly server: string
  readonly tool: Tool
  call(
    args: JsonObject,
    signal: AbortSignal | undefined,
    onProgress: (report: ProgressReport) => void,
  ): Promise<{ result: CallToolResult; denied: boolean }>
}

/** Maximum length of a tool name that all providers accept. */
const maxNameLength = 64

/** The tools by names that every provider accepts: A-Z, a-z, 0-9, `_` and `-`, unique, with a limited length. */
export function toolSet(offered: readonly OfferedTool[], options: ToolsOptions): ToolSet {
  const names = safeNames(offered.map(({ name }) => name))
  return Object.fromEntries(
    offered.map((tool, index) => {
      const name = names[index] ?? tool.name
      return [name, toAiTool(name, tool, options)]
    }),
  )
}

function toAiTool(name: string, offered: OfferedTool, options: ToolsOptions): ToolSet[string] {
  const { tool, server } = offered
  const title = tool.title ?? tool.annotations?.title
  return dynamicTool({
    description: tool.description ?? '',
    ...(title === undefined ? {} : { title }),
    metadata: {
      server,
      toolName: tool.name,
      ...(title === undefined ? {} : { title }),
      ...(tool.annotations === undefined ? {} : { annotations: { ...tool.annotations } }),
    },
    inputSchema: inputSchema(tool),
    execute(input, { abortSignal, toolCallId }) {
      const run = (onProgress: (report: ProgressReport) => void) =>
        callTool(name, offered, input, abortSignal, (report) => {
          onProgress(report)
          options.onProgress?.(report, { toolName: name, toolCallId })
        })
      return options.preliminaryProgress === true ? withProgress(run) : run(() => {})
    },
    toModelOutput: ({ output }) => toModelOutput(output, options),
  })
}

async function callTool(
  name: string,
  offered: OfferedTool,
  input: unknown,
  signal: AbortSignal | undefined,
  onProgress: (report: ProgressReport) => void,
): Promise<ToolOutput> {
  signal?.throwIfAborted()
  const args = typeof input === 'object' && input !== null ? Object.fromEntries(Object.entries(input)) : {}
  const { result, denied } = await offered.call(args, signal, onProgress)
  if (denied) return { ...result, denied: true }
  if (result.isError === true) throw new ToolCallError(name, result)
  return result
}

/** Yields the latest progress whenever the consumer asks for more, and at the end the output. */
async function* withProgress(
  run: (onProgress: (report: ProgressReport) => void) => Promise<ToolOutput>,
): AsyncGenerator<ToolProgress | ToolOutput> {
  let latest: ProgressReport | undefined
  let wake = (): void => {}
  const finished = run((report) => {
    latest = report
    wake()
  })
  let isFinished = false
  const settled = finished.then(
    () => {
      isFinished = true
    },
    () => {
      isFinished = true
    },
  )
  while (!isFinished) {
    const woken = new Promise<void>((resolve) => {
      wake = resolve
    })
    if (latest === undefined) await Promise.race([woken, settled])
    const progress = latest
    latest = undefined
    if (progress !== undefined && !isFinished) yield { progress }
  }
  yield await finished
}

/** The schema for the provider, and the validation of arguments before the server is called. */
function inputSchema({ inputSchema }: Tool): ReturnType<typeof jsonSchema<unknown>> {
  // Providers require `properties`.
  const schema: Tool['inputSchema'] = { properties: {}, ...inputSchema }
  let validator: ReturnType<typeof compileSchema> | undefined
  return jsonSchema<unknown>(() => schema, {
    validate(value) {
      try {
        validator ??= compileSchema(inputSchema)
      } catch {
        // A schema that cannot be compiled, such as one with external references, is left to the server.
        return { success: true, value }
      }
      const problem = validator.check(value)
      if (problem === undefined) return { success: true, value }
      return { success: false, error: new TypeValidationError({ value, cause: new Error(problem) }) }
    },
  })
}

/** Unique names with the characters and the length that every provider accepts, in the order of `names`. */
function safeNames(names: readonly string[]): string[] {
  const used = new Set<string>()
  const safe = names.map((name) => name.replaceAll(/[^A-Za-z0-9_-]/g, '_'))
  const result: string[] = []
  // Names that need no change come first, so that they keep their name.
  const order = [...names.keys()].sort((a, b) => Number(names[a] !== safe[a]) - Number(names[b] !== safe[b]))
  for (const index of order) {
    let candidate = truncateMiddle(safe[index] ?? '', '')
    for (let n = 2; used.has(candidate); n++) candidate = truncateMiddle(safe[index] ?? '', `_${n}`)
    used.add(candidate)
    result[index] = candidate
  }
  return result
}

/** Shortens a name in its middle, because both ends distinguish tools. */
function truncateMiddle(name: string, suffix: string): string {
  const length = maxNameLength - suffix.length
  if (name.length <= length) return name + suffix
  const head = Math.ceil((length - 2) / 2)
  return `${name.slice(0, head)}__${name.slice(name.length - (length - 2 - head))}${suffix}`
}
