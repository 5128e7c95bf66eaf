import { type Model, modelsFromEnvironment, offlineModel } from '@jackfield/host'
import { usageError } from './exit.ts'

/**
 * The models of a conversation, the one that answers first: what `--model` says, else `JACKFIELD_MODEL`, else the
 * config's first model, else whatever the environment has a key for, else the offline planner.
 */
export function modelsInUse(
  env: NodeJS.ProcessEnv,
  option: string | undefined,
  configured: readonly string[],
): readonly [Model, ...Model[]] {
  const wanted = option ?? env.JACKFIELD_MODEL ?? configured[0]
  try {
    const [first, ...rest] = modelsFromEnvironment({ ...env, JACKFIELD_MODEL: wanted })
    return first === undefined ? [offlineModel] : [first, ...rest]
  } catch (error) {
    throw usageError(error instanceof Error ? error.message : String(error))
  }
}
