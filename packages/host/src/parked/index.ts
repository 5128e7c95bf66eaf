export { type ParkedStart, Parking } from './parking.ts'
export { ParkedSecrets } from './secrets.ts'
export { createTakeUp, type TakeUp, type TakeUpDeps } from './take-up.ts'
