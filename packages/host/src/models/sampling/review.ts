import { randomUUID } from 'node:crypto'
import type { CreateMessageParams, CreateMessageResult } from '@jackfield/sdk'
import { defined } from '@jackfield/sdk/internal'
import { canonical, frozenCopy, type JsonRecord } from '../../shared/json.ts'
import type {
  HostAnswers,
  ModelChoice,
  SamplingCandidate,
  SamplingContext,
  SamplingStage,
} from '../../types/index.ts'
import type { RequestEstimator, Spending } from './budget.ts'
import { requestProblem, resultProblem } from './check.ts'
import { chosenByPerson } from './choose.ts'
import {
  maxAttempts,
  runStep,
  type SamplingDeps,
  SamplingRefusedError,
  type SamplingRequest,
  skipsReview,
} from './deps.ts'
import { contextFor, type GeneratedResult } from './generate.ts'
import type { SamplingGrants } from './grants.ts'

/** The approved request, and its model. */
export interface ReviewedRequest {
  params: CreateMessageParams
  choice: ModelChoice
  /** Context texts that the user allowed. */
  context: SamplingContext | undefined
}

/** Lets the user review and edit a server's request, unless a grant or an offline model makes that unnecessary. */
export async function reviewRequest(
  requestParams: CreateMessageParams,
  choice: ModelChoice,
  spending: Spending,
  sampling: SamplingRequest,
  deps: SamplingDeps & { grants: SamplingGrants; estimate: RequestEstimator },
): Promise<ReviewedRequest> {
  const { server, models, cause, row, signal } = sampling
  const { recorder, questions, grants, estimate, now } = deps
  const context = contextFor(requestParams, cause, deps.activity)
  const model = models.find(({ id }) => id === choice.model)
  if (skipsReview(server, model, deps)) {
    const detail = { passing: { by: 'offline' }, model: choice.model, ...ignoredContext(context) }
    noteSkippedReview(
      'request',
      `An offline model answers ${server} without a review`,
      detail,
      sampling,
      deps,
    )
    return { params: requestParams, choice, context: undefined }
  }
  const passing = grants.find(server, 'request', cause)
  const outcome = passing === undefined ? undefined : spending.passes()
  if (passing !== undefined && outcome !== undefined && 'left' in outcome) {
    const detail = { passing, left: outcome.left, ...ignoredContext(context) }
    noteSkippedReview('request', `The request of ${server} passes without review`, detail, sampling, deps)
    return { params: requestParams, choice, context: undefined }
  }
  const reviewReason = outcome !== undefined && 'reason' in outcome ? { notPassed: outcome.reason } : {}
  let problem: string | undefined
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const step = recorder.open({
      kind: 'sampling',
      server,
      cause: row.id,
      summary: `The user reviews the sampling requests of ${server}`,
      detail: { stage: 'request', model: choice.model, why: choice.reason, ...reviewReason },
    })
    const question = {
      kind: 'sampling-request',
      id: randomUUID(),
      cause,
      params: requestParams,
      choice,
      ...estimate(requestParams, choice.model),
      ...defined({ context, problem }),
    } as const
    const { answer, by } = await runStep(step, signal, (stepSignal) =>
      questions.ask(question, { signal: stepSignal, activity: step.id }),
    )
    if (answer.verdict !== 'allow') {
      step.close('denied', { by, reason: answer.reason ?? null })
      throw new SamplingRefusedError('request', answer.reason)
    }
    const edited = answer.params === undefined ? requestParams : frozenCopy(answer.params)
    problem =
      requestProblem({ ...edited, maxTokens: edited?.maxTokens ?? requestParams.maxTokens }) ??
      unknownModelProblem(answer.model, models) ??
      unknownTextProblem(answer.context, context)
    if (problem !== undefined) {
      step.close('error', { by, reason: problem })
      continue
    }
    // The user may lower the server's token limit, never raise it.
    const params = {
      ...edited,
      maxTokens: Math.min(edited.maxTokens ?? requestParams.maxTokens, requestParams.maxTokens),
    }
    const isEdited = canonical(params) !== canonical(requestParams)
    const finalChoice = answer.model === undefined ? choice : chosenByPerson(choice, answer.model)
    const addedContext = addedTexts(answer.context, context)
    const isRemembered =
      answer.remember !== undefined &&
      grants.add(server, 'request', answer.remember, cause, new Date(now()).toISOString())
    step.close('allowed', {
      by,
      edited: isEdited,
      ...(isEdited && { params }),
      ...(finalChoice !== choice && { model: finalChoice.model, why: finalChoice.reason }),
      ...(addedContext === undefined ? ignoredContext(context) : { context: addedContext }),
      ...(isRemembered && { remembered: answer.remember }),
    })
    return { params, choice: finalChoice, context: addedContext }
  }
  throw new Error(`The answer could not be used: ${problem}`)
}

/** Records that a stage needs no review. */
function noteSkippedReview(
  stage: SamplingStage,
  summary: string,
  detail: JsonRecord,
  { server, row }: SamplingRequest,
  { recorder }: SamplingDeps,
): void {
  recorder.note({ kind: 'sampling', server, cause: row.id, summary, detail: { stage, ...detail } }, 'allowed')
}

/** Context that a server requested and did not get is logged. */
function ignoredContext(context: SamplingContext | undefined): { contextIgnored?: string } {
  return context === undefined ? {} : { contextIgnored: context.wanted }
}

type AddedTexts = Extract<HostAnswers['sampling-request'], { verdict: 'allow' }>['context']

/** The context with the texts that the user added; undefined if there is none. */
function addedTexts(
  addedContext: AddedTexts,
  context: SamplingContext | undefined,
): SamplingContext | undefined {
  if (context === undefined || addedContext === undefined || addedContext === false) return undefined
  const texts =
    addedContext === true ? context.texts : context.texts.filter(({ id }) => addedContext.includes(id))
  return texts.length === 0 ? undefined : { ...context, texts }
}

function unknownTextProblem(
  addedContext: AddedTexts,
  context: SamplingContext | undefined,
): string | undefined {
  if (typeof addedContext === 'boolean' || addedContext === undefined) return undefined
  const ids = context?.texts.map(({ id }) => id) ?? []
  const unknown = addedContext.find((id) => !ids.includes(id))
  return unknown === undefined ? undefined : `the context has no text "${unknown}"; it has ${ids.join(', ')}`
}

function unknownModelProblem(
  model: string | undefined,
  models: SamplingRequest['models'],
): string | undefined {
  if (model === undefined || models.some(({ id }) => id === model)) return undefined
  return `there is no model "${model}"; there are ${models.map(({ id }) => id).join(', ')}`
}

/** The user's decision about a result: return it, or generate again. */
type ReviewOutcome = { result: CreateMessageResult } | { again: string }

/** The newest response with those before it, which the user compares. */
export interface Candidates {
  generated: GeneratedResult
  earlier: readonly SamplingCandidate[]
  /** Why no further response could be generated. */
  problem?: string
}

/**
 * Lets the user review and edit the result, unless a grant or an offline model makes that unnecessary. A response that was
 * generated again is always reviewed, beside those before it.
 */
export async function reviewResult(
  params: CreateMessageParams,
  { generated, earlier, ...failure }: Candidates,
  choice: ModelChoice,
  spending: Spending,
  sampling: SamplingRequest,
  deps: SamplingDeps & { grants: SamplingGrants },
): Promise<ReviewOutcome> {
  const { server, models, cause, row, signal } = sampling
  const { recorder, questions, grants, now } = deps
  const result = frozenCopy(generated.result)
  const model = models.find(({ id }) => id === choice.model)
  const isFirst = earlier.length === 0 && failure.problem === undefined
  if (isFirst && skipsReview(server, model, deps)) {
    const detail = { passing: { by: 'offline' }, result }
    noteSkippedReview(
      'result',
      `An offline model answered ${server} without a review`,
      detail,
      sampling,
      deps,
    )
    deps.emit({ type: 'sampling', server, model: choice.model })
    return { result }
  }
  const passing = isFirst ? grants.find(server, 'result', cause) : undefined
  const outcome = passing === undefined ? undefined : spending.passes()
  if (passing !== undefined && outcome !== undefined && 'left' in outcome) {
    noteSkippedReview(
      'result',
      `The answer to ${server} passes without review`,
      { passing, result },
      sampling,
      deps,
    )
    return { result }
  }
  let { problem } = failure
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const step = recorder.open({
      kind: 'sampling',
      server,
      cause: row.id,
      summary: `Review of the result for ${server}`,
      detail: { stage: 'result', result },
    })
    const question = {
      kind: 'sampling-result',
      id: randomUUID(),
      cause,
      params,
      result,
      choice,
      usage: generated.usage,
      ...(earlier.length > 0 && { earlier }),
      ...(problem !== undefined && { problem }),
    } as const
    const { answer, by } = await runStep(step, signal, (stepSignal) =>
      questions.ask(question, { signal: stepSignal, activity: step.id }),
    )
    if (answer.verdict === 'deny') {
      step.close('denied', { by, reason: answer.reason ?? null })
      throw new SamplingRefusedError('result', answer.reason)
    }
    if (answer.verdict === 'regenerate') {
      problem = unknownModelProblem(answer.model, models)
      if (problem === undefined) {
        const model = answer.model ?? choice.model
        step.close('regenerated', { by, model })
        return { again: model }
      }
      step.close('error', { by, reason: problem })
      continue
    }
    const given = answer.chosen === undefined ? { model: choice.model, result } : earlier[answer.chosen]
    const finalChoice = given ?? { model: choice.model, result }
    const finalResult = answer.result === undefined ? finalChoice.result : frozenCopy(answer.result)
    problem =
      given === undefined
        ? `there is no earlier response ${answer.chosen}`
        : resultProblem(params, finalResult)
    if (problem !== undefined) {
      step.close('error', { by, reason: problem })
      continue
    }
    const isRemembered =
      answer.remember !== undefined &&
      grants.add(server, 'result', answer.remember, cause, new Date(now()).toISOString())
    step.close('allowed', {
      by,
      edited: canonical(finalResult) !== canonical(finalChoice.result),
      ...(answer.chosen !== undefined && { chosen: answer.chosen, model: finalChoice.model }),
      ...(canonical(finalResult) !== canonical(result) && { result: finalResult }),
      ...(isRemembered && { remembered: answer.remember }),
    })
    return { result: finalResult }
  }
  throw new Error(`The answer could not be used: ${problem}`)
}
