import type { ReactNode } from 'react'
import { useTopic } from '../data/host.tsx'
import { Badge } from '../ui/ui.tsx'
import { plainText } from './untrusted-text.ts'

/** The badge of a server. It depends on the command line or address, not on the name. */
export function ServerBadge({ name }: { name: string }): ReactNode {
  const row = useTopic('servers')?.get(name)
  return <Badge name={name} identity={row === undefined ? name : plainText(row.origin)} />
}
