import { randomUUID } from 'node:crypto'
import type { CreateMessageParams, CreateMessageResult } from '@jackfield/sdk'
import { canonical, frozenCopy, type JsonRecord } from '../../shared/json.ts'
import type {
  HostAnswers,
  ModelChoice,
  SamplingCandidate,
  SamplingContext,
  SamplingStage,
} from '../../types/index.ts'
import type { Spending, Weigher } from './budget.ts'
import { requestFault, resultFault } from './check.ts'
import { chosenByPerson } from './choose.ts'
import {
  maxAttempts,
  passesOffline,
  type SamplingDeps,
  SamplingRefused,
  type SamplingRequest,
  stepped,
} from './deps.ts'
import { contextFor, type Generated } from './generate.ts'
import type { SamplingGrants } from './grants.ts'

/** The approved request, and its model. */
export interface ReviewedRequest {
  params: CreateMessageParams
  choice: ModelChoice
  /** Context texts that the user allowed. */
  context: SamplingContext | undefined
}

/** Lets the user review and edit a server's request, unless a grant or the offline planner makes that unnecessary. */
export async function reviewRequest(
  asked: CreateMessageParams,
  choice: ModelChoice,
  spending: Spending,
  sampling: SamplingRequest,
  deps: SamplingDeps & { grants: SamplingGrants; weigh: Weigher },
): Promise<ReviewedRequest> {
  const { server, models, cause, row, signal } = sampling
  const { recorder, questions, grants, weigh, now } = deps
  const context = contextFor(asked, cause, deps.activity)
  const model = models.find(({ id }) => id === choice.model)
  if (passesOffline(server, model, deps)) {
    const detail = { passing: { by: 'offline' }, model: choice.model, ...ignored(context) }
    notePassed('request', `The offline planner answers ${server} without a review`, detail, sampling, deps)
    return { params: asked, choice, context: undefined }
  }
  const passing = grants.find(server, 'request', cause.conversation)
  const outcome = passing === undefined ? undefined : spending.passes()
  if (passing !== undefined && outcome !== undefined && 'left' in outcome) {
    const detail = { passing, left: outcome.left, ...ignored(context) }
    notePassed('request', `The request of ${server} passes without review`, detail, sampling, deps)
    return { params: asked, choice, context: undefined }
  }
  const asksAnyway = outcome !== undefined && 'why' in outcome ? { notPassed: outcome.why } : {}
  let problem: string | undefined
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const step = recorder.open({
      kind: 'sampling',
      server,
      cause: row.id,
      summary: `The user reviews the sampling requests of ${server}`,
      detail: { stage: 'request', model: choice.model, why: choice.why, ...asksAnyway },
    })
    const question = {
      kind: 'sampling-request',
      id: randomUUID(),
      cause,
      params: asked,
      choice,
      ...weigh(asked, choice.model),
      ...(context !== undefined && { context }),
      ...(problem !== undefined && { problem }),
    } as const
    const { answer, by } = await stepped(step, signal, (until) =>
      questions.ask(question, { signal: until, activity: step.id }),
    )
    if (answer.verdict !== 'allow') {
      step.close('denied', { by, reason: answer.reason ?? null })
      throw new SamplingRefused('request', answer.reason)
    }
    const edited = answer.params === undefined ? asked : frozenCopy(answer.params)
    problem =
      requestFault({ ...edited, maxTokens: edited?.maxTokens ?? asked.maxTokens }) ??
      unknownModel(answer.model, models) ??
      unknownText(answer.context, context)
    if (problem !== undefined) {
      step.close('error', { by, reason: problem })
      continue
    }
    // The user may lower the server's token limit, never raise it.
    const params = { ...edited, maxTokens: Math.min(edited.maxTokens ?? asked.maxTokens, asked.maxTokens) }
    const changed = canonical(params) !== canonical(asked)
    const chosen = answer.model === undefined ? choice : chosenByPerson(choice, answer.model)
    const added = addedTexts(answer.context, context)
    if (answer.remember !== undefined) {
      grants.add(server, 'request', answer.remember, cause.conversation, new Date(now()).toISOString())
    }
    step.close('allowed', {
      by,
      edited: changed,
      ...(changed && { params }),
      ...(chosen !== choice && { model: chosen.model, why: chosen.why }),
      ...(added === undefined ? ignored(context) : { context: added }),
      ...(answer.remember !== undefined && { remembered: answer.remember }),
    })
    return { params, choice: chosen, context: added }
  }
  throw new Error(`The answer could not be used: ${problem}`)
}

/** Records that a stage needs no review. */
function notePassed(
  stage: SamplingStage,
  summary: string,
  detail: JsonRecord,
  { server, row }: SamplingRequest,
  { recorder }: SamplingDeps,
): void {
  recorder.note({ kind: 'sampling', server, cause: row.id, summary, detail: { stage, ...detail } }, 'allowed')
}

/** Context that a server requested and did not get is logged. */
function ignored(context: SamplingContext | undefined): { contextIgnored?: string } {
  return context === undefined ? {} : { contextIgnored: context.wanted }
}

type AddedTexts = Extract<HostAnswers['sampling-request'], { verdict: 'allow' }>['context']

/** The context with the texts that the user added; undefined if there is none. */
function addedTexts(added: AddedTexts, context: SamplingContext | undefined): SamplingContext | undefined {
  if (context === undefined || added === undefined || added === false) return undefined
  const texts = added === true ? context.texts : context.texts.filter(({ id }) => added.includes(id))
  return texts.length === 0 ? undefined : { ...context, texts }
}

function unknownText(added: AddedTexts, context: SamplingContext | undefined): string | undefined {
  if (typeof added === 'boolean' || added === undefined) return undefined
  const ids = context?.texts.map(({ id }) => id) ?? []
  const unknown = added.find((id) => !ids.includes(id))
  return unknown === undefined ? undefined : `the context has no text "${unknown}"; it has ${ids.join(', ')}`
}

function unknownModel(model: string | undefined, models: SamplingRequest['models']): string | undefined {
  if (model === undefined || models.some(({ id }) => id === model)) return undefined
  return `there is no model "${model}"; there are ${models.map(({ id }) => id).join(', ')}`
}

/** The user's decision about a result: return it, or generate again. */
type Outcome = { result: CreateMessageResult } | { again: string }

/** The newest response with those before it, which the user compares. */
export interface Candidates {
  generated: Generated
  earlier: readonly SamplingCandidate[]
  /** Why no further response could be generated. */
  problem?: string
}

/**
 * Lets the user review and edit the result, unless a grant or the offline planner makes that unnecessary. A response that was
 * generated again is always reviewed, beside those before it.
 */
export async function reviewResult(
  params: CreateMessageParams,
  { generated, earlier, ...failed }: Candidates,
  choice: ModelChoice,
  spending: Spending,
  sampling: SamplingRequest,
  deps: SamplingDeps & { grants: SamplingGrants },
): Promise<Outcome> {
  const { server, models, cause, row, signal } = sampling
  const { recorder, questions, grants, now } = deps
  const result = frozenCopy(generated.result)
  const model = models.find(({ id }) => id === choice.model)
  const isFirst = earlier.length === 0 && failed.problem === undefined
  if (isFirst && passesOffline(server, model, deps)) {
    const detail = { passing: { by: 'offline' }, result }
    notePassed('result', `The offline planner answered ${server} without a review`, detail, sampling, deps)
    deps.emit({ type: 'sampling', server, model: choice.model })
    return { result }
  }
  const passing = isFirst ? grants.find(server, 'result', cause.conversation) : undefined
  const outcome = passing === undefined ? undefined : spending.passes()
  if (passing !== undefined && outcome !== undefined && 'left' in outcome) {
    notePassed('result', `The answer to ${server} passes without review`, { passing, result }, sampling, deps)
    return { result }
  }
  let { problem } = failed
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
    const { answer, by } = await stepped(step, signal, (until) =>
      questions.ask(question, { signal: until, activity: step.id }),
    )
    if (answer.verdict === 'deny') {
      step.close('denied', { by, reason: answer.reason ?? null })
      throw new SamplingRefused('result', answer.reason)
    }
    if (answer.verdict === 'regenerate') {
      problem = unknownModel(answer.model, models)
      if (problem === undefined) {
        const model = answer.model ?? choice.model
        step.close('regenerated', { by, model })
        return { again: model }
      }
      step.close('error', { by, reason: problem })
      continue
    }
    const given = answer.chosen === undefined ? { model: choice.model, result } : earlier[answer.chosen]
    const chosen = given ?? { model: choice.model, result }
    const finalResult = answer.result === undefined ? chosen.result : frozenCopy(answer.result)
    problem =
      given === undefined ? `there is no earlier response ${answer.chosen}` : resultFault(params, finalResult)
    if (problem !== undefined) {
      step.close('error', { by, reason: problem })
      continue
    }
    if (answer.remember !== undefined) {
      grants.add(server, 'result', answer.remember, cause.conversation, new Date(now()).toISOString())
    }
    step.close('allowed', {
      by,
      edited: canonical(finalResult) !== canonical(chosen.result),
      ...(answer.chosen !== undefined && { chosen: answer.chosen, model: chosen.model }),
      ...(canonical(finalResult) !== canonical(result) && { result: finalResult }),
      ...(answer.remember !== undefined && { remembered: answer.remember }),
    })
    return { result: finalResult }
  }
  throw new Error(`The answer could not be used: ${problem}`)
}
