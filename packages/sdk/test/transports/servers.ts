import type { Server } from '@jackfield/sdk'
import { createBareServer } from './bare-server.ts'
import { createMatrixServer } from './matrix-server.ts'
import { createRulesServer } from './rules-server.ts'
import { createTasksServer } from './tasks-server.ts'

/** What can be served over every transport, by name: a server value cannot be handed to another process. */
export const servers = {
  matrix: createMatrixServer,
  rules: createRulesServer,
  tasks: createTasksServer,
  bare: createBareServer,
} as const satisfies Readonly<Record<string, () => Server>>

export type ServerName = keyof typeof servers

export function isServerName(name: string): name is ServerName {
  return Object.hasOwn(servers, name)
}
