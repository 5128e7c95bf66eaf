export { createGrants, type GrantScope, type Grants } from './grants.ts'
export { serverIdentity, toolDefinition } from './identity.ts'
export { createPolicy, type Policy, type PolicySubject, type Ruling } from './policy.ts'
