import type { ReactNode } from 'react'
import { Note } from '../ui/ui.tsx'
import { HostText } from './safe-text.tsx'
import type { UntrustedText } from './untrusted-text.ts'

const tones = {
  note: 'info',
  notice: 'info',
  warning: 'warn',
  danger: 'danger',
  refused: 'danger',
} as const

/** Findings of the host about what a server sent or a configuration names, in its order. */
export function Findings({
  findings,
}: {
  findings: readonly { readonly severity: keyof typeof tones; readonly message: UntrustedText }[] | undefined
}): ReactNode {
  return findings?.map(({ severity, message }, n) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: findings have no other identity
    <Note key={n} tone={tones[severity]}>
      <HostText text={message} />
    </Note>
  ))
}
