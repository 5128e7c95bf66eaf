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
  /** The text to show for it. Unsanitized server text. */
  readonly label: string
}

/** One field of a form. Its texts are as the server wrote them: make them safe before showing them. */
export interface FormField {
  /** The name of the value that is sent. */
  readonly key: string
  /** The title, or the key. */
  readonly label: string
  /** The field's description. Unsanitized server text. */
  readonly description?: string
  /** How the field is filled in. */
  readonly kind: FieldKind
  /** Whether the server requires a value. */
  readonly required: boolean
  /** Whether the value is left out if none is given. Otherwise the default is sent, or a value is required. */
  readonly omissible: boolean
  /** The constraint on the value, as one sentence; absent if there is none. */
  readonly constraint?: string
  /** The options of a choice or choices. */
  readonly choices?: readonly FormChoice[]
  /** The server's default, if it is valid. */
  readonly default?: ElicitValue
  /** The secret it seems to ask for, such as `a password`, which servers must not ask for in a form. */
  readonly secret?: string
  /** The field's schema as the server sent it. */
  readonly schema: ElicitField
}

/** The fields of a form, or why it cannot be filled in. */
export type FormPlan = { readonly fields: readonly FormField[] } | { readonly fault: string }

/** The parsed URL of a page that a server asks to open. Nothing was fetched. */
export interface UrlInspection {
  /** The whole URL in ASCII, as it would be opened; the original text if it is not a URL. */
  readonly href: string
  /** `href` split around the host name, for highlighting. */
  readonly parts: { readonly before: string; readonly host: string; readonly after: string }
  /** The host name in Unicode, if it has letters outside ASCII. Such letters may look like others. */
  readonly reads?: string
  /** Findings about it, the most severe first. */
  readonly findings: readonly TrustFinding[]
  /** Whether this host opens it in a browser: https, or http on this machine. */
  readonly opens: boolean
  /** Why it must not be opened: it is not a web page. */
  readonly blocked?: string
}

/** A URL elicitation that was accepted, while the user is asked whether they finished. */
export interface Visit {
  /** Whether this host opened the page; otherwise the user opens it themselves. */
  readonly opened: boolean
  /** Why the page could not be opened. */
  readonly problem?: string
}

/**
 * The last arguments of prompts in the working folder (`workspace`), as initial values for the next time. They belong
 * to the identity of the server, not to its name. Not stored: values of arguments that look like secrets, values that
 * contain a known secret, and values of more than 2 000 characters. Without a folder nothing is stored.
 */
export interface PromptValues {
  /** The last arguments by name, exactly as typed: make them safe before showing them. */
  of(prompt: CatalogPrompt): Record<string, string>
  /** Stores these and removes all other arguments of the prompt. */
  keep(prompt: CatalogPrompt, args: Readonly<Record<string, string>>): void
}
