import type { ElicitFormParams, ElicitValue } from '@jackfield/sdk'
import { checkElicitValue } from '@jackfield/sdk/internal'
import type { FormTable } from '../../log/store/answer-tables.ts'
import type { PromptValues } from '../../types/index.ts'
import { planForm } from './form.ts'
import { secretRequestedBy } from './secret-fields.ts'

/** Form answers that the user allowed to be remembered, for one server. */
interface RememberedAnswers {
  /** Answers that fit the fields of this form; undefined if there are none. */
  for(params: ElicitFormParams): Record<string, ElicitValue> | undefined
  /** Stores the values of these fields and removes those of the form's other fields. Secrets are never stored. */
  remember(
    params: ElicitFormParams,
    content: Readonly<Record<string, ElicitValue>>,
    fields: readonly string[],
  ): void
}

const maxFormValueCharacters = 10_000

/** `identity`: the server's identity, so that another server with the same name gets nothing. */
export function rememberedAnswers(identity: string, table: FormTable): RememberedAnswers {
  return {
    for(params) {
      const values = fieldsOf(params).flatMap(({ key, schema, secret }): [string, ElicitValue][] => {
        const value = secret === undefined ? table.get(identity, key) : undefined
        return isValue(value) && checkElicitValue(schema, value) === undefined ? [[key, value]] : []
      })
      return values.length === 0 ? undefined : Object.fromEntries(values)
    },
    remember(params, content, fields) {
      for (const { key, secret } of fieldsOf(params)) {
        const value = Object.hasOwn(content, key) ? content[key] : undefined
        const isSmall = JSON.stringify(value ?? null).length <= maxFormValueCharacters
        if (value !== undefined && isSmall && secret === undefined && fields.includes(key)) {
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

const maxPromptValueCharacters = 2_000

/** Dependencies of remembered prompt arguments. */
interface PromptValuesDeps {
  table: FormTable
  /** The user's working folder; without one nothing is remembered. */
  workspace: string | undefined
  /** The server's identity, so that another server with the same name gets nothing; undefined for an unknown one. */
  identityOf(server: string): string | undefined
  /** Whether a value contains a known secret. */
  containsSecret(value: string): boolean
}

/** The last arguments of prompts, by folder and identity of the server. Secrets are never stored. */
export function createPromptValues({
  table,
  workspace,
  identityOf,
  containsSecret,
}: PromptValuesDeps): PromptValues {
  type Prompt = Parameters<PromptValues['of']>[0]
  const keyOf = ({ server, prompt }: Prompt): string | undefined => {
    const identity = identityOf(server)
    if (identity === undefined || workspace === undefined) return undefined
    return JSON.stringify(['prompt', workspace, identity, prompt.name])
  }
  const storableArguments = ({ prompt }: Prompt): string[] =>
    (prompt.arguments ?? []).flatMap(({ name, title, description }) => {
      const field = { key: name, label: title ?? name, description, kind: 'text' as const, message: '' }
      return secretRequestedBy(field) === undefined ? [name] : []
    })
  return {
    of(entry) {
      const key = keyOf(entry)
      if (key === undefined) return {}
      const known = storableArguments(entry).flatMap((name): [string, string][] => {
        const value = table.get(key, name)
        return typeof value === 'string' ? [[name, value]] : []
      })
      return Object.fromEntries(known)
    },
    keep(entry, values) {
      const key = keyOf(entry)
      if (key === undefined) return
      for (const name of storableArguments(entry)) {
        const value = Object.hasOwn(values, name) ? values[name] : undefined
        if (value === undefined || value === '') table.forget(key, name)
        else if (value.length <= maxPromptValueCharacters && !containsSecret(value))
          table.set(key, name, value)
      }
    },
  }
}
