export { type Answered, type AnswerTo, type Asker, type AskOptions, Nobody } from './asker.ts'
export { LiveInbox } from './inbox.ts'
export { showQuestion } from './show.ts'
