import type { CreateMessageParams, InputRequests, Question } from '../protocol/server-requests.ts'
import { InputRequired } from '../request/exchange.ts'
import type { FormSchema } from './context.ts'
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
  elicit(form: { message: string; schema: FormSchema }): Question
  elicitUrl(visit: { message: string; url: string }): Question
  sample(request: CreateMessageParams): Question
  roots(): Question
} = {
  elicit: (form) => ({
    method: 'elicitation/create',
    params: { mode: 'form', message: form.message, requestedSchema: requireForm(form.schema, form) },
  }),
  elicitUrl: (visit) => ({ method: 'elicitation/create', params: { mode: 'url', ...visit } }),
  sample: (params) => ({ method: 'sampling/createMessage', params }),
  roots: () => ({ method: 'roots/list', params: {} }),
}
