import { McpError, RpcError } from '@jackfield/sdk'
import { makeVisible } from './visible.ts'

const maxReason = 600

/** A line without control characters or runs of spaces: the common case. */
const plainLine = /^[!-~]+(?: [!-~]+)*$/

/** Untrusted text as one line of bounded length in which every character is visible. */
export function oneLine(text: string): string {
  if (text.length <= maxReason && plainLine.test(text)) return text
  const plain = makeVisible(text).replace(/\s+/g, ' ').trim()
  return plain.length <= maxReason
    ? plain
    : `${plain.slice(0, maxReason)}… [${plain.length - maxReason} more characters]`
}

/** A failure's message on one line. */
export function reasonOf(error: unknown): string {
  if (error instanceof RpcError) return oneLine(`${error.message} (error ${error.code})`)
  if (error instanceof Error) return oneLine(error.message)
  return oneLine(String(error))
}

/** A timeout of a part of a configured limit, reported with that limit; every other error unchanged. */
export function withConfiguredLimit(error: unknown, what: string, limitMs: number): unknown {
  if (!(error instanceof McpError) || error.code !== 'TIMEOUT') return error
  if (typeof error.details['timeoutMs'] !== 'number') return error
  const details = { ...error.details, timeoutMs: limitMs }
  const limit = limitMs < 1_000 ? `${limitMs} ms` : `${limitMs / 1_000} s`
  return new McpError('TIMEOUT', `No response to ${what} within ${limit}`, { cause: error, details })
}

/** A word of a command line as a POSIX shell reads it. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./${}-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** Whether `text` matches `pattern`, in which `*` matches any characters and `?` one. */
export function matchesGlob(pattern: string, text: string): boolean {
  let p = 0
  let t = 0
  let star = -1
  let retry = 0
  while (t < text.length) {
    if (pattern[p] === '*') {
      star = p++
      retry = t
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === text[t])) {
      p++
      t++
    } else if (star !== -1) {
      p = star + 1
      t = ++retry
    } else {
      return false
    }
  }
  while (pattern[p] === '*') p++
  return p === pattern.length
}
