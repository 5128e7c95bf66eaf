export { type ParkedStart, Parking } from './parking.ts'
export { createTakeUp, type TakeUp } from './take-up.ts'
