/** A result of 2026-07-28 that is a list, or may be kept like one: by default for no time, and by one client. */
export const listed = (value: object): object => ({
  resultType: 'complete',
  ttlMs: 0,
  cacheScope: 'private',
  ...value,
})

/** A tool result of 2026-07-28, by default without content. */
export const called = (value: object = {}): object => ({ resultType: 'complete', content: [], ...value })
