import type { Repositories } from './repositories.ts'

/** What the tools, resources and prompts of one server share. */
export interface ServerContext {
  repositories: Repositories
  /** Bytes of one page of a patch or file, and of other long texts of one result. */
  maxOutputBytes: number
  /** Whether a person is asked before a commit, and before a checkout with uncommitted changes. */
  confirm: 'ask' | 'never'
}
