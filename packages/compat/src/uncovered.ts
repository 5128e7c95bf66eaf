/**
 * What this package does not cover. A covered entry exports every name of the official one, so that an import never fails; a
 * name that is not covered throws when it is used, and the error says what to do instead.
 */

/** The error for a part of the official API that is not covered. */
export class NotCoveredError extends Error {
  override readonly name: string = 'NotCoveredError'

  /** @param advice a sentence without its final period */
  constructor(what: string, advice: string) {
    super(
      `@jackfield/compat does not cover ${what}. ${advice}. The guide lists what is covered: ` +
        'https://github.com/jackfield/jackfield/blob/main/docs/guide/from-official-sdk.md',
    )
  }
}

/** An export that throws when it is called, constructed or read. Its type cannot be used, so that the compiler reports it too. */
export interface Uncovered {
  readonly '~uncovered': string
}

/** @param advice what to do instead: a sentence without its final period */
export function uncovered(name: string, advice: string): Uncovered {
  const refuse = (): never => {
    throw new NotCoveredError(name, advice)
  }
  const placeholder = Object.assign(function uncoveredExport() {}, { '~uncovered': name })
  return new Proxy(placeholder, {
    apply: refuse,
    construct: refuse,
    // Module loaders read symbols and `then`.
    get: (target, key) =>
      typeof key === 'symbol' || key === 'then' || key === '~uncovered' ? Reflect.get(target, key) : refuse(),
    set: refuse,
  })
}
