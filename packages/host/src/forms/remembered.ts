import type { ElicitFormParams, ElicitValue } from '@jackfield/sdk'
import { checkElicitValue } from '@jackfield/sdk/internal'
import type { FormTable } from '../store/index.ts'
import { planForm } from './plan.ts'

/** Answers to one server's forms that the person let be remembered. */
export interface Remembered {
  /** Those that fit the fields of this form; undefined where there are none. */
  for(params: ElicitFormParams): Record<string, ElicitValue> | undefined
  /** Keeps the values of these fields, and forgets those of the form's others. Secrets are never kept. */
  keep(
    params: ElicitFormParams,
    content: Readonly<Record<string, ElicitValue>>,
    fields: readonly string[],
  ): void
}

const maxValue = 10_000

/** `identity`: what the server is, so that another of the same name gets none of it. */
export function rememberedAnswers(identity: string, table: FormTable): Remembered {
  return {
    for(params) {
      const found = fieldsOf(params).flatMap(({ key, schema, secret }): [string, ElicitValue][] => {
        const value = secret === undefined ? table.get(identity, key) : undefined
        return isValue(value) && checkElicitValue(schema, value) === undefined ? [[key, value]] : []
      })
      return found.length === 0 ? undefined : Object.fromEntries(found)
    },
    keep(params, content, fields) {
      for (const { key, secret } of fieldsOf(params)) {
        const value = Object.hasOwn(content, key) ? content[key] : undefined
        const small = JSON.stringify(value ?? null).length <= maxValue
        if (value !== undefined && small && secret === undefined && fields.includes(key)) {
          table.set(identity, key, value)
        } else table.forget(identity, key)
      }
    },
  }
}

function fieldsOf(params: ElicitFormParams) {
  const plan = planForm(params.requestedSchema, params.message)
  return 'fields' in plan ? plan.fields : []
}

function isValue(value: unknown): value is ElicitValue {
  return (
    typeof value === 'string' ||
    typeof value === 'number' ||
    typeof value === 'boolean' ||
    (Array.isArray(value) && value.every((entry) => typeof entry === 'string'))
  )
}
