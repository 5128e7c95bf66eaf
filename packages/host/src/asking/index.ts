export { Advertised } from './advertised.ts'
export { answersFor } from './answers.ts'
export { type Origin, Origins } from './origins.ts'
export { questionId } from './put.ts'
