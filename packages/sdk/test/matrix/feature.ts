import type { ProtocolVersion } from '@jackfield/sdk'
import type { Client, ConnectOptions } from '@jackfield/sdk/client'

/** Where one run of a feature happens. */
export interface FeatureRun {
  readonly version: ProtocolVersion
  readonly transport: string
  /** Connects to the matrix server, at this revision, over this transport. */
  open(options?: ConnectOptions): Promise<Client>
}

/** One thing the protocol can do, tried on every revision over every transport. */
export interface Feature {
  readonly title: string
  /** First revision that has it. At earlier ones `run` checks that it is absent, unless `only` is given. */
  readonly since?: ProtocolVersion
  readonly until?: ProtocolVersion
  /** What must be so; where the revision lacks the feature, that it is absent. */
  run(place: FeatureRun): Promise<void>
}

/** Whether a revision has a feature. */
export function has({ since, until }: Feature, version: ProtocolVersion): boolean {
  return (since === undefined || version >= since) && (until === undefined || version <= until)
}
