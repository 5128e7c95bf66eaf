const bytesPerToken = 3.5

/** About how many tokens a text is; no model's tokenizer is asked. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken)
}
