import type { ModelPreferences } from '@jackfield/sdk'
import type { Model } from '../types/index.ts'

export interface Choice {
  model: Model
  /** Why that one, in words for a person. */
  why: string
}

/** The first hint that is part of a model's name decides, in the order of the hints; without one, the first model. */
export function chooseModel(
  models: readonly [Model, ...Model[]],
  preferences: ModelPreferences = {},
): Choice {
  const hints = (preferences.hints ?? []).flatMap(({ name }) => name?.trim() || [])
  for (const hint of hints) {
    const model = models.find(({ id }) => id.toLowerCase().includes(hint.toLowerCase()))
    if (model !== undefined) return { model, why: `the server's hint "${hint}" fits its name` }
  }
  const [model] = models
  const why = 'it is the first of your models'
  return {
    model,
    why:
      hints.length === 0 ? why : `none of the server's hints (${hints.join(', ')}) fits a model, and ${why}`,
  }
}
