import type { TraceEvent } from '@jackfield/host/browser'
import type { ReactNode } from 'react'
import { useText } from '../i18n/i18n.ts'
import { Foreign, HostText } from './foreign.tsx'
import { foreign } from './foreign-type.ts'

/** Kinds of events whose summary is not written by the host. */
const foreignKinds: ReadonlySet<TraceEvent['kind']> = new Set([
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
      <Foreign
        text={foreign(t('activity.call', { tool: summary.slice(0, -end.length), server: server ?? '' }))}
        maxCharacters={maxCharacters}
        inline
      />
    )
  if (kind === 'call' || foreignKinds.has(kind))
    return <Foreign text={foreign(summary)} maxCharacters={maxCharacters} inline />
  return <HostText text={foreign(summary)} maxCharacters={maxCharacters} inline />
}
