export { areTests, problemWithTests } from './argument-tests.ts'
export { matchesGlob } from './glob.ts'
export { serverIdentity, serverOrigin, toolDefinition } from './identity.ts'
export { likenessOf } from './likeness.ts'
export {
  type Policy,
  type PolicySubject,
  type Ruling,
  type ServerDefinitions,
  saysReadOnly,
} from './policy.ts'
export { createPolicyRoom, type PolicyRoom } from './room.ts'
export { problemWithRule } from './rules.ts'
export { subjectOf } from './subject.ts'
