import type { Class } from '../advisory.ts'
import { authorization } from './authorization.ts'
import { callers } from './callers.ts'
import { hosts } from './hosts.ts'
import { exhaustion, messages } from './messages.ts'
import { commands, databases, files } from './programs.ts'
import { web } from './web.ts'

/** Everything on docs/advisories.md, in its order. */
export const classes: readonly Class[] = [
  web,
  callers,
  messages,
  exhaustion,
  commands,
  files,
  databases,
  authorization,
  hosts,
]
