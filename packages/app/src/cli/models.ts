import { findOllama, type Model, modelsFromEnvironment, offlineModel } from '@jackfield/host'
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
  const setting =
    option !== undefined
      ? '--model'
      : env.JACKFIELD_MODEL !== undefined
        ? 'JACKFIELD_MODEL'
        : 'jackfield.models'
  try {
    const [first = offlineModel, ...rest] = modelsFromEnvironment(
      { ...env, JACKFIELD_MODEL: wanted },
      setting,
    )
    const others = [...configured.flatMap((id) => modelNamed(env, id)), ...rest]
    const known = new Map(others.map((model) => [model.id, model]))
    known.delete(first.id)
    return [first, ...known.values()]
  } catch (error) {
    throw usageError(error instanceof Error ? error.message : String(error))
  }
}

/**
 * The same for a conversation. Where nobody said which model and no key is there, an Ollama on this machine is looked
 * for before the offline planner answers.
 */
export async function modelsToTalkTo(
  env: NodeJS.ProcessEnv,
  option: string | undefined,
  configured: readonly string[],
): Promise<readonly [Model, ...Model[]]> {
  const models = modelsInUse(env, option, configured)
  const wanted = option ?? env.JACKFIELD_MODEL ?? configured[0]
  if (wanted !== undefined || models.some(({ isLanguageModel }) => isLanguageModel)) return models
  const found = await findOllama(env)
  if (found === undefined) return models
  return modelsInUse({ ...env, OLLAMA_HOST: found.host, OLLAMA_MODEL: found.models[0] }, option, configured)
}

/** The model of this id, where there is one. */
export function modelNamed(env: NodeJS.ProcessEnv, id: string): Model[] {
  try {
    return modelsFromEnvironment({ ...env, JACKFIELD_MODEL: id }).slice(0, 1)
  } catch {
    return []
  }
}
