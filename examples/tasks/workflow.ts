import type { TaskRound, TaskRunner } from '@jackfield/sdk/extensions/tasks'

// Tasks as workflows of an engine such as Temporal: one workflow for each task, `run` as its activity, and a signal for each
// answer. The engine below has the few parts of Temporal that this needs, in memory; the comments name them.

/** What a workflow may do. All of it is repeatable by the engine. */
export interface WorkflowContext {
  /** Runs an activity, again until it succeeds (`proxyActivities`). */
  run(id: string): Promise<TaskRound>
  /** Waits for a timer of the engine (`sleep`). */
  sleep(ms: number): Promise<void>
  /** Waits for a signal that came since the last one (`setHandler` and `condition`). */
  signal(): Promise<void>
}

/** The workflow of one task. */
export async function taskWorkflow(id: string, { run, sleep, signal }: WorkflowContext): Promise<void> {
  for (;;) {
    const round = await run(id)
    if (round.type === 'over') return
    if (round.type === 'waiting') await signal()
    else await sleep(round.afterMs)
  }
}

/** Runs workflows in this process. With Temporal, this is its cluster and a worker. */
export class WorkflowEngine {
  /** For `tasks({ runner })`: starts the workflow of a task, or signals it if it runs (`client.workflow.signalWithStart`). */
  readonly runner: TaskRunner = {
    start: (id) => {
      const running = this.#workflows.get(id)
      if (running === undefined) this.#start(id)
      else running.signal()
    },
  }
  readonly #activity: (id: string) => Promise<TaskRound>
  readonly #workflows = new Map<string, { signal(): void }>()

  /** @param activity runs one round of a task: `tasks.run` */
  constructor(activity: (id: string) => Promise<TaskRound>) {
    this.#activity = activity
  }

  get running(): number {
    return this.#workflows.size
  }

  #start(id: string): void {
    let signals = 0
    let wake = (): void => {}
    const isSignalled = (): void => {
      signals++
      wake()
    }
    this.#workflows.set(id, { signal: isSignalled })
    const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
    const run = async (task: string): Promise<TaskRound> => {
      for (let attempt = 0; ; attempt++) {
        try {
          return await this.#activity(task)
        } catch {
          await sleep(Math.min(60_000, 100 * 2 ** attempt))
        }
      }
    }
    const signal = async (): Promise<void> => {
      while (signals === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      signals = 0
    }
    taskWorkflow(id, { run, sleep, signal }).finally(() => {
      this.#workflows.delete(id)
      // A signal that came while it ended is for a new round.
      if (signals > 0) this.#start(id)
    })
  }
}
