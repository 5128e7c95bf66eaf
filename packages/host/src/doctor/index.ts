export { type ExamineOptions, examineServer } from './doctor.ts'
