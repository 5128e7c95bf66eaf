export { withoutKeptSecrets } from './at-rest.ts'
export { type Addressee, createAddressee, sealFor } from './for-one.ts'
export { type Marks, marksIn, putBack } from './marks.ts'
export { redactedError } from './redacted-error.ts'
export { createRedactor, type RedactedStream, type Redactor } from './redactor.ts'
export {
  fileVariables,
  inputSecret,
  learnSecrets,
  learnVariables,
  maxVariablesBytes,
  missingInputs,
  resolveServer,
} from './resolve.ts'
export { createSecrets } from './secrets.ts'
export { memorySecrets, type SecretKey, sealedCredentials, sealedSecrets } from './store.ts'
export { SystemKey, type SystemKeyOptions } from './system-key.ts'
export { fill, type Withheld, withhold } from './withhold.ts'
export { withoutSecrets } from './without-secrets.ts'
