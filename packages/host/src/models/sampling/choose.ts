import { McpError, type ModelPreferences } from '@jackfield/sdk'
import { oneLine } from '../../shared/text.ts'
import type { Model, ModelChoice, ModelFacts, RankedModel } from '../../types/index.ts'

/** What of a model its choice depends on. */
type Candidate = Pick<Model, 'id' | 'isLanguageModel' | 'contextTokens'>

interface ChoiceNeeds {
  facts: readonly ModelFacts[]
  /** Tokens of request and answer; models known to have no room for them come last. */
  tokens?: number
  /** The id of the model of the conversation that the request belongs to. */
  chosen?: string
}

const maxHints = 20
const priorities = ['cost', 'speed', 'intelligence'] as const
/** A request reads about three times what its answer writes. */
const shareOfInput = 0.75

/**
 * Ranks models for a server's preferences. The first hint that is part of a model's name, or of its id where the hint
 * names the provider, whatever the case, puts the models it fits before all others. Among equals the model of the
 * conversation comes first; where the request belongs to none, the score decides,
 *
 *     (costPriority × cost + speedPriority × speed + intelligencePriority × intelligence) ÷ sum of the priorities
 *
 * with each trait from 0 to 1, and after it the person's order. `cost` is 1 for the cheapest and 0 for the dearest model
 * where every model has a price in one currency, else a rough rank by family, as are traits that the person does not
 * tell. Models without room for the request come last. A planner by rules comes after every language model, unless the
 * person put it first: then they after it.
 * @throws McpError 'INVALID' where there is no model
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
      ...(fitting ? [`fits the hint "${hint}"`] : []),
      ...(chosen ? ['answers in this conversation'] : []),
      ...(other && !chosen
        ? [model.isLanguageModel ? 'comes after the planner you put first' : 'is no language model']
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

/** The same ranking with another model in front, because the person said so. */
export function chosenByPerson(choice: ModelChoice, model: string): ModelChoice {
  return model === choice.model ? choice : { ...choice, model, why: 'you chose it' }
}

/** A provider's name is no part of its models' names: `llama` means no other model of `ollama`. */
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

/** How cheap each model is among all; undefined where some have no price or the currencies differ. */
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
  // Rounded, so that sums in another order do not decide between equals.
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
    const fit = `the server's hint "${best.hint}" fits its name`
    return rivals.length === 1 ? fit : `${fit}, and of ${rivals.length} that it fits, ${first}`
  }
  if (hints.length === 0) return first
  const fault = ranking.some(({ hint }) => hint !== undefined)
    ? "what fits the server's hints has no room for it"
    : `none of the server's hints (${oneLine(hints.join(', '))}) fits a model`
  return `${fault}, and ${first}`
}

/** How a model stands to others, each from 0 to 1 and higher for better. */
interface Ranks {
  /** Cheaper is higher. */
  cost: number
  speed: number
  intelligence: number
}

const middling: Ranks = { cost: 0.5, speed: 0.5, intelligence: 0.5 }

/**
 * Rough relative ranks by words that makers put into names of their models; the first that fits counts. They say only
 * which of two is likelier the cheaper, faster or abler one, and whatever the person says about a model goes before.
 */
const families: readonly (readonly [RegExp, Ranks])[] = [
  [/^offline$/, { cost: 1, speed: 1, intelligence: 0 }],
  [/nano|tiny|[-_]lite|\b[1-4]b\b/, { cost: 0.95, speed: 0.95, intelligence: 0.2 }],
  [/^ollama\//, { cost: 1, speed: 0.4, intelligence: 0.3 }],
  [/haiku|mini(?!max)|flash|small|fast|luna/, { cost: 0.8, speed: 0.85, intelligence: 0.45 }],
  [/opus|ultra|[-_]pro\b|large|heavy|[-_]max\b|sol\b/, { cost: 0.1, speed: 0.3, intelligence: 0.95 }],
  [/sonnet|medium|gpt|claude|gemini/, { cost: 0.45, speed: 0.6, intelligence: 0.75 }],
]

/** The ranks of a model nobody said anything about. */
function ranksOf(id: string): Ranks {
  const name = id.toLowerCase()
  return families.find(([words]) => words.test(name))?.[1] ?? middling
}
