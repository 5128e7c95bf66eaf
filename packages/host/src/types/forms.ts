import type { ElicitField, ElicitValue } from '@jackfield/sdk'
import type { CatalogPrompt } from './catalog.ts'
import type { TrustFinding } from './trust.ts'

/** How a field of a form is filled in. */
export type FieldKind =
  | 'text'
  | 'email'
  | 'uri'
  | 'date'
  | 'date-time'
  | 'number'
  | 'integer'
  | 'boolean'
  | 'choice'
  | 'choices'

/** One of the values a person may choose. */
export interface FormChoice {
  /** What is sent. */
  readonly value: string
  readonly label: string
}

/** One field of a form. Its texts are as the server wrote them: make them safe before showing them. */
export interface FormField {
  /** The name of the value that is sent. */
  readonly key: string
  /** The title, or the key. */
  readonly label: string
  readonly description?: string
  readonly kind: FieldKind
  /** Whether the server wants a value. */
  readonly required: boolean
  /** Whether nothing is sent where nothing is given. Otherwise the default is, or a value is needed. */
  readonly omissible: boolean
  /** What a value must be, as one sentence; absent where anything goes. */
  readonly constraint?: string
  /** What may be chosen, for a choice or choices. */
  readonly choices?: readonly FormChoice[]
  /** The server's default, where it fits the field. */
  readonly default?: ElicitValue
  /** The secret it seems to ask for, such as `a password`, which servers must not ask for in a form. */
  readonly secret?: string
  readonly schema: ElicitField
}

/** What a form asks, field by field, or why it cannot be filled in. */
export type FormPlan = { readonly fields: readonly FormField[] } | { readonly fault: string }

/** A page a person is asked to visit, taken apart. Nothing of it was fetched. */
export interface UrlInspection {
  /** The whole URL as it would be opened, only ASCII; the text itself where it is no URL. */
  readonly href: string
  /** `href` cut around the host name, so that it can be set off. */
  readonly parts: { readonly before: string; readonly host: string; readonly after: string }
  /** The host name as it reads, where it has letters outside ASCII. Such letters may look like others. */
  readonly reads?: string
  /** What a person should know about it, the gravest first. */
  readonly findings: readonly TrustFinding[]
  /** Whether this host opens it in a browser: https, or http on this machine. */
  readonly opens: boolean
  /** Why nobody should go there at all: it is no web page. */
  readonly blocked?: string
}

/** A visit that the person agreed to, while they are asked whether they finished. */
export interface Visit {
  /** Whether this host opened the page; otherwise the person opens it themselves. */
  readonly opened: boolean
  /** Why the page could not be opened. */
  readonly problem?: string
}

/**
 * Arguments that prompts were used with in the folder the person works in (`workspace`), to begin with the next time.
 * They belong to what the server is, not to its name. Values of arguments that seem to be secrets are never kept, nor
 * are values with a known secret in them, or of more than 2 000 characters. Without a folder nothing is kept.
 */
export interface PromptValues {
  /** What its arguments were the last time, by name. As the person typed them: make them safe before showing them. */
  of(prompt: CatalogPrompt): Record<string, string>
  /** Keeps these, and forgets those of the prompt's others. */
  keep(prompt: CatalogPrompt, args: Readonly<Record<string, string>>): void
}
