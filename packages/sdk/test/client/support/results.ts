/** A result of 2026-07-28 that is a list, or may be kept like one: for no time, and by one client, unless told else. */
export const listed = (value: object): object => ({
  resultType: 'complete',
  ttlMs: 0,
  cacheScope: 'private',
  ...value,
})

/** What a tool gives on 2026-07-28: nothing, unless told else. */
export const called = (value: object = {}): object => ({ resultType: 'complete', content: [], ...value })
