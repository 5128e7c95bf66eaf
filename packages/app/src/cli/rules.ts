import type { PolicyRule } from '@jackfield/host'
import type { Tool } from '@jackfield/sdk'

/**
 * The rule that forbids a call, if any. A person who types a call agrees to it, so only `deny` counts here.
 * Globs as in the host: `*` stands for any characters, `?` for one.
 */
export function forbidding(rules: readonly PolicyRule[], server: string, tool: Tool): PolicyRule | undefined {
  return rules.find(
    (rule) =>
      rule.verdict === 'deny' &&
      (rule.server === undefined || matches(rule.server, server)) &&
      (rule.tool === undefined || matches(rule.tool, tool.name)) &&
      (rule.hint !== 'readOnly' || tool.annotations?.readOnlyHint === true) &&
      (rule.hint !== 'destructive' || tool.annotations?.destructiveHint === true),
  )
}

function matches(glob: string, text: string): boolean {
  const source = glob
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.')
  return new RegExp(`^${source}$`, 's').test(text)
}
