import type { LocalizedText } from './responses.ts'

/** A person, as an OpenID issuer identifies them. */
export interface WebUser {
  readonly issuer: string
  /** Unique at the issuer, and never given to another person (OpenID Connect Core, section 2). */
  readonly subject: string
  /** In lower case; only an address that the issuer has verified. */
  readonly email?: string
  /** The session at the issuer (`sid`), if it names one, which the issuer can end. */
  readonly issuerSession?: string
}

/** Identifies a user: `<issuer>|<subject>`, as in `serveGateways`. */
export function userKey({ issuer, subject }: WebUser): string {
  return `${issuer}|${subject}`
}

/** The name of a user to display: the address, else the subject. */
export function userLabel({ email, subject }: WebUser): string {
  return email ?? subject
}

/** Which users of the issuer may sign in. */
export class AllowList {
  readonly #subjects = new Set<string>()
  readonly #emails = new Set<string>()
  readonly #domains = new Set<string>()
  #isEveryone = false

  /**
   * Rules: `sub:<subject>`, `ann@example.org` and `@example.org` for verified addresses, and `everyone` that the issuer signs in.
   * @throws TypeError for another rule, and without rules: an issuer can have accounts of the whole world
   */
  constructor(rules: readonly string[]) {
    if (rules.length === 0) throw new TypeError(`Name who may sign in. ${ruleFormats}`)
    for (const rule of rules) {
      const [, subject] = /^sub:(.+)$/.exec(rule) ?? []
      if (rule === 'everyone') this.#isEveryone = true
      else if (subject !== undefined) this.#subjects.add(subject)
      else if (/^@[^@\s]+$/.test(rule)) this.#domains.add(rule.toLowerCase())
      else if (/^[^@\s]+@[^@\s]+$/.test(rule)) this.#emails.add(rule.toLowerCase())
      else throw new TypeError(`"${rule}" is not a rule for who may sign in. ${ruleFormats}`)
    }
  }

  /** Whether a rule needs the address of a user. */
  get needsEmail(): boolean {
    return this.#emails.size + this.#domains.size > 0
  }

  /** Whether a user may sign in. */
  has({ subject, email = '' }: WebUser): boolean {
    if (this.#isEveryone || this.#subjects.has(subject)) return true
    return this.#emails.has(email) || this.#domains.has(email.slice(email.lastIndexOf('@')))
  }
}

const ruleFormats =
  'Write an address ("ann@example.org"), a domain ("@example.org"), a subject ("sub:248289761001"), or "everyone" for all accounts of the issuer.'

/** A failed sign-in, with the HTTP status and a message for the user in each language. */
export class SignInError extends Error {
  override readonly name: string = 'SignInError'
  readonly status: number
  readonly texts: LocalizedText

  constructor(status: number, texts: LocalizedText, options?: ErrorOptions) {
    super(texts.en, options)
    this.status = status
    this.texts = texts
  }
}
