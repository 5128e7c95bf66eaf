import { type Model, modelsFromEnvironment, offlineModel } from '@jackfield/host'
import { usageError } from './exit.ts'

/**
 * The models of a conversation, the one that answers first: what `--model` says, else `JACKFIELD_MODEL`, else the
 * config's first model, else whatever the environment has a key for, else the offline planner. The config's other models
 * that can be had come next, then the environment's.
 */
export function modelsInUse(
  env: NodeJS.ProcessEnv,
  option: string | undefined,
  configured: readonly string[],
): readonly [Model, ...Model[]] {
  const wanted = option ?? env.JACKFIELD_MODEL ?? configured[0]
  try {
    const [first = offlineModel, ...rest] = modelsFromEnvironment({ ...env, JACKFIELD_MODEL: wanted })
    const others = [...configured.flatMap((id) => modelNamed(env, id)), ...rest]
    const known = new Map(others.map((model) => [model.id, model]))
    known.delete(first.id)
    return [first, ...known.values()]
  } catch (error) {
    throw usageError(error instanceof Error ? error.message : String(error))
  }
}

function modelNamed(env: NodeJS.ProcessEnv, id: string): Model[] {
  try {
    return modelsFromEnvironment({ ...env, JACKFIELD_MODEL: id }).slice(0, 1)
  } catch {
    return []
  }
}
