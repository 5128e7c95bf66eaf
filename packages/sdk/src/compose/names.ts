import { McpError } from '../jsonrpc/error.ts'

/** The most characters a tool's name may have. */
export const maxNameChars = 128

const prefixForm = /^[A-Za-z0-9_.-]{1,64}$/
const separatorForm = /^[A-Za-z0-9_.-]{1,8}$/

/**
 * Names of a composition: a member's prefix, the separator, the member's own name. No prefix may hold the separator or
 * run into it, so the first place it stands at is where a name is taken apart, and no two names become one.
 */
export class Prefixes {
  readonly separator: string

  /** @throws McpError 'INVALID' for a separator that no tool's name could hold */
  constructor(separator: string) {
    if (!separatorForm.test(separator)) {
      throw new McpError('INVALID', `The separator "${separator}" must be 1 to 8 of A-Z a-z 0-9 _ - .`)
    }
    this.separator = separator
  }

  /** @throws McpError 'INVALID' for a prefix that would not be found again, saying what to do */
  check(prefix: string): void {
    if (!prefixForm.test(prefix)) {
      throw new McpError(
        'INVALID',
        `"${prefix}" cannot be a prefix: use 1 to 64 of A-Z a-z 0-9 _ - . as the key of this server`,
      )
    }
    if (`${prefix}${this.separator}`.indexOf(this.separator) === prefix.length) return
    throw new McpError(
      'INVALID',
      `"${prefix}" cannot be a prefix with the separator "${this.separator}": names of two servers could become one. ` +
        'Choose a prefix that neither holds the separator nor ends with its beginning, or another separator.',
    )
  }

  join(prefix: string, name: string): string {
    return `${prefix}${this.separator}${name}`
  }

  /** The prefix and the member's own name; undefined for a name that is not put together so. */
  split(name: string): { readonly prefix: string; readonly name: string } | undefined {
    const at = name.indexOf(this.separator)
    if (at === -1) return undefined
    return { prefix: name.slice(0, at), name: name.slice(at + this.separator.length) }
  }
}
