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
  /** The policy or the person refused the call, and the content says so. Only from `hostTools`. */
  denied?: true
}

/** A preliminary output, with `preliminaryProgress`. */
export interface ToolProgress {
  progress: ProgressReport
}

/** A tool reported a failure: its result has `isError`. The AI SDK makes it a `tool-error`, whose message the model reads. */
export class ToolCallError extends Error {
  override readonly name = 'ToolCallError'
  readonly toolName: string
  /** The whole result, which may have more than text. */
  readonly result: CallToolResult

  constructor(toolName: string, result: CallToolResult) {
    super(textOf(result) || `The tool ${toolName} failed and gave no reason.`)
    this.toolName = toolName
    this.result = result
  }
}

/** A tool to offer, and the way to call it. */
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

/** The longest name that all providers accept. */
const longestName = 64

/** The tools by names that every provider accepts. */
export function toolSet(offered: readonly OfferedTool[], options: ToolsOptions): ToolSet {
  const names = safeNames(offered.map(({ name }) => name))
  return Object.fromEntries(
    offered.map((one, at) => {
      const name = names[at] ?? one.name
      return [name, adapted(name, one, options)]
    }),
  )
}

function adapted(name: string, offered: OfferedTool, options: ToolsOptions): ToolSet[string] {
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
        perform(name, offered, input, abortSignal, (report) => {
          onProgress(report)
          options.onProgress?.(report, { toolName: name, toolCallId })
        })
      return options.preliminaryProgress === true ? withProgress(run) : run(() => {})
    },
    toModelOutput: ({ output }) => toModelOutput(output, options),
  })
}

async function perform(
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

/** The output of a call, after the newest progress whenever the reader is ready for it. */
async function* withProgress(
  run: (onProgress: (report: ProgressReport) => void) => Promise<ToolOutput>,
): AsyncGenerator<ToolProgress | ToolOutput> {
  let newest: ProgressReport | undefined
  let wake = (): void => {}
  const finished = run((report) => {
    newest = report
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
    if (newest === undefined) await Promise.race([woken, settled])
    const progress = newest
    newest = undefined
    if (progress !== undefined && !isFinished) yield { progress }
  }
  yield await finished
}

/** The schema for the provider, and the check of what the model wrote before the server is called. */
function inputSchema({ inputSchema }: Tool): ReturnType<typeof jsonSchema<unknown>> {
  // Providers require `properties`.
  const schema: Tool['inputSchema'] = { properties: {}, ...inputSchema }
  let validator: ReturnType<typeof compileSchema> | undefined
  return jsonSchema<unknown>(() => schema, {
    validate(value) {
      try {
        validator ??= compileSchema(inputSchema)
      } catch {
        // A schema that cannot be checked here, such as one with external references, is left to the server.
        return { success: true, value }
      }
      const problem = validator.check(value)
      if (problem === undefined) return { success: true, value }
      return { success: false, error: new TypeValidationError({ value, cause: new Error(problem) }) }
    },
  })
}

/** Names with the characters and length that every provider accepts, each different. */
function safeNames(names: readonly string[]): string[] {
  const used = new Set<string>()
  const safe = names.map((name) => name.replaceAll(/[^A-Za-z0-9_-]/g, '_'))
  const result: string[] = []
  // Unchanged names first, so that a changed one never takes theirs.
  const order = [...names.keys()].sort((a, b) => Number(names[a] !== safe[a]) - Number(names[b] !== safe[b]))
  for (const at of order) {
    let candidate = shortened(safe[at] ?? '', '')
    for (let n = 2; used.has(candidate); n++) candidate = shortened(safe[at] ?? '', `_${n}`)
    used.add(candidate)
    result[at] = candidate
  }
  return result
}

/** Cuts the middle out, since both ends tell tools apart. */
function shortened(name: string, suffix: string): string {
  const room = longestName - suffix.length
  if (name.length <= room) return name + suffix
  const head = Math.ceil((room - 2) / 2)
  return `${name.slice(0, head)}__${name.slice(name.length - (room - 2 - head))}${suffix}`
}
