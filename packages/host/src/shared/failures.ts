import { McpError, type McpErrorCode, RpcError } from '@jackfield/sdk'
import type { Failure, Fix } from '../types/index.ts'
import { oneLine, reasonOf } from './text.ts'

/**
 * A failure with what the user can do about it. The fixes are a member of their own and not part of `details`, because
 * `data` of a failure may come from a server, which must not show links or commands to the user.
 */
export class FixableError extends McpError {
  /** What the user can do, the most likely first. */
  readonly fixes: readonly Fix[]

  constructor(
    code: McpErrorCode,
    message: string,
    fixes: readonly Fix[],
    options?: { cause?: unknown; details?: Record<string, unknown> },
  ) {
    super(code, message, options)
    this.fixes = fixes
  }
}

/** What the user can do about an error; empty where nothing is known. */
export function fixesOf(error: unknown): readonly Fix[] {
  return error instanceof FixableError ? error.fixes : []
}

/** A failure as data; undefined if it comes neither from a server nor from the SDK. */
export function failureFrom(error: unknown): Failure | undefined {
  if (error instanceof RpcError) {
    const { code, message, data } = error
    return { code, message, ...(data !== undefined && { data }) }
  }
  if (!(error instanceof McpError)) return undefined
  const { code, message, details } = error
  const fixes = fixesOf(error)
  return {
    ...{ code, message },
    ...(Object.keys(details).length > 0 && { data: details }),
    ...(fixes.length > 0 && { fixes }),
  }
}

/** A fix as an English sentence, for surfaces that have only text. It names no command and no place of a surface. */
export function fixText(fix: Fix): string {
  switch (fix.action) {
    case 'sign-in':
      return `Sign in to ${oneLine(fix.server)}.`
    case 'approve':
      return `Agree to start ${oneLine(fix.server)}.`
    case 'diagnose':
      return `Diagnose the connection to ${oneLine(fix.server)}.`
    case 'review':
      return `Review the definitions of ${oneLine(fix.server)}.`
    case 'configure':
      return settingText(fix.setting, oneLine(fix.server))
    case 'update':
      return `Update ${oneLine(fix.server)} or Jackfield: they have no protocol revision in common.`
    case 'uninstall':
      return `Uninstall the current ${oneLine(fix.server)}.`
    case 'pass-variable':
      return `Pass ${oneLine(fix.name)} to it with "env": { "${oneLine(fix.name)}": "\${${oneLine(fix.name)}}" } in the configuration of ${oneLine(fix.server)}.`
    case 'set-secret':
      return `Set the secret "${oneLine(fix.name)}".`
    case 'open-folder':
      return `Open ${oneLine(fix.folder)} to servers.`
    case 'include-folders':
      return 'Remove the pattern that excludes it.'
    case 'search-log':
      return `Search the log for ${oneLine(fix.filter)}.`
    case 'record':
      return 'Record the responses of a server.'
    case 'search-registry':
      return 'Search the registry for it.'
    case 'choose-model':
      return 'Choose another model.'
  }
}

function settingText(setting: Extract<Fix, { action: 'configure' }>['setting'], server: string): string {
  switch (setting) {
    case 'command':
      return `Check the command, arguments and variables of ${server} in its configuration.`
    case 'url':
      return `Check that ${server} runs and that its address is right.`
    case 'headers':
      return `Check the "headers" of ${server} in its configuration.`
    case 'auth':
      return `Register a client at the authorization server and name it in the configuration of ${server}: "auth": { "issuer", "clientId" }.`
    case 'era':
      return `Remove "era" from the configuration of ${server}.`
    case 'connectTimeoutMs':
      return `Raise "connectTimeoutMs" of ${server} in its configuration if it is only slow to start.`
  }
}

/** A text with the fixes as sentences behind it. */
export function withFixes(text: string, fixes: readonly Fix[]): string {
  if (fixes.length === 0) return text
  return [/[.!?]$/.test(text) ? text : `${text}.`, ...fixes.map(fixText)].join(' ')
}

/** Why something failed and what the user can do about it, for a model or another reader who gets only text. */
export function reasonWithFixes(error: unknown): string {
  return withFixes(reasonOf(error), fixesOf(error))
}
