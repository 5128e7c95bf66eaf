import { simulateReadableStream } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
}

/** A call that the model makes. */
export interface ModelCall {
  toolName: string
  input: object
}

/** A model that makes these calls in its first step and then says "Done.". */
export function modelCalling(...calls: ModelCall[]): MockLanguageModelV4 {
  const content = calls.map(({ toolName, input }, at) => ({
    type: 'tool-call' as const,
    toolCallId: `call-${at}`,
    toolName,
    input: JSON.stringify(input),
  }))
  const done = { type: 'text' as const, text: 'Done.' }
  const toolCalls = { unified: 'tool-calls' as const, raw: undefined }
  const stop = { unified: 'stop' as const, raw: undefined }
  return new MockLanguageModelV4({
    doGenerate: [
      { content, finishReason: toolCalls, usage, warnings: [] },
      { content: [done], finishReason: stop, usage, warnings: [] },
    ],
    doStream: [
      {
        stream: simulateReadableStream({
          chunks: [
            { type: 'stream-start', warnings: [] },
            ...content,
            { type: 'finish', finishReason: toolCalls, usage },
          ],
        }),
      },
      {
        stream: simulateReadableStream({
          chunks: [
            { type: 'stream-start', warnings: [] },
            { type: 'text-start', id: 't' },
            { type: 'text-delta', id: 't', delta: 'Done.' },
            { type: 'text-end', id: 't' },
            { type: 'finish', finishReason: stop, usage },
          ],
        }),
      },
    ],
  })
}

/** What the model was given as the results of its calls. */
export function resultsGiven(model: MockLanguageModelV4): unknown[] {
  const prompt = (model.doGenerateCalls.at(-1) ?? model.doStreamCalls.at(-1))?.prompt ?? []
  return prompt.flatMap((message) =>
    message.role === 'tool'
      ? message.content.map((part) => (part.type === 'tool-result' ? part.output : part))
      : [],
  )
}
