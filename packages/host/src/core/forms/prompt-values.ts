import type { FormTable } from '../../log/store/form-table.ts'
import type { PromptValues } from '../../types/index.ts'
import { secretAskedBy } from './secret-fields.ts'

const maxValue = 2_000

/** What remembered arguments of prompts stand on. */
export interface PromptValuesDeps {
  table: FormTable
  /** The folder the person works in; without one nothing is remembered. */
  workspace: string | undefined
  /** What a server is, so that another of the same name gets none of it; undefined for an unknown one. */
  identityOf(server: string): string | undefined
  /** Whether a value has a known secret in it. */
  holdsSecret(value: string): boolean
}

/** Arguments that prompts were used with, by folder and by what their server is. Secrets are never kept. */
export function createPromptValues({
  table,
  workspace,
  identityOf,
  holdsSecret,
}: PromptValuesDeps): PromptValues {
  type Prompt = Parameters<PromptValues['of']>[0]
  const placeOf = ({ server, prompt }: Prompt): string | undefined => {
    const identity = identityOf(server)
    if (identity === undefined || workspace === undefined) return undefined
    return JSON.stringify(['prompt', workspace, identity, prompt.name])
  }
  const open = ({ prompt }: Prompt): string[] =>
    (prompt.arguments ?? []).flatMap(({ name, title, description }) => {
      const words = { key: name, label: title ?? name, description, kind: 'text' as const, message: '' }
      return secretAskedBy(words) === undefined ? [name] : []
    })
  return {
    of(entry) {
      const place = placeOf(entry)
      if (place === undefined) return {}
      const known = open(entry).flatMap((name): [string, string][] => {
        const value = table.get(place, name)
        return typeof value === 'string' ? [[name, value]] : []
      })
      return Object.fromEntries(known)
    },
    keep(entry, given) {
      const place = placeOf(entry)
      if (place === undefined) return
      for (const name of open(entry)) {
        const value = Object.hasOwn(given, name) ? given[name] : undefined
        if (value === undefined || value === '') table.forget(place, name)
        else if (value.length <= maxValue && !holdsSecret(value)) table.set(place, name, value)
      }
    },
  }
}
