import type { Store } from '../../log/store/store.ts'
import type { ServerConfig } from '../../types/index.ts'
import { isSecretName, partsOf } from '../variables.ts'
import type { SecretRedactor } from './redactor.ts'

/** A configuration with literal secrets replaced by names, and the secrets to store under those names. */
export function withoutSecrets(
  server: string,
  config: ServerConfig,
): { config: ServerConfig; secrets: { name: string; value: string }[] } {
  const secrets: { name: string; value: string }[] = []
  const named = (record: Record<string, string>): Record<string, string> =>
    Object.fromEntries(
      Object.entries(record).map(([name, text]) => {
        const read = partsOf(text)
        const literal = 'parts' in read && read.parts.every(({ kind }) => kind === 'text')
        if (!isSecretName(name) || !literal || text === '') return [name, text]
        const secret = `${server}.${name}`.replaceAll('}', '')
        const [, scheme = '', value = text] = /^(Bearer |Basic |Token )?(.*)$/is.exec(text) ?? []
        secrets.push({ name: secret, value })
        return [name, `${scheme}\${secret:${secret}}`]
      }),
    )
  const cleaned =
    'url' in config
      ? { ...config, ...(config.headers !== undefined && { headers: named(config.headers) }) }
      : { ...config, ...(config.env !== undefined && { env: named(config.env) }) }
  return { config: cleaned, secrets }
}

/** Wraps the store, so that no server or form data with a known secret is stored. */
export function withoutStoredSecrets(store: Store, redactor: SecretRedactor): Store {
  const { forms, manifests } = store
  const holds = (value: unknown): boolean => redactor.value(value) !== value
  return {
    ...store,
    forms: {
      ...forms,
      set(identity, field, value) {
        if (holds(value)) forms.forget(identity, field)
        else forms.set(identity, field, value)
      },
    },
    manifests: {
      ...manifests,
      // A stored list without its secrets would differ from the accepted one.
      put(identity, principal, lists) {
        if (holds(lists)) manifests.forget(identity)
        else manifests.put(identity, principal, lists)
      },
    },
  }
}
