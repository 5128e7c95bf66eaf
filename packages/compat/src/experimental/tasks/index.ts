/** The experimental tasks of the official SDK that servers use: their stores and types. */
import { type Uncovered, uncovered } from '../../uncovered.ts'

export * from './in-memory.ts'
export * from './interfaces.ts'
export type { ExperimentalMcpServerTasks } from '../../server/mcp.ts'

const useExtension = 'Use the tasks extension of @jackfield/sdk: tasks() and client/tasks'
export const ExperimentalClientTasks: Uncovered = uncovered('ExperimentalClientTasks', useExtension)
export const ExperimentalServerTasks: Uncovered = uncovered('ExperimentalServerTasks', useExtension)
export const assertToolsCallTaskCapability: Uncovered = uncovered('assertToolsCallTaskCapability', useExtension)
export const assertClientRequestTaskCapability: Uncovered = uncovered(
  'assertClientRequestTaskCapability',
  useExtension,
)
