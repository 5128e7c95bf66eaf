import type { Store } from '../../log/store/store.ts'
import type { Redactor } from './redactor.ts'

/** The store, where nothing that servers or forms say is kept with a known secret in it. */
export function withoutKeptSecrets(store: Store, redactor: Redactor): Store {
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
      // A list that is kept without its secrets would not be the one that was agreed to.
      put(identity, principal, lists) {
        if (holds(lists)) manifests.forget(identity)
        else manifests.put(identity, principal, lists)
      },
    },
  }
}
