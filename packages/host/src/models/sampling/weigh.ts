import type { CreateMessageParams } from '@jackfield/sdk'
import type { ModelFacts, Redaction, SamplingEstimate, SamplingSettings } from '../../types/index.ts'
import type { Reserve } from './budget.ts'
import { costOf, estimateOf, requestTokens } from './estimate.ts'
import type { Redactor } from './redact.ts'

/** What a request would send to a model. */
export type Weigher = (
  params: CreateMessageParams,
  model: string,
) => { estimate: SamplingEstimate; redactions: readonly Redaction[] }

export function createWeigher(settings: SamplingSettings, redactor: Redactor): Weigher {
  return (given, model) => {
    const { params, redactions } = redactor.redact(given)
    return { estimate: estimateOf(params, factsOf(settings, model)), redactions }
  }
}

/** What is known of a model. */
export function factsOf({ models }: SamplingSettings, model: string): ModelFacts | undefined {
  return models?.find(({ id }) => id === model)
}

/** The most that one request may use of a model. */
export function reserveFor(params: CreateMessageParams, facts: ModelFacts | undefined): Reserve {
  const inputTokens = requestTokens(params)
  return {
    tokens: inputTokens + params.maxTokens,
    money: costOf(facts, inputTokens, params.maxTokens),
  }
}
