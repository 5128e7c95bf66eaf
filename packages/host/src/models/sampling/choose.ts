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
const shareOfInput = 0.75

/**
 * Ranks models for a server's preferences. The first hint that is part of a model's name, or of its id if the hint names the
 * provider, ignoring case, puts the matching models first. Among equals the model of the conversation comes first; without a
 * conversation, the score decides,
 *
 *     (costPriority × cost + speedPriority × speed + intelligencePriority × intelligence) ÷ sum of the priorities
 *
 * with each trait from 0 to 1, and then the configured order. `cost` is 1 for the cheapest and 0 for the most expensive model if
 * every model has a price in one currency, else a rough rank by family, as are traits that are not configured. Models with too
 * small a context come last. The offline planner comes after every language model, unless it is configured first: then they come
 * after it.
 * @throws McpError 'INVALID' if there is no model
 */
export function chooseModel(
  models: readonly Candidate[],
  preferences: ModelPreferences = {},
  needs: ChoiceNeeds = { facts: [] },
): ModelChoice {
  const hints = hintsOf(preferences)
  const fits = (model: Candidate, hint: string): boolean =>
    matchesHint(model.id, factsOf(model, needs)?.name, hint.toLowerCase())
  const hint = hints.find((wanted) => models.some((model) => fits(model, wanted)))
  const traits = traitsOf(models, needs)
  const weights = weightsOf(preferences)
  const ranked = models.map((model, order) => {
    const fitting = hint !== undefined && fits(model, hint)
    const room = factsOf(model, needs)?.contextTokens ?? model.contextTokens
    const small = room !== undefined && needs.tokens !== undefined && room < needs.tokens
    const ranks = traits.get(model.id) ?? ranksOf(model.id)
    const score = scoreOf(ranks, weights)
    const other = model.isLanguageModel !== models[0]?.isLanguageModel
    const chosen = model.id === needs.chosen
    const places = [small ? 1 : 0, fitting ? 0 : 1, chosen ? 0 : 1, other ? 1 : 0, -score, order]
    const why = [
      ...(small ? [`has room for ${room} tokens only`] : []),
      ...(fitting ? [`matches the hint "${hint}"`] : []),
      ...(chosen ? ['answers in this conversation'] : []),
      ...(other && !chosen
        ? [model.isLanguageModel ? 'comes after the planner you put first' : 'is not a language model']
        : []),
      priorities.map((name) => `${name} ${ranks[name].toFixed(2)}`).join(', '),
    ].join('; ')
    const row: RankedModel = { model: model.id, score, ...(fitting && { hint }), why }
    return { row, places }
  })
  ranked.sort((a, b) => compare(a.places, b.places))
  const ranking = ranked.map(({ row }) => row)
  const [best] = ranking
  if (best === undefined) throw new McpError('INVALID', 'There is no model to choose from')
  return { model: best.model, why: reason(best, ranking, hints, weights, needs.chosen), ranking }
}

/** The same ranking with another model first, because the user chose it. */
export function chosenByPerson(choice: ModelChoice, model: string): ModelChoice {
  return model === choice.model ? choice : { ...choice, model, why: 'you chose it' }
}

/** A provider's name is no part of its models' names: `llama` matches no other model of `ollama`. */
function matchesHint(id: string, name: string | undefined, hint: string): boolean {
  const whole = id.toLowerCase()
  const slash = whole.indexOf('/')
  const own = whole.slice(slash + 1)
  if (own.includes(hint) || name?.toLowerCase().includes(hint) === true) return true
  return hint === whole.slice(0, Math.max(0, slash)) || (hint.includes('/') && whole.includes(hint))
}

function hintsOf({ hints }: ModelPreferences): string[] {
  const list: unknown[] = Array.isArray(hints) ? hints.slice(0, maxHints) : []
  return list.flatMap((hint) => {
    const name = typeof hint === 'object' && hint !== null && 'name' in hint ? hint.name : undefined
    return typeof name === 'string' ? oneLine(name) || [] : []
  })
}

function weightsOf(preferences: ModelPreferences): Ranks {
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

function traitsOf(models: readonly Candidate[], needs: ChoiceNeeds): Map<string, Ranks> {
  const cheapness = cheapnessOf(models, needs)
  return new Map(
    models.map((model) => {
      const facts = factsOf(model, needs)
      const rough = ranksOf(model.id)
      return [
        model.id,
        {
          cost: cheapness?.(model) ?? rough.cost,
          speed: facts?.speed ?? rough.speed,
          intelligence: facts?.intelligence ?? rough.intelligence,
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
    prices.set(model.id, shareOfInput * facts.cost.input + (1 - shareOfInput) * facts.cost.output)
    currencies.add(facts.currency ?? 'USD')
  }
  if (currencies.size !== 1) return undefined
  const least = Math.min(...prices.values())
  const most = Math.max(...prices.values())
  return ({ id }) => {
    const price = prices.get(id)
    if (price === undefined) return undefined
    return most === least ? 1 : (most - price) / (most - least)
  }
}

function scoreOf(ranks: Ranks, weights: Ranks): number {
  const total = priorities.reduce((sum, name) => sum + weights[name], 0)
  if (total === 0) return 0
  const score = priorities.reduce((sum, name) => sum + weights[name] * ranks[name], 0) / total
  // Rounded, so that floating point errors do not decide between equals.
  return Math.round(score * 1e9) / 1e9
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (const [index, place] of a.entries()) {
    const difference = place - (b[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function reason(
  best: RankedModel,
  ranking: readonly RankedModel[],
  hints: readonly string[],
  weights: Ranks,
  chosen: string | undefined,
): string {
  const wanted = priorities.filter((name) => weights[name] > 0)
  const rivals = ranking.filter(({ hint }) => hint === best.hint)
  const first =
    best.model === chosen
      ? 'it is the model of your conversation'
      : wanted.length === 0 || ranking.length === 1
        ? `it is the first of ${best.hint === undefined ? 'your models' : 'those'}`
        : `it scores best (${best.score.toFixed(2)}) for ${wanted.map((name) => `${name} ${weights[name]}`).join(', ')}`
  if (best.hint !== undefined) {
    const fit = `the server's hint "${best.hint}" matches its name`
    return rivals.length === 1 ? fit : `${fit}, and of ${rivals.length} that it matches, ${first}`
  }
  if (hints.length === 0) return first
  const fault = ranking.some(({ hint }) => hint !== undefined)
    ? "the models that match the server's hints have too small a context"
    : `none of the server's hints (${oneLine(hints.join(', '))}) matches a model`
  return `${fault}, and ${first}`
}

/** Relative traits of a model, each from 0 to 1, higher is better. */
interface Ranks {
  /** Cheaper is higher. */
  cost: number
  speed: number
  intelligence: number
}

const middling: Ranks = { cost: 0.5, speed: 0.5, intelligence: 0.5 }

/**
 * Rough relative ranks by common words in model names; the first match counts. They only estimate which of two models is cheaper,
 * faster or more capable; the user's settings take precedence.
 */
const families: readonly (readonly [RegExp, Ranks])[] = [
  [/^offline$/, { cost: 1, speed: 1, intelligence: 0 }],
  [/nano|tiny|[-_]lite|\b[1-4]b\b/, { cost: 0.95, speed: 0.95, intelligence: 0.2 }],
  [/^ollama\//, { cost: 1, speed: 0.4, intelligence: 0.3 }],
  [/haiku|mini(?!max)|flash|small|fast|luna/, { cost: 0.8, speed: 0.85, intelligence: 0.45 }],
  [/opus|ultra|[-_]pro\b|large|heavy|[-_]max\b|sol\b/, { cost: 0.1, speed: 0.3, intelligence: 0.95 }],
  [/sonnet|medium|gpt|claude|gemini/, { cost: 0.45, speed: 0.6, intelligence: 0.75 }],
]

/** The ranks of a model without settings. */
function ranksOf(id: string): Ranks {
  const name = id.toLowerCase()
  return families.find(([words]) => words.test(name))?.[1] ?? middling
}
