/** Something that was published about another program. */
export interface Advisory {
  /** Identifiers, most specific first: `CVE-…`, `GHSA-…`, `GO-…`, `RUSTSEC-…`, `owner/repository#number`, or words. */
  readonly ids: readonly [string, ...string[]]
  /** The program, with the versions where they are known. */
  readonly of: string
  readonly wrong: string
  /** Known from what others wrote about it; its own text was not read. */
  readonly isReported?: true
}

/** One kind of mistake, and why it is not made here. */
export interface Weakness {
  readonly title: string
  readonly advisories: readonly [Advisory, ...Advisory[]]
  /** What keeps it from happening here; or, where there is no proof, why there is nothing here it could happen to. */
  readonly here: string
  /** Tests, as `path/from/the/root.test.ts > part of a title`. Empty where there is nothing to test. */
  readonly proof: readonly string[]
}

/** A chapter of the page. */
export interface Class {
  readonly title: string
  readonly weaknesses: readonly Weakness[]
}

/** An advisory whose own text was read. */
export function read(of: string, wrong: string, ...ids: [string, ...string[]]): Advisory {
  return { ids, of, wrong }
}

/** An advisory that is known from what others wrote about it. */
export function reported(of: string, wrong: string, ...ids: [string, ...string[]]): Advisory {
  return { ids, of, wrong, isReported: true }
}
