import { findOllama, type Model, modelsFromEnvironment } from '@jackfield/host'
import { offlineModel } from '@jackfield/server-travel/planner'
import { usageError } from './exit.ts'

/**
 * The models of a conversation, the primary one first: `--model`, else `JACKFIELD_MODEL`, else the first model of the
 * configuration, else one that the environment has a key for, else the offline planner. Other available models of the
 * configuration follow, then those of the environment.
 */
export function modelsInUse(
  env: NodeJS.ProcessEnv,
  option: string | undefined,
  configured: readonly string[],
): readonly [Model, ...Model[]] {
  const requested = option ?? env.JACKFIELD_MODEL ?? configured[0]
  const setting =
    option !== undefined
      ? '--model'
      : env.JACKFIELD_MODEL !== undefined
        ? 'JACKFIELD_MODEL'
        : 'jackfield.models'
  try {
    const [first = offlineModel, ...rest] = modelsFromEnvironment(
      { ...env, JACKFIELD_MODEL: requested },
      { setting, offline: offlineModel },
    )
    const others = [...configured.flatMap((id) => modelNamed(env, id)), ...rest]
    const known = new Map(others.map((model) => [model.id, model]))
    known.delete(first.id)
    return [first, ...known.values()]
  } catch (error) {
    throw usageError(error instanceof Error ? error.message : String(error))
  }
}

/** The models for a conversation. Without a setting or a key, it uses a local Ollama server before the offline planner. */
export async function conversationModels(
  env: NodeJS.ProcessEnv,
  option: string | undefined,
  configured: readonly string[],
): Promise<readonly [Model, ...Model[]]> {
  const models = modelsInUse(env, option, configured)
  const wanted = option ?? env.JACKFIELD_MODEL ?? configured[0]
  if (wanted !== undefined || models.some(({ isLanguageModel }) => isLanguageModel)) return models
  const ollama = await findOllama(env)
  if (ollama === undefined) return models
  return modelsInUse({ ...env, OLLAMA_HOST: ollama.host, OLLAMA_MODEL: ollama.models[0] }, option, configured)
}

/** The model with this id, if any. */
export function modelNamed(env: NodeJS.ProcessEnv, id: string): Model[] {
  try {
    return modelsFromEnvironment({ ...env, JACKFIELD_MODEL: id }, { offline: offlineModel }).slice(0, 1)
  } catch {
    return []
  }
}
