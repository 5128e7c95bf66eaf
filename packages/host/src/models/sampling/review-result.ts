import { randomUUID } from 'node:crypto'
import type { CreateMessageParams, CreateMessageResult } from '@jackfield/sdk'
import { canonical, frozenCopy } from '../../shared/json.ts'
import type { ModelChoice } from '../../types/index.ts'
import type { Spending } from './budget.ts'
import { resultFault } from './check.ts'
import type { Passage, SamplingDeps } from './deps.ts'
import type { Made } from './generate.ts'
import type { SamplingGrants } from './grants.ts'
import { passesOffline } from './limits.ts'
import { unknownModel } from './review-request.ts'
import { maxAttempts, Refused, stepped } from './step.ts'

/** What the person decided about an answer: the server is told it, or a model is asked again. */
export type Outcome = { told: CreateMessageResult } | { again: string }

/** Lets the person see and edit the result for a server, unless a grant or the offline planner makes the review unnecessary. */
export async function reviewResult(
  params: CreateMessageParams,
  made: Made,
  choice: ModelChoice,
  spending: Spending,
  passage: Passage,
  deps: SamplingDeps & { grants: SamplingGrants },
): Promise<Outcome> {
  const { server, models, cause, row, signal } = passage
  const { recorder, asker, grants, now } = deps
  const result = frozenCopy(made.result)
  const model = models.find(({ id }) => id === choice.model)
  if (passesOffline(server, model, deps)) {
    recorder.note(
      {
        kind: 'sampling',
        server,
        cause: row.id,
        summary: `The offline planner answered ${server} without a review`,
        detail: { stage: 'result', passing: { by: 'offline' }, result },
      },
      'allowed',
    )
    deps.emit({ type: 'sampling', server, model: choice.model })
    return { told: result }
  }
  const passing = grants.find(server, 'result', cause.conversation)
  const outcome = passing === undefined ? undefined : spending.passes()
  if (passing !== undefined && outcome !== undefined && 'left' in outcome) {
    recorder.note(
      {
        kind: 'sampling',
        server,
        cause: row.id,
        summary: `What ${server} is told passes without a look`,
        detail: { stage: 'result', passing, result },
      },
      'allowed',
    )
    return { told: result }
  }
  let problem: string | undefined
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const step = recorder.open({
      kind: 'sampling',
      server,
      cause: row.id,
      summary: `The person looks at what ${server} would be told`,
      detail: { stage: 'result', result },
    })
    const question = {
      kind: 'sampling-result',
      id: randomUUID(),
      cause,
      params,
      result,
      choice,
      usage: made.usage,
      ...(problem !== undefined && { problem }),
    } as const
    const { answer, by } = await stepped(step, signal, (until) =>
      asker.ask(question, { signal: until, activity: step.id }),
    )
    if (answer.verdict === 'deny') {
      step.close('denied', { by, reason: answer.reason ?? null })
      throw new Refused('result', answer.reason)
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
    const told = answer.result === undefined ? result : frozenCopy(answer.result)
    problem = resultFault(params, told)
    if (problem !== undefined) {
      step.close('error', { by, reason: problem })
      continue
    }
    if (answer.remember !== undefined) {
      grants.add(server, 'result', answer.remember, cause.conversation, new Date(now()).toISOString())
    }
    const changed = canonical(told) !== canonical(result)
    step.close('allowed', {
      by,
      edited: changed,
      ...(changed && { result: told }),
      ...(answer.remember !== undefined && { remembered: answer.remember }),
    })
    return { told }
  }
  throw new Error(`The answer could not be used: ${problem}`)
}
