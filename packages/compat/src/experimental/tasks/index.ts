/** The experimental tasks of the official SDK that servers use: their stores, schemas and types. */
import type { ExperimentalMcpServerTasks as ToolTasks } from '../../server/mcp.ts'
import { type Uncovered, uncovered } from '../../uncovered.ts'

export {
  CancelTaskRequestSchema,
  CancelTaskResultSchema,
  ClientTasksCapabilitySchema,
  CreateTaskResultSchema,
  GetTaskPayloadRequestSchema,
  GetTaskRequestSchema,
  GetTaskResultSchema,
  ListTasksRequestSchema,
  ListTasksResultSchema,
  RelatedTaskMetadataSchema,
  ServerTasksCapabilitySchema,
  TaskCreationParamsSchema,
  TaskSchema,
  TaskStatusNotificationParamsSchema,
  TaskStatusNotificationSchema,
} from '../../types.ts'
export * from './in-memory.ts'
export * from './interfaces.ts'

const useExtension = 'Use the tasks extension of @jackfield/sdk: extensions/tasks and client/tasks'
export type ExperimentalMcpServerTasks = ToolTasks
export const ExperimentalMcpServerTasks: Uncovered = uncovered(
  'the class ExperimentalMcpServerTasks',
  'Use mcpServer.experimental.tasks',
)
export const ExperimentalClientTasks: Uncovered = uncovered('ExperimentalClientTasks', useExtension)
export const ExperimentalServerTasks: Uncovered = uncovered('ExperimentalServerTasks', useExtension)
export const assertToolsCallTaskCapability: Uncovered = uncovered(
  'assertToolsCallTaskCapability',
  useExtension,
)
export const assertClientRequestTaskCapability: Uncovered = uncovered(
  'assertClientRequestTaskCapability',
  useExtension,
)

const noStreams = 'Await client.callTool, or use client/tasks of @jackfield/sdk'
export const takeResult: Uncovered = uncovered('takeResult', noStreams)
export const toArrayAsync: Uncovered = uncovered('toArrayAsync', noStreams)
