import type { ProtocolVersion } from '@jackfield/sdk'
import type { AnswerOptions, ConnectOptions } from '@jackfield/sdk/client'
import type { EraTable } from '../../log/store/era-table.ts'
import type { ManifestTable } from '../../log/store/manifest-table.ts'
import type { ResourceTextTable } from '../../log/store/resource-text-table.ts'
import type { Tap } from '../../log/trace/tap.ts'
import type { ConnectionState, HttpServerConfig, ServerConfig } from '../../types/index.ts'
import type { Login } from '../login/login.ts'
import type { SignInNeeded } from '../login/sign-in-needed.ts'
import type { ListKind } from './lists.ts'

export interface ConnectionOptions {
  name: string
  config: ServerConfig
  /** What the server is; another one once its variables stand for something else. */
  identity: () => string
  /** What is started in truth, once the person agreed and its variables are replaced. */
  prepare: (config: ServerConfig, signal: AbortSignal) => Promise<ServerConfig>
  /** Whether the person has yet to agree. */
  needsApproval: () => Promise<boolean>
  /** A state without secrets, for everybody to see. */
  shown: (state: ConnectionState) => ConnectionState
  /** What the client says about itself, and hears. */
  client: ConnectOptions
  /** Revisions to speak; default all. */
  revisions?: readonly ProtocolVersion[] | undefined
  /** What can be answered at the moment; asked for with every new connection. */
  answers: () => AnswerOptions
  /** How to sign in there; undefined where that is not wanted. */
  login: (config: HttpServerConfig) => Promise<Login | undefined>
  /** Folders that it may read in a sandbox, since the person agreed to tell it of them. */
  agreedRoots: () => Promise<readonly string[]>
  /** Makes what sees one connection. */
  tap: () => Tap
  eras: EraTable
  manifests: ManifestTable
  texts: Pick<ResourceTextTable, 'forget'>
  connectTimeoutMs: number
  /** Milliseconds of silence after which a server over the network is asked whether it is there; 0 for never. */
  idlePingMs: number
  /** Lists to fetch; default all. */
  lists?: readonly ListKind[] | undefined
  /** Whether lists are kept up to date; default true. */
  follow?: boolean | undefined
  /** Hears every change of state, after `state` has it. */
  onState: (state: ConnectionState) => void
  /** The lists have new contents. */
  onLists: () => void
  /** It wants the person signed in, at a page that was not opened. */
  onSignIn: (needed: SignInNeeded) => void
  onResourceUpdated: (uri: string) => void
  onStderr: (text: string) => void
  onWarning: (message: string) => void
}
