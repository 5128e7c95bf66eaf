import {
  type CreateMessageParams,
  type CreateMessageResult,
  ErrorCode,
  type JsonObject,
  RpcError,
} from '@jackfield/sdk'
import type { AskContext } from '@jackfield/sdk/client'
import { canonical, frozenCopy, isRecord } from '../json.ts'
import type { OpenRow } from '../store/index.ts'
import { reasonOf } from '../text.ts'
import type { Cause, Model, ModelReply } from '../types/index.ts'
import { chooseModel } from './choose.ts'
import type { AskingDeps } from './deps.ts'
import { questionId, whileWanted } from './put.ts'

/** One request on its way from the server to the model and back. */
interface Passage {
  server: string
  cause: Cause
  row: OpenRow
  signal: AbortSignal
}

/**
 * Answers a server's sampling request: the person sees and may edit what would be asked, a model answers, the person
 * sees and may edit what would be told. Nothing of other servers or of the conversation is added to it.
 */
export function sampling(
  server: string,
  models: readonly [Model, ...Model[]],
  deps: AskingDeps,
): (params: CreateMessageParams, context: AskContext) => Promise<CreateMessageResult> {
  return async (given, context) => {
    const { cause, row: causeRow } = deps.origins.find(server, context.cause)
    const asked = frozenCopy(given)
    const row = deps.recorder.open({
      kind: 'sampling',
      server,
      cause: causeRow,
      summary: `${server} asks a model for a message`,
      detail: { cause, params: asked, surface: deps.asker.names },
    })
    const passage: Passage = { server, cause, row, signal: context.signal }
    try {
      const params = await reviewRequest(asked, models, passage, deps)
      const result = await generate(params, models, passage, deps)
      const told = await reviewResult(params, result, models, passage, deps)
      row.close('ok', { model: told.model })
      return told
    } catch (error) {
      if (error instanceof Refused) {
        row.close('denied', error.detail)
        throw new RpcError(ErrorCode.UserRejected, 'User rejected sampling request')
      }
      const gone = context.signal.aborted
      row.close(gone ? 'withdrawn' : 'error', { reason: reasonOf(error) })
      throw new RpcError(
        ErrorCode.InternalError,
        gone ? 'The request was withdrawn' : 'No message could be made',
      )
    }
  }
}

/** The person said no. */
class Refused extends Error {
  readonly detail: JsonObject

  constructor(stage: 'request' | 'result', reason: string | undefined) {
    super(`The person refused the ${stage}`)
    this.detail = { stage, ...(reason !== undefined && { reason }) }
  }
}

async function reviewRequest(
  asked: CreateMessageParams,
  models: readonly [Model, ...Model[]],
  passage: Passage,
  { recorder, asker }: AskingDeps,
): Promise<CreateMessageParams> {
  const { server, cause, row, signal } = passage
  const { model, why } = chooseModel(models, asked.modelPreferences)
  const step = recorder.open({
    kind: 'sampling',
    server,
    cause: row.id,
    summary: `The person looks at what ${server} asks`,
    detail: { stage: 'request', model: model.id, why },
  })
  const question = {
    kind: 'sampling-request',
    id: questionId(),
    cause,
    params: asked,
    choice: { model: model.id, why, ranking: [] },
    estimate: { inputTokens: 0, outputTokens: asked.maxTokens },
    redactions: [],
  } as const
  const { answer } = await stepped(step, signal, (until) =>
    asker.ask(question, { signal: until, activity: step.id }),
  )
  if (answer.verdict !== 'allow') {
    step.close('denied', { reason: answer.reason ?? null })
    throw new Refused('request', answer.reason)
  }
  const edited = answer.params === undefined ? asked : frozenCopy(answer.params)
  if (!isRecord(edited) || !Array.isArray(edited.messages)) {
    step.close('error', { reason: 'the edited request has no messages' })
    throw new Error('The edited request has no messages')
  }
  // The person may ask for less than the server wants, never for more.
  const maxTokens = Number.isFinite(edited.maxTokens)
    ? Math.min(edited.maxTokens, asked.maxTokens)
    : asked.maxTokens
  const params = { ...edited, maxTokens }
  const changed = canonical(params) !== canonical(asked)
  step.close('allowed', { edited: changed, ...(changed && { params }) })
  return params
}

async function generate(
  params: CreateMessageParams,
  models: readonly [Model, ...Model[]],
  { server, row, signal }: Passage,
  { recorder }: AskingDeps,
): Promise<CreateMessageResult> {
  const { model, why } = chooseModel(models, params.modelPreferences)
  const step = recorder.open({
    kind: 'model',
    server,
    cause: row.id,
    summary: `${model.id} answers ${server}`,
    detail: { model: model.id, why, maxTokens: params.maxTokens },
  })
  const reply = await stepped(step, signal, (until) =>
    model.generate({
      messages: params.messages,
      maxTokens: params.maxTokens,
      signal: until,
      ...(params.systemPrompt !== undefined && { system: params.systemPrompt }),
      ...(params.tools !== undefined && { tools: params.tools }),
      ...(params.toolChoice?.mode !== undefined && { toolChoice: params.toolChoice.mode }),
      ...(params.temperature !== undefined && { temperature: params.temperature }),
      ...(params.stopSequences !== undefined && { stopSequences: params.stopSequences }),
    }),
  )
  step.close('ok', { model: reply.model, stopReason: reply.stopReason, usage: reply.usage ?? null })
  return resultOf(reply)
}

async function reviewResult(
  params: CreateMessageParams,
  made: CreateMessageResult,
  models: readonly [Model, ...Model[]],
  passage: Passage,
  { recorder, asker }: AskingDeps,
): Promise<CreateMessageResult> {
  const { server, cause, row, signal } = passage
  const result = frozenCopy(made)
  const step = recorder.open({
    kind: 'sampling',
    server,
    cause: row.id,
    summary: `The person looks at what ${server} would be told`,
    detail: { stage: 'result', result },
  })
  const { model, why } = chooseModel(models, params.modelPreferences)
  const choice = { model: model.id, why, ranking: [] }
  const question = { kind: 'sampling-result', id: questionId(), cause, params, result, choice } as const
  const { answer } = await stepped(step, signal, (until) =>
    asker.ask(question, { signal: until, activity: step.id }),
  )
  if (answer.verdict !== 'allow') {
    const reason = answer.verdict === 'deny' ? answer.reason : undefined
    step.close('denied', { reason: reason ?? null })
    throw new Refused('result', reason)
  }
  const told = answer.result === undefined ? result : frozenCopy(answer.result)
  const changed = canonical(told) !== canonical(result)
  step.close('allowed', { edited: changed, ...(changed && { result: told }) })
  return told
}

/** Waits for one step and says in its row if it failed. */
async function stepped<T>(
  step: OpenRow,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  try {
    return await whileWanted(work, signal)
  } catch (error) {
    step.close(signal.aborted ? 'withdrawn' : 'error', { reason: reasonOf(error) })
    throw error
  }
}

/** A single block stands alone, as every revision knows it. */
function resultOf(reply: ModelReply): CreateMessageResult {
  const blocks = Array.isArray(reply.content) ? reply.content : [reply.content]
  const [only] = blocks
  return {
    role: 'assistant',
    content: blocks.length === 1 && only !== undefined ? only : blocks,
    model: reply.model,
    stopReason: reply.stopReason,
  }
}
