import type { RootsConsent, SeenFolder } from '../../log/store/roots-table.ts'
import type { OpenFolder } from '../../types/index.ts'
import { isOffered, isTold } from './look.ts'
import { sameFolder } from './open-folders.ts'

/** How one server stands towards the folders that are open to it now. */
export interface Standing {
  consent: RootsConsent | undefined
  /** What the person is asked about. */
  offered: readonly OpenFolder[]
  /** What of it they were not asked about before, or was another folder then. */
  fresh: readonly OpenFolder[]
  /** What it may be told now. */
  told: readonly OpenFolder[]
  /** What it may be told, but is not there. */
  missing: readonly OpenFolder[]
}

export function standingOf(folders: readonly OpenFolder[], consent: RootsConsent | undefined): Standing {
  const offered = folders.filter(isOffered)
  const agreed = offered.filter((folder) => knows(consent?.agreed ?? [], folder))
  return {
    consent,
    offered,
    fresh: offered.filter((folder) => !knows(consent?.offered ?? [], folder)),
    told: agreed.filter(isTold),
    missing: agreed.filter((folder) => !isTold(folder)),
  }
}

/** A no stands until the person takes it back; a yes stands for what they were asked about. */
export function mustAsk({ consent, offered, fresh }: Standing): boolean {
  if (consent === undefined) return offered.length > 0
  return consent.verdict === 'allow' && fresh.length > 0
}

export function seenAs({ uri, real }: OpenFolder): SeenFolder {
  return { uri, real: real ?? null }
}

/** What was missing when it was asked about may come, but not as a link to somewhere else. */
function knows(seen: readonly SeenFolder[], folder: OpenFolder): boolean {
  const isLink = folder.findings.some(({ code }) => code === 'link')
  return seen.some(
    ({ uri, real }) =>
      sameFolder(uri, folder.uri) &&
      (folder.real === undefined || real === folder.real || (real === null && !isLink)),
  )
}
