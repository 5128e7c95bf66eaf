import type { ProtocolVersion } from '@jackfield/sdk'
import { type Offer, offerAt } from '../offer.ts'
import type { ClientKind, ServerAddress } from '../test-client.ts'
import type { Case } from './case.ts'
import { changeCases } from './changes.ts'
import { endCases, meetingCases } from './meeting.ts'
import { modelCases } from './models.ts'
import { personCases } from './persons.ts'
import { promptCases } from './prompts.ts'
import { resourceCases } from './resources.ts'
import { runningCases } from './running.ts'
import { sessionCases } from './sessions.ts'
import { toolCases } from './tools.ts'

export type { Case } from './case.ts'

/** What a case may depend on besides what the server offers. */
export interface Setting {
  readonly kind: ClientKind
  readonly revision: ProtocolVersion
  readonly transport: 'stdio' | 'http' | 'sse'
}

export function transportOf(address: ServerAddress): Setting['transport'] {
  return 'url' in address ? address.transport : 'stdio'
}

/** Every case there is about what this server offers at this revision. */
export function casesFor(full: Offer, setting: Setting): Case[] {
  const offer = offerAt(full, setting.revision)
  return [
    ...meetingCases(offer, setting),
    ...toolCases(offer),
    ...runningCases(offer),
    ...resourceCases(offer),
    ...promptCases(offer),
    ...changeCases(offer),
    ...personCases(offer, setting),
    ...modelCases(offer),
    ...sessionCases(offer, setting),
    ...endCases(offer, setting),
  ]
}
