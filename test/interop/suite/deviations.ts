import type { ProtocolVersion } from '@jackfield/sdk'
import { nullId } from '../tap/check.ts'

/** Something a peer sends that the official schema of the revision it agreed to does not allow. */
export interface Deviation {
  readonly peers: readonly string[]
  /** Only at these revisions; all, where left out. */
  readonly revisions?: readonly ProtocolVersion[]
  readonly transports?: readonly ('stdio' | 'http' | 'sse')[]
  /** Not where the pair says so of itself. */
  readonly except?: string
  /** The method of the message, or of the request it answers. */
  readonly method: string
  /** What the schema says. */
  readonly what: string
}

export const deviations: readonly Deviation[] = [
  {
    peers: ['official server v1', 'official server v2', 'server-everything'],
    revisions: ['2025-11-25'],
    transports: ['http'],
    except: 'without sessions',
    method: 'unasked',
    what: nullId,
  },
]
