import type { ElicitParams, ElicitResult } from '@jackfield/sdk'
import { planForm } from './plan.ts'

const notKept = '(not kept)'

/** The fields of a form that seem to ask for a secret, by their keys. */
export function secretFields(params: ElicitParams): ReadonlySet<string> {
  if (params.mode === 'url') return new Set()
  const plan = planForm(params.requestedSchema, params.message)
  const fields = 'fields' in plan ? plan.fields : []
  return new Set(fields.flatMap(({ key, secret }) => (secret === undefined ? [] : [key])))
}

/** An answer as it may be kept: what went into fields for secrets does not stay; the answer itself where there is none. */
export function withoutSecretFields<T extends ElicitResult>(answer: T, params: ElicitParams): T {
  const { content } = answer
  if (content === undefined) return answer
  const secret = secretFields(params)
  if (!Object.keys(content).some((key) => secret.has(key))) return answer
  const kept = Object.entries(content).map(([key, value]) => [key, secret.has(key) ? notKept : value])
  return { ...answer, content: Object.fromEntries(kept) }
}
