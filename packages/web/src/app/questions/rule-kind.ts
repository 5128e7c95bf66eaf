const ownKinds = ['default', 'typed', 'label', 'quarantine', 'repeat'] as const

/**
 * The kind of rule that decided about a call, for the messages `why.rule` and `approval.rule`: a reason of the host, a remembered
 * answer, or a rule of the configuration.
 */
export function ruleKind(rule: string): (typeof ownKinds)[number] | 'remembered' | 'rule' {
  if (rule.startsWith('remembered:')) return 'remembered'
  return ownKinds.find((kind) => kind === rule) ?? 'rule'
}
