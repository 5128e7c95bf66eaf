import type { ConnectionState } from '@jackfield/host/browser'
import { HostError } from '@jackfield/host/client'
import { useCallback } from 'react'
import { useHost, type useTopic } from '../data/host.tsx'
import type { useText } from '../i18n/i18n.ts'

export type ServerRow =
  NonNullable<ReturnType<typeof useTopic<'servers'>>> extends ReadonlyMap<string, infer R> ? R : never

export type State = ConnectionState['state']

/** The remedy for each state that one action can fix. */
export const remedies: { readonly [S in State]?: 'reconnect' | 'signIn' | 'examine' | 'start' } = {
  degraded: 'reconnect',
  reconnecting: 'reconnect',
  'needs-sign-in': 'signIn',
  'needs-approval': 'start',
  asleep: 'start',
  failed: 'reconnect',
}

export type Remedy = 'reconnect' | 'signIn' | 'examine' | 'start'

/** States that need attention. */
export const wrongStates: ReadonlySet<State> = new Set([
  'degraded',
  'reconnecting',
  'needs-sign-in',
  'needs-approval',
  'failed',
])

/** A function that applies a remedy to a server; resolves once it is applied. */
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

/** The number of tools, prompts and resources of a server as a text; empty if unknown. */
export function offersOf(t: ReturnType<typeof useText>, row: ServerRow): string {
  return (
    (['tools', 'prompts', 'resources', 'templates'] as const)
      .flatMap((kind) => (row[kind] > 0 ? [t(`offers.${kind}`, { count: row[kind] })] : []))
      // Each is kept on one line.
      .map((part) => part.replaceAll(' ', '\u00a0'))
      .join(' · ')
  )
}
