export { Events } from './events.ts'
export { Requests } from './requests.ts'
export { Running } from './running.ts'
