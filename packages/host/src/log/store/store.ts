import type { LogSettings } from '../../types/index.ts'
import { type ActivityLog, createActivityLog } from './activity-log.ts'
import {
  createFormTable,
  createGrantTable,
  createLabelTable,
  type FormTable,
  type GrantTable,
  type LabelTable,
} from './answer-tables.ts'
import { type AppTable, createAppTable } from './app-table.ts'
import { type ConversationTable, createConversationTable } from './conversation-table.ts'
import { createStoreVersion, openDatabase } from './database.ts'
import {
  createInboxTable,
  createSuspendedCallTable,
  type InboxTable,
  type SuspendedCallTable,
} from './inbox-tables.ts'
import { LogWriter } from './log-writer.ts'
import { createOwners, type Owners } from './owners.ts'
import {
  createResourceTextTable,
  memoryResourceTextBounds,
  type ResourceTextTable,
  resourceTextBounds,
} from './resource-text-table.ts'
import { createResultTable, type ResultTable } from './result-table.ts'
import { createRootsTable, type RootsTable } from './roots-table.ts'
import { createSamplingTable, type SamplingTable } from './sampling-table.ts'
import {
  type ConsentTable,
  createConsentTable,
  createEraTable,
  createIdentityTable,
  createManifestTable,
  type EraTable,
  type IdentityTable,
  type ManifestTable,
} from './server-tables.ts'
import { createTaskTable, type TaskTable } from './task-table.ts'
import {
  createTraceTable,
  memoryTraceBounds,
  type TraceBounds,
  type TraceTable,
  traceBounds,
} from './trace-table.ts'
import { createTrustTable, type TrustTable } from './trust-table.ts'

/** Everything the host stores. */
export interface Store {
  readonly activity: ActivityLog
  readonly apps: AppTable
  readonly grants: GrantTable
  readonly labels: LabelTable
  readonly sampling: SamplingTable
  readonly inbox: InboxTable
  readonly suspendedCalls: SuspendedCallTable
  readonly tasks: TaskTable
  readonly owners: Owners
  readonly trust: TrustTable
  readonly consents: ConsentTable
  readonly eras: EraTable
  readonly identities: IdentityTable
  readonly roots: RootsTable
  readonly manifests: ManifestTable
  readonly results: ResultTable
  readonly texts: ResourceTextTable
  readonly forms: FormTable
  readonly trace: TraceTable
  readonly conversations: ConversationTable
  close(): void
}

const megabyte = 1_000_000
const dayMs = 86_400_000

function boundsOf(file: string, { megabytes, days }: LogSettings): TraceBounds {
  const usual = file === ':memory:' ? memoryTraceBounds : traceBounds
  return {
    bytes: megabytes === undefined ? usual.bytes : megabytes * megabyte,
    ageMs: days === undefined ? usual.ageMs : days * dayMs,
  }
}

/** Opens the store in a SQLite file, or in memory for `:memory:`. `log`: settings of the message log. */
export function openStore(file: string, log: LogSettings = {}): Store {
  const database = openDatabase(file)
  const owners = createOwners(file)
  const writer = new LogWriter(database)
  const version = createStoreVersion(database)
  const trace = createTraceTable(database, writer, boundsOf(file, log))
  return {
    activity: createActivityLog(database, writer),
    apps: createAppTable(database),
    grants: createGrantTable(database, version),
    labels: createLabelTable(database, version),
    sampling: createSamplingTable(database),
    inbox: createInboxTable(database, writer, version),
    suspendedCalls: createSuspendedCallTable(database, writer),
    tasks: createTaskTable(database),
    owners,
    trust: createTrustTable(database, version),
    consents: createConsentTable(database),
    eras: createEraTable(database),
    identities: createIdentityTable(database),
    roots: createRootsTable(database),
    manifests: createManifestTable(database),
    results: createResultTable(database),
    texts: createResourceTextTable(
      database,
      file === ':memory:' ? memoryResourceTextBounds : resourceTextBounds,
    ),
    forms: createFormTable(database),
    trace,
    conversations: createConversationTable(database),
    close: () => {
      try {
        trace.close()
      } finally {
        database.close()
        owners.close()
      }
    },
  }
}
