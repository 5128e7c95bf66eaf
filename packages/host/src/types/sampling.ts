/** Which model was chosen for a request, and why. */
export interface ModelChoice {
  /** The id of the chosen model. */
  model: string
  /** Why that one, in words for a person. */
  why: string
  /** Every model in order, the chosen one first. */
  ranking: readonly { model: string; score: number; hint?: string }[]
}
