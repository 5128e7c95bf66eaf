import { McpError, type ModelPreferences } from '@jackfield/sdk'
import { oneLine } from '../../shared/text.ts'
import type { Model, ModelChoice, ModelFacts, RankedModel } from '../../types/index.ts'

/** Model data used for ranking. */
type Candidate = Pick<Model, 'id' | 'isLanguageModel' | 'contextTokens'>

interface ChoiceNeeds {
  facts: readonly ModelFacts[]
  /** Tokens of request and reply; models with too small a context are ranked last. */
  tokens?: number
  /** The id of the model of the request's conversation. */
  chosen?: string
}

const maxHints = 20
const priorities = ['cost', 'speed', 'intelligence'] as const
/** A request reads about three times as many tokens as it writes. */
const inputShare = 0.75

/**
 * Ranks models for a server's preferences. The first hint that is part of a model's name, or of its id if the hint names the
 * provider, ignoring case, puts the matching models first. Among equals the model of the conversation comes first; without a
 * conversation, the score decides,
 *
 *     (costPriority × cost + speedPriority × speed + intelligencePriority × intelligence) ÷ sum of the priorities
 *
 * with each trait from 0 to 1, and then the configured order. `cost` is 1 for the cheapest and 0 for the most expensive model if
 * every model has a price in one currency, else a rough rank by family, as are traits that are not configured. Models with too
 * small a context come last. An offline model comes after every language model, unless it is configured first: then they come
 * after it.
 * @throws McpError 'INVALID' if there is no model
 */
export function chooseModel(
  models: readonly Candidate[],
  preferences: ModelPreferences = {},
  needs: ChoiceNeeds = { facts: [] },
): ModelChoice {
  const hints = hintsOf(preferences)
  const matchesHintOf = (model: Candidate, hint: string): boolean =>
    matchesHint(model.id, factsOf(model, needs)?.name, hint.toLowerCase())
  const hint = hints.find((candidate) => models.some((model) => matchesHintOf(model, candidate)))
  const traits = traitsOf(models, needs)
  const weights = weightsOf(preferences)
  const ranked = models.map((model, order) => {
    const isHinted = hint !== undefined && matchesHintOf(model, hint)
    const contextTokens = factsOf(model, needs)?.contextTokens ?? model.contextTokens
    const isTooSmall =
      contextTokens !== undefined && needs.tokens !== undefined && contextTokens < needs.tokens
    const traitValues = traits.get(model.id) ?? roughTraits(model.id)
    const score = scoreOf(traitValues, weights)
    const isOtherKind = model.isLanguageModel !== models[0]?.isLanguageModel
    const chosen = model.id === needs.chosen
    const sortKey = [isTooSmall ? 1 : 0, isHinted ? 0 : 1, chosen ? 0 : 1, isOtherKind ? 1 : 0, -score, order]
    const reason = [
      ...(isTooSmall ? [`has room for ${contextTokens} tokens only`] : []),
      ...(isHinted ? [`matches the hint "${hint}"`] : []),
      ...(chosen ? ['answers in this conversation'] : []),
      ...(isOtherKind && !chosen
        ? [model.isLanguageModel ? 'comes after the planner you put first' : 'is not a language model']
        : []),
      priorities.map((name) => `${name} ${traitValues[name].toFixed(2)}`).join(', '),
    ].join('; ')
    const row: RankedModel = { model: model.id, score, ...(isHinted && { hint }), reason }
    return { row, places: sortKey }
  })
  ranked.sort((a, b) => compareSortKeys(a.places, b.places))
  const ranking = ranked.map(({ row }) => row)
  const [best] = ranking
  if (best === undefined) throw new McpError('INVALID', 'There is no model to choose from')
  return { model: best.model, reason: choiceReason(best, ranking, hints, weights, needs.chosen), ranking }
}

/** The same ranking with another model first, because the user chose it. */
export function chosenByPerson(choice: ModelChoice, model: string): ModelChoice {
  return model === choice.model ? choice : { ...choice, model, reason: 'you chose it' }
}

/** A provider's name is no part of its models' names: `llama` matches no other model of `ollama`. */
function matchesHint(id: string, name: string | undefined, hint: string): boolean {
  const lowerCaseId = id.toLowerCase()
  const slash = lowerCaseId.indexOf('/')
  const modelName = lowerCaseId.slice(slash + 1)
  if (modelName.includes(hint) || name?.toLowerCase().includes(hint) === true) return true
  return (
    hint === lowerCaseId.slice(0, Math.max(0, slash)) || (hint.includes('/') && lowerCaseId.includes(hint))
  )
}

function hintsOf({ hints }: ModelPreferences): string[] {
  const list: unknown[] = Array.isArray(hints) ? hints.slice(0, maxHints) : []
  return list.flatMap((hint) => {
    const name = typeof hint === 'object' && hint !== null && 'name' in hint ? hint.name : undefined
    return typeof name === 'string' ? oneLine(name) || [] : []
  })
}

function weightsOf(preferences: ModelPreferences): ModelTraits {
  const weight = (value: unknown): number =>
    typeof value === 'number' && Number.isFinite(value) ? Math.min(1, Math.max(0, value)) : 0
  return {
    cost: weight(preferences.costPriority),
    speed: weight(preferences.speedPriority),
    intelligence: weight(preferences.intelligencePriority),
  }
}

function factsOf({ id }: Candidate, { facts }: ChoiceNeeds): ModelFacts | undefined {
  return facts.find((entry) => entry.id === id)
}

function traitsOf(models: readonly Candidate[], needs: ChoiceNeeds): Map<string, ModelTraits> {
  const cheapness = cheapnessOf(models, needs)
  return new Map(
    models.map((model) => {
      const facts = factsOf(model, needs)
      const estimated = roughTraits(model.id)
      return [
        model.id,
        {
          cost: cheapness?.(model) ?? estimated.cost,
          speed: facts?.speed ?? estimated.speed,
          intelligence: facts?.intelligence ?? estimated.intelligence,
        },
      ]
    }),
  )
}

/** The relative cost of each model; undefined if some have no price or the currencies differ. */
function cheapnessOf(
  models: readonly Candidate[],
  needs: ChoiceNeeds,
): ((model: Candidate) => number | undefined) | undefined {
  const prices = new Map<string, number>()
  const currencies = new Set<string>()
  for (const model of models.filter(({ isLanguageModel }) => isLanguageModel)) {
    const facts = factsOf(model, needs)
    if (facts?.cost === undefined) return undefined
    prices.set(model.id, inputShare * facts.cost.input + (1 - inputShare) * facts.cost.output)
    currencies.add(facts.currency ?? 'USD')
  }
  if (currencies.size !== 1) return undefined
  const minPrice = Math.min(...prices.values())
  const maxPrice = Math.max(...prices.values())
  return ({ id }) => {
    const price = prices.get(id)
    if (price === undefined) return undefined
    return maxPrice === minPrice ? 1 : (maxPrice - price) / (maxPrice - minPrice)
  }
}

function scoreOf(traitValues: ModelTraits, weights: ModelTraits): number {
  const total = priorities.reduce((sum, name) => sum + weights[name], 0)
  if (total === 0) return 0
  const score = priorities.reduce((sum, name) => sum + weights[name] * traitValues[name], 0) / total
  // Rounded, so that floating point errors do not decide between equals.
  return Math.round(score * 1e9) / 1e9
}

function compareSortKeys(a: readonly number[], b: readonly number[]): number {
  for (const [index, value] of a.entries()) {
    const difference = value - (b[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function choiceReason(
  best: RankedModel,
  ranking: readonly RankedModel[],
  hints: readonly string[],
  weights: ModelTraits,
  chosen: string | undefined,
): string {
  const weightedPriorities = priorities.filter((name) => weights[name] > 0)
  const sameHint = ranking.filter(({ hint }) => hint === best.hint)
  const firstReason =
    best.model === chosen
      ? 'it is the model of your conversation'
      : weightedPriorities.length === 0 || ranking.length === 1
        ? `it is the first of ${best.hint === undefined ? 'your models' : 'those'}`
        : `it scores best (${best.score.toFixed(2)}) for ${weightedPriorities.map((name) => `${name} ${weights[name]}`).join(', ')}`
  if (best.hint !== undefined) {
    const hintReason = `the server's hint "${best.hint}" matches its name`
    return sameHint.length === 1
      ? hintReason
      : `${hintReason}, and of ${sameHint.length} that it matches, ${firstReason}`
  }
  if (hints.length === 0) return firstReason
  const hintsProblem = ranking.some(({ hint }) => hint !== undefined)
    ? "the models that match the server's hints have too small a context"
    : `none of the server's hints (${oneLine(hints.join(', '))}) matches a model`
  return `${hintsProblem}, and ${firstReason}`
}

/** Relative traits of a model, each from 0 to 1, higher is better. */
interface ModelTraits {
  /** Cheaper is higher. */
  cost: number
  speed: number
  intelligence: number
}

const averageTraits: ModelTraits = { cost: 0.5, speed: 0.5, intelligence: 0.5 }

/**
 * Rough relative ranks by common words in model names; the first match counts. They only estimate which of two models is cheaper,
 * faster or more capable; the user's settings take precedence.
 */
const families: readonly (readonly [RegExp, ModelTraits])[] = [
  [/^offline$/, { cost: 1, speed: 1, intelligence: 0 }],
  [/nano|tiny|[-_]lite|\b[1-4]b\b/, { cost: 0.95, speed: 0.95, intelligence: 0.2 }],
  [/^ollama\//, { cost: 1, speed: 0.4, intelligence: 0.3 }],
  [/haiku|mini(?!max)|flash|small|fast|luna/, { cost: 0.8, speed: 0.85, intelligence: 0.45 }],
  [/opus|ultra|[-_]pro\b|large|heavy|[-_]max\b|sol\b/, { cost: 0.1, speed: 0.3, intelligence: 0.95 }],
  [/sonnet|medium|gpt|claude|gemini/, { cost: 0.45, speed: 0.6, intelligence: 0.75 }],
]

/** The ranks of a model without settings. */
function roughTraits(id: string): ModelTraits {
  const name = id.toLowerCase()
  return families.find(([words]) => words.test(name))?.[1] ?? averageTraits
}
