import type { Cause, Model, Surface } from '@jackfield/host'
import { type CreateMessageResult, ErrorCode, type Root, RpcError } from '@jackfield/sdk'
import type { AskContext, ConnectOptions } from '@jackfield/sdk/client'

/** Answers one server's questions through a surface; what the surface lacks is not advertised. */
export function answersThrough(
  surface: Surface,
  server: string,
  models: readonly Model[],
  roots: readonly Root[],
): Pick<ConnectOptions, 'onElicit' | 'elicitation' | 'onSample' | 'sampling' | 'onRoots'> {
  const [model] = models
  const { elicitation, samplingRequest, samplingResult, roots: consent } = surface
  let count = 0
  const about = (context: AskContext): { id: string; cause: Cause } => {
    count += 1
    const name = context.cause?.params.name
    return {
      id: String(count),
      cause: { server, caller: 'cli', ...(typeof name === 'string' && { tool: name }) },
    }
  }
  return {
    ...(elicitation !== undefined && {
      elicitation: { form: true, url: surface.urlElicitation === true },
      onElicit: (params, context) =>
        elicitation({ kind: 'elicitation', ...about(context), params }, context.signal),
    }),
    ...(samplingRequest !== undefined &&
      samplingResult !== undefined &&
      model !== undefined && {
        sampling: { tools: true },
        async onSample(asked, context): Promise<CreateMessageResult> {
          const { signal } = context
          const asking = about(context)
          const before = await samplingRequest(
            {
              kind: 'sampling-request',
              ...asking,
              params: asked,
              model: model.id,
              why: 'it is the model in use',
            },
            signal,
          )
          if (before.verdict === 'deny') throw refused(before.reason)
          const params = before.params ?? asked
          const reply = await model.generate({
            messages: params.messages,
            maxTokens: Math.min(params.maxTokens, asked.maxTokens),
            signal,
            ...(params.systemPrompt !== undefined && { system: params.systemPrompt }),
            ...(params.tools !== undefined && { tools: params.tools }),
            ...(params.toolChoice?.mode !== undefined && { toolChoice: params.toolChoice.mode }),
            ...(params.temperature !== undefined && { temperature: params.temperature }),
            ...(params.stopSequences !== undefined && { stopSequences: params.stopSequences }),
          })
          const blocks = Array.isArray(reply.content) ? reply.content : [reply.content]
          const [only] = blocks
          const result: CreateMessageResult = {
            role: 'assistant',
            content: blocks.length === 1 && only !== undefined ? only : blocks,
            model: reply.model,
            stopReason: reply.stopReason,
          }
          const after = await samplingResult({ kind: 'sampling-result', ...asking, params, result }, signal)
          if (after.verdict === 'deny') throw refused(after.reason)
          return after.result ?? result
        },
      }),
    ...(consent !== undefined &&
      roots.length > 0 && {
        async onRoots(context): Promise<Root[]> {
          const answer = await consent(
            { kind: 'roots', ...about(context), roots: [...roots] },
            context.signal,
          )
          return answer.verdict === 'allow' ? [...roots] : []
        },
      }),
  }
}

function refused(reason: string | undefined): RpcError {
  const why = reason === undefined ? '' : `: ${reason}`
  return new RpcError(ErrorCode.UserRejected, `User rejected sampling request${why}`)
}
