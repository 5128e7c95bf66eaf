import type { ElicitParams } from '@jackfield/sdk'
import type { TrustFinding } from '../../types/index.ts'
import { inspectUrl } from './inspect-url.ts'
import { planForm } from './plan.ts'

/** What a person should look at before they answer. `address`: where the server is, for one over the network. */
export function elicitationFindings(params: ElicitParams, address?: string): TrustFinding[] {
  if (params.mode === 'url') {
    return [...inspectUrl(params.url, address === undefined ? {} : { known: [address] }).findings]
  }
  const plan = planForm(params.requestedSchema, params.message)
  if ('fault' in plan) return []
  return plan.fields.flatMap(({ key, label, secret }) =>
    secret === undefined
      ? []
      : [
          {
            severity: 'danger',
            code: 'asks-for-secret',
            at: `fields.${key}`,
            message: `"${label}" seems to ask for ${secret}. Servers must not ask for secrets in a form: what is typed reaches the server as plain text. It can send you to a page of its own instead.`,
          },
        ],
  )
}
