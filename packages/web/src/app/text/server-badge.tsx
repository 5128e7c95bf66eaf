import type { ReactNode } from 'react'
import { useTopic } from '../data/host.tsx'
import { Badge } from '../ui/ui.tsx'
import { plainText } from './foreign-type.ts'

/** The badge of a server by what it is: its command line or address, whatever it is called. */
export function ServerBadge({ name }: { name: string }): ReactNode {
  const row = useTopic('servers')?.get(name)
  return <Badge name={name} identity={row === undefined ? name : plainText(row.origin)} />
}
