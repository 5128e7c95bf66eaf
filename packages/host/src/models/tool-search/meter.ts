import type { CatalogTool, ModelRequest, ToolMeter, ToolWeight } from '../../types/index.ts'

const defaultContext = 128_000

/** Beyond either limit, definitions are not given to a model in full. */
const meterLimits = { share: 0.1, tools: 40 } as const

/** Counts tokens of definitions; each unchanged definition is counted once. */
export function createMeter(): (tools: readonly CatalogTool[], contextTokens?: number) => ToolMeter {
  const known = new WeakMap<CatalogTool['tool'], ToolWeight>()
  const weigh = (entry: CatalogTool): ToolWeight => {
    const before = known.get(entry.tool)
    if (before?.name === entry.name) return before
    const weight = { name: entry.name, tokens: estimateTokens(JSON.stringify(modelTool(entry))) }
    known.set(entry.tool, weight)
    return weight
  }
  return (tools, contextTokens = defaultContext) => {
    const servers = new Map<string, ToolWeight[]>()
    for (const entry of tools) {
      const own = servers.get(entry.server) ?? []
      own.push(weigh(entry))
      servers.set(entry.server, own)
    }
    const weighed = [...servers]
      .map(([server, own]) => ({
        server,
        tokens: sum(own),
        tools: own.toSorted((a, b) => b.tokens - a.tokens),
      }))
      .toSorted((a, b) => b.tokens - a.tokens)
    const tokens = sum(weighed)
    const share = tokens / contextTokens
    return {
      tokens,
      tools: tools.length,
      servers: weighed,
      contextTokens,
      share,
      limits: meterLimits,
      ...verdict(tools.length, share),
    }
  }
}

function verdict(tools: number, share: number): Pick<ToolMeter, 'deferred' | 'why'> {
  const limit = `${meterLimits.share * 100} %`
  const part = `${(share * 100).toFixed(1)} %`
  if (tools > meterLimits.tools) {
    return {
      deferred: true,
      why: `There are ${tools} tools, more than the ${meterLimits.tools} that a model is given in full, so it searches for them.`,
    }
  }
  if (share > meterLimits.share) {
    return {
      deferred: true,
      why: `The definitions take ${part} of the model's context, more than ${limit}, so it searches for them.`,
    }
  }
  return {
    deferred: false,
    why: `The definitions take ${part} of the model's context (up to ${limit}) for ${tools} tools (up to ${meterLimits.tools}), so a model is given them in full.`,
  }
}

function sum(weights: readonly { tokens: number }[]): number {
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
