import type { ConnectionState } from '@jackfield/host/browser'
import { HostError } from '@jackfield/host/client'
import { useCallback } from 'react'
import { useHost, type useTopic } from '../data/host.tsx'
import type { useText } from '../i18n/i18n.ts'

export type ServerRow =
  NonNullable<ReturnType<typeof useTopic<'servers'>>> extends ReadonlyMap<string, infer R> ? R : never

export type State = ConnectionState['state']

/** What puts a server right, where one act does. */
export const remedies: { readonly [S in State]?: 'reconnect' | 'signIn' | 'examine' | 'start' } = {
  degraded: 'reconnect',
  reconnecting: 'reconnect',
  'needs-sign-in': 'signIn',
  'needs-approval': 'start',
  asleep: 'start',
  failed: 'reconnect',
}

export type Remedy = 'reconnect' | 'signIn' | 'examine' | 'start'

/** States in which something has to be done, or to be looked at. */
export const wrongStates: ReadonlySet<State> = new Set([
  'degraded',
  'reconnecting',
  'needs-sign-in',
  'needs-approval',
  'failed',
])

/** Does what puts a server right; resolves once it is done. */
export function useRemedy(name: string): (kind: Remedy) => Promise<unknown> {
  const { client } = useHost()
  return useCallback(
    async (kind) => {
      if (kind === 'start') return client.call('servers.start', { servers: [name] })
      const run = await client.call('runs.perform', { request: { kind, server: name } })
      if (run.fault !== undefined) throw new HostError(run.fault)
      return run
    },
    [client, name],
  )
}

/** How much of each kind a server offers; empty where nothing is known. */
export function offersOf(t: ReturnType<typeof useText>, row: ServerRow): string {
  return (
    (['tools', 'prompts', 'resources', 'templates'] as const)
      .flatMap((kind) => (row[kind] > 0 ? [t(`offers.${kind}`, { count: row[kind] })] : []))
      // Each is kept on one line.
      .map((part) => part.replaceAll(' ', '\u00a0'))
      .join(' · ')
  )
}
