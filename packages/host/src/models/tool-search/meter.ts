import type { CatalogTool, ModelRequest, ToolMeter, ToolWeight } from '../../types/index.ts'

const defaultContext = 128_000

/** Beyond either limit, definitions are not given to a model in full. */
const toolLimits = { share: 0.1, tools: 40 } as const

/** Counts tokens of definitions; each unchanged definition is counted once. */
export function createMeter(): (tools: readonly CatalogTool[], contextTokens?: number) => ToolMeter {
  const known = new WeakMap<CatalogTool['tool'], ToolWeight>()
  const weightOf = (entry: CatalogTool): ToolWeight => {
    const before = known.get(entry.tool)
    if (before?.name === entry.name) return before
    const weight = { name: entry.name, tokens: estimateTokens(JSON.stringify(modelTool(entry))) }
    known.set(entry.tool, weight)
    return weight
  }
  return (tools, contextTokens = defaultContext) => {
    const servers = new Map<string, ToolWeight[]>()
    for (const entry of tools) {
      const weights = servers.get(entry.server) ?? []
      weights.push(weightOf(entry))
      servers.set(entry.server, weights)
    }
    const serverWeights = [...servers]
      .map(([server, weights]) => ({
        server,
        tokens: totalTokens(weights),
        tools: weights.toSorted((a, b) => b.tokens - a.tokens),
      }))
      .toSorted((a, b) => b.tokens - a.tokens)
    const tokens = totalTokens(serverWeights)
    const share = tokens / contextTokens
    return {
      tokens,
      tools: tools.length,
      servers: serverWeights,
      contextTokens,
      share,
      limits: toolLimits,
      ...toolVerdict(tools.length, share),
    }
  }
}

function toolVerdict(tools: number, share: number): Pick<ToolMeter, 'deferred' | 'reason'> {
  const limitText = `${toolLimits.share * 100} %`
  const shareText = `${(share * 100).toFixed(1)} %`
  if (tools > toolLimits.tools) {
    return {
      deferred: true,
      reason: `There are ${tools} tools, more than the ${toolLimits.tools} that a model is given in full, so it searches for them.`,
    }
  }
  if (share > toolLimits.share) {
    return {
      deferred: true,
      reason: `The definitions take ${shareText} of the model's context, more than ${limitText}, so it searches for them.`,
    }
  }
  return {
    deferred: false,
    reason: `The definitions take ${shareText} of the model's context (up to ${limitText}) for ${tools} tools (up to ${toolLimits.tools}), so a model is given them in full.`,
  }
}

function totalTokens(weights: readonly { tokens: number }[]): number {
  return weights.reduce((total, { tokens }) => total + tokens, 0)
}

const bytesPerToken = 3.5

const encoder = new TextEncoder()

/** Estimated tokens of a text; no tokenizer is used. */
export function estimateTokens(text: string): number {
  return Math.ceil(encoder.encode(text).length / bytesPerToken)
}

/** A tool in the form of a model request. */
export type ModelTool = NonNullable<ModelRequest['tools']>[number]

/** A tool of the catalog in the form for models. */
export function modelTool({ name, tool }: CatalogTool): ModelTool {
  const title = tool.title ?? tool.annotations?.title
  const description = [title, tool.description].filter((part) => part !== undefined).join(': ')
  return { name, inputSchema: tool.inputSchema, ...(description !== '' && { description }) }
}
