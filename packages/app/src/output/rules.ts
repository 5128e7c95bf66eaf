import type { ArgumentTest, Decision, Grant, PolicyRule } from '@jackfield/host'
import { exactJson } from './exact.ts'
import { oneLine } from './sanitize.ts'

/** Advice for a call that needs approval where no person can be asked. */
export const allowAdvice =
  'A call was refused because it needs approval, and no person can be asked here. To allow it, add a rule with the verdict "allow" to your own config (jackfield.rules in ~/.config/jackfield/config.json), give --answers <file> with "approvals" (jackfield options), or use a terminal.'

/** What a rule matches, in words: `read_* of files, where /path is inside /srv`. */
export function ruleText(rule: PolicyRule): string {
  const { server, tool, hint, caller, label, arguments: tests = [] } = rule
  const what = rule.gate === 'result' ? 'results of ' : ''
  const calls = tool === undefined ? 'every tool' : oneLine(tool)
  return [
    `${what}${calls}${server === undefined ? '' : ` of ${oneLine(server)}`}`,
    ...(hint === undefined ? [] : [`with the hint ${hint}`]),
    ...(caller === undefined ? [] : [`called by ${caller.join(' or ')}`]),
    ...(label === undefined ? [] : [`with data labelled ${oneLine(label)}`]),
    ...argumentTestTexts(tests),
    ...(rule.scope === undefined ? [] : [`remembered at most: ${rule.scope}`]),
  ].join(', ')
}

/** Conditions on arguments, in words. */
export function argumentTestTexts(tests: readonly ArgumentTest[]): string[] {
  return tests.map((test) => {
    const at = test.at === '' ? 'the arguments' : oneLine(test.at)
    const description = [
      ...('equals' in test ? [`is exactly ${oneLine(exactJson(test.equals), 60)}`] : []),
      ...(test.glob === undefined ? [] : [`matches ${oneLine(test.glob, 80)}`]),
      ...(test.min === undefined ? [] : [`is at least ${test.min}`]),
      ...(test.max === undefined ? [] : [`is at most ${test.max}`]),
      ...(test.inside === undefined
        ? []
        : [`is inside ${test.inside.map((one) => oneLine(one)).join(' or ')}`]),
    ]
    return `where ${at} ${description.length === 0 ? 'is present' : description.join(' and ')}`
  })
}

/** The calls that a grant matches, in words. */
export function grantText({ tool, server, within, readOnlyTools, arguments: tests = [] }: Grant): string {
  const what = readOnlyTools === true ? 'read-only tools' : oneLine(tool)
  const scopeText = within === undefined ? [] : [`in ${oneLine(within, 60)}`]
  return [`${what} of ${oneLine(server)}`, ...argumentTestTexts(tests), ...scopeText].join(', ')
}

/** A verdict with its symbol, distinguishable without colours. */
export function verdictText(verdict: Decision['verdict']): string {
  return { allow: '✓ allow', ask: '? ask', deny: '✗ deny' }[verdict]
}
