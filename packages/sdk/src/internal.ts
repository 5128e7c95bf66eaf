/**
 * For the packages of Jackfield itself: `@jackfield/host`, `jackfield` and its servers. It makes no promise of stability: its
 * exports can change in any release, and those packages are pinned to the version of the SDK that they were released with.
 * @module
 */

export { hostOf, type Zone, zoneOfAddress, zoneOfName } from './auth/client/address-zones.ts'
export { lookupAmong } from './auth/client/pinned-fetch.ts'
export { inTransaction, useWriteAheadLog } from './backplane/open-sqlite.ts'
export { readJson } from './jsonrpc/exact-json.ts'
export {
  checkElicitContent,
  checkElicitSchema,
  checkElicitValue,
  choicesOf,
  fillDefaults,
} from './protocol/elicitation.ts'
export { checkSampling } from './protocol/server-requests.ts'
export { askLive } from './proxy/questions.ts'
export { SuspendedCall, SuspendedCalls } from './proxy/suspended-calls.ts'
export { defined } from './request/object-members.ts'
export { fetchError } from './transports/client/http-request.ts'
export { listenError } from './transports/server/options.ts'
