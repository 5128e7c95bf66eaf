import type { PolicyRule } from '../../src/types/index.ts'

export const rule = (verdict: PolicyRule['verdict'], more: Partial<PolicyRule> = {}): PolicyRule => ({
  id: `${verdict} rule`,
  verdict,
  ...more,
})

export const chat = { caller: 'chat' } as const
