import { InputRequired } from '../core/exchange.ts'
import type { CreateMessageParams, ElicitSchema, InputRequests, Question } from '../protocol/asking.ts'
import type { DescribedSchema } from './described.ts'
import { requireForm } from './form.ts'

/**
 * Returned from a handler, says which answers it needs before it can go on. It runs again with them in
 * `ctx.answers`, and with `state` (any JSON value, sealed on the wire) in `ctx.state`. At least one is needed.
 */
export function inputRequired(needed: { requests?: InputRequests; state?: unknown }): InputRequired {
  return new InputRequired(needed.requests ?? {}, needed.state)
}

/** Makes the questions `inputRequired` takes. */
export const ask: {
  elicit(form: { message: string; schema: DescribedSchema | ElicitSchema }): Question
  elicitUrl(visit: { message: string; url: string }): Question
  sample(request: CreateMessageParams): Question
  roots(): Question
} = {
  elicit: ({ message, schema }) => ({
    method: 'elicitation/create',
    params: { mode: 'form', message, requestedSchema: requireForm(schema) },
  }),
  elicitUrl: (visit) => ({ method: 'elicitation/create', params: { mode: 'url', ...visit } }),
  sample: (params) => ({ method: 'sampling/createMessage', params }),
  roots: () => ({ method: 'roots/list', params: {} }),
}
