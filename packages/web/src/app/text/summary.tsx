import type { TraceEvent } from '@jackfield/host/browser'
import type { ReactNode } from 'react'
import { useText } from '../i18n/i18n.ts'
import { HostText, SafeText } from './safe-text.tsx'
import { untrusted } from './untrusted-text.ts'

/** Kinds of events whose summary is not written by the host. */
const untrustedKinds: ReadonlySet<TraceEvent['kind']> = new Set([
  'wire',
  'http',
  'stderr',
  'warning',
  'read',
  'conversation',
])

/** The summary of an event, translated if the host wrote it. */
export function Summary({
  event: { kind, server, summary },
  maxCharacters,
}: {
  event: { readonly kind: TraceEvent['kind']; readonly server: string | null; readonly summary: string }
  maxCharacters: number
}): ReactNode {
  const t = useText()
  const end = ` of ${server}`
  if (kind === 'call' && summary.endsWith(end))
    return (
      <SafeText
        text={untrusted(t('activity.call', { tool: summary.slice(0, -end.length), server: server ?? '' }))}
        maxCharacters={maxCharacters}
        inline
      />
    )
  if (kind === 'call' || untrustedKinds.has(kind))
    return <SafeText text={untrusted(summary)} maxCharacters={maxCharacters} inline />
  return <HostText text={untrusted(summary)} maxCharacters={maxCharacters} inline />
}
