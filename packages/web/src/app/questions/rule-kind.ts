const ownKinds = ['default', 'typed', 'label', 'quarantine', 'repeat'] as const

/**
 * What decided about a call, for the texts `why.rule` and `approval.rule`: a reason of the host itself, an answer that it
 * remembered, or a rule of the configuration.
 */
export function ruleKind(rule: string): (typeof ownKinds)[number] | 'remembered' | 'rule' {
  if (rule.startsWith('remembered:')) return 'remembered'
  return ownKinds.find((kind) => kind === rule) ?? 'rule'
}
