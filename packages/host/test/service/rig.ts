import type { Model } from '@jackfield/host'
import {
  type Channel,
  type ConversationRow,
  channelPair,
  createHostClient,
  createPeerServer,
  type HostClient,
  HostService,
  type HostServiceOptions,
  type InboxRow,
  type PeerServer,
  type RunRow,
  type View,
} from '@jackfield/host/service'
import { onTestFinished } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import { scripted } from '../fixtures/hosts.ts'

export const asking = {
  command: process.execPath,
  args: [programFile(new URL('../fixtures/asking-server.ts', import.meta.url))],
}
export const definitionServer = {
  command: process.execPath,
  args: [programFile(new URL('../fixtures/definition-server.ts', import.meta.url))],
}
/** A model that makes these calls, and then replies "Done.". */
export function calling(
  id: string,
  calls: readonly { name: string; arguments: Record<string, unknown> }[],
): Model {
  let isAsked = false
  return {
    ...scripted(id, 'Done.'),
    async generate(request) {
      request.signal?.throwIfAborted()
      if (isAsked) return await scripted(id, 'Done.').generate(request)
      isAsked = true
      const content = calls.map((call, n) => ({
        ...{ type: 'tool_use' as const, id: `call-${n}`, name: call.name, input: call.arguments },
      }))
      return { content, stopReason: 'toolUse', model: id }
    },
  }
}
export const allow = [{ id: 'all', verdict: 'allow' as const }]
export const everyKind = ['approval', 'result', 'elicitation', 'roots', 'start', 'drift', 'login'] as const

export interface Rig {
  service: HostService
  peers: PeerServer
  client: (name: string, channel?: () => Channel) => Promise<HostClient>
}

export async function rig(options: Partial<HostServiceOptions> = {}): Promise<Rig> {
  const service = new HostService({ servers: {}, models: [], version: '1', rules: allow, ...options })
  const peers = await createPeerServer(service)
  onTestFinished(async () => {
    peers.close('the test is over')
    await service.close()
  })
  await service.start()
  const inMemory = (): Channel => {
    const [here, there] = channelPair()
    peers.serve(there)
    return here
  }
  return {
    service,
    peers,
    async client(name, channel = inMemory) {
      const client = createHostClient({ name, connect: channel })
      onTestFinished(() => client.close())
      await client.ready()
      return client
    },
  }
}

/** The rows of a topic as they are now. */
export function watched<Row>(subscribe: (rows: (view: View<Row>) => void) => unknown): {
  rows(): Row[]
  view(): View<Row>
} {
  let now: View<Row> = new Map()
  subscribe((view) => {
    now = view
  })
  return { rows: () => [...now.values()], view: () => now }
}

export const runsOf = (client: HostClient): ReturnType<typeof watched<RunRow>> =>
  watched((rows) => client.subscribe('runs', { rows }))
export const inboxOf = (client: HostClient): ReturnType<typeof watched<InboxRow>> =>
  watched((rows) => client.subscribe('inbox', { rows }))
export const conversationOf = (client: HostClient, id: string): ReturnType<typeof watched<ConversationRow>> =>
  watched((rows) => client.subscribe(`conversation:${id}`, { rows }))
