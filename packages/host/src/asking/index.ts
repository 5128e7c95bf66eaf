export { answersFor } from './answers.ts'
export { chooseModel } from './choose.ts'
export { type Origin, Origins } from './origins.ts'
export { questionId } from './put.ts'
