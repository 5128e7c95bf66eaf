/** URI templates (RFC 6570) with the API of the official SDK, expanded and matched by Jackfield. */
import { parseTemplate, type UriTemplate as Template } from '@jackfield/sdk'

export type Variables = Record<string, string | string[]>

export class UriTemplate {
  readonly #text: string
  readonly #template: Template

  /** Whether a text has template expressions, such as `{id}`. */
  static isTemplate(str: string): boolean {
    return /\{[^}\s]+\}/.test(str)
  }

  /** @throws McpError of @jackfield/sdk 'INVALID' for a text that is no template */
  constructor(template: string) {
    this.#text = template
    this.#template = parseTemplate(template)
  }

  get variableNames(): string[] {
    return [...this.#template.names]
  }

  toString(): string {
    return this.#text
  }

  expand(variables: Variables): string {
    return this.#template.expand(variables)
  }

  /** The variables of a URI, decoded; `null` if it does not match. */
  match(uri: string): Variables | null {
    return this.#template.match(uri) ?? null
  }
}
