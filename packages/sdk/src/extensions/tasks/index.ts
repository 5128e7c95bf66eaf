export type { TaskEvent, TaskRetry, TaskRunner, TasksOptions } from './options.ts'
export { tasksExtension } from './options.ts'
export type { TaskStatus } from './record.ts'
export { type RetryLater, retryLater } from './run.ts'
export type {
  ClaimedTask,
  ClaimScope,
  NewTask,
  TaskCapacity,
  TaskChange,
  TaskPosition,
  TaskRow,
  TaskStore,
  TaskUpdate,
} from './store.ts'
export { memoryTaskStore } from './store.ts'
export { serveTasks, type TaskRound, type Tasks, type TaskWorker, tasks } from './tasks.ts'
