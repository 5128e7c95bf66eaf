export type { TaskStatus } from '../record.ts'
export type { TaskState } from './tasks-client.ts'
export {
  type ClientTask,
  type Started,
  type StartOptions,
  type TasksClient,
  tasksClient,
} from './tasks-client.ts'
