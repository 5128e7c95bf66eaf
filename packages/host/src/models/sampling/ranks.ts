/** How a model stands to others, each from 0 to 1 and higher for better. */
export interface Ranks {
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
export function ranksOf(id: string): Ranks {
  const name = id.toLowerCase()
  return families.find(([words]) => words.test(name))?.[1] ?? middling
}
